//! Permissions that the role of a function or a worker needs.

use redrive::Metrics;
use redrive_iac::deployment::{Arn, Deployment, Process, Queue, Seen};
use redrive_sqs::queue_name;

use crate::doctor::feed::{Consumer, ConsumerKind, consumers, redrive_consumers};
use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::{All, Each, Redrive};

const PAGE: &str = "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html";

pub(in crate::doctor) const PERMISSION_POLL: Check = Check {
    code: "permission-poll",
    level: Level::Error,
    title: "The consumer is not allowed to receive from the queue",
    why: All(
        "Messages wait until they expire. Lambda receives and deletes them with the permissions of the \
         function's role, and a worker with its own. Without these, Lambda rejects or stops the mapping, and \
         a worker ends at startup.",
    ),
    link: PAGE,
    fix: All("In a statement of the role, set Action: [sqs:ReceiveMessage, sqs:DeleteMessage, \
        sqs:GetQueueAttributes] and Resource: !GetAtt QUEUE.Arn."),
    find: |deployment| {
        const ACTIONS: [&str; 3] = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"];
        let denied = consumers(deployment).filter_map(|consumer| {
            let Consumer { process, source, .. } = consumer;
            let missing = ACTIONS.into_iter().filter(|action| may(process, action, source) == Some(false));
            lacks(consumer, &missing.collect::<Vec<_>>(), &source.id)
        });
        denied.collect()
    },
};

pub(in crate::doctor) const PERMISSION_CHANGE_VISIBILITY: Check = Check {
    code: "permission-change-visibility",
    level: Level::Error,
    title: "Retries are not delayed",
    why: Redrive(
        "redrive delays a retry by changing the message's visibility timeout. Without the permission each failed \
          message comes back when the queue's visibility timeout ends, whatever the backoff says. AWS's managed policy \
          AWSLambdaSQSQueueExecutionRole does not grant it.",
    ),
    link: "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ChangeMessageVisibility.html",
    fix: Redrive("Allow sqs:ChangeMessageVisibility on the queue; SAM's SQSPollerPolicy grants it."),
    find: |deployment| {
        const ACTION: &str = "sqs:ChangeMessageVisibility";
        let denied = redrive_consumers(deployment).filter_map(|consumer| {
            let Consumer { process, source, .. } = consumer;
            let is_denied = may(process, ACTION, source) == Some(false);
            lacks(consumer, is_denied.then_some(ACTION).as_slice(), &source.id)
        });
        denied.collect()
    },
};

pub(in crate::doctor) const PERMISSION_SEND_DEAD_LETTERS: Check = Check {
    code: "permission-send-dead-letters",
    level: Level::Error,
    title: "The consumer is not allowed to send dead letters",
    why: Redrive(
        "redrive itself sends messages to the dead-letter queue if they are rejected or malformed, or \
         if their handler panics. Without the permission they are retried until their deliveries are used \
         up, and a FIFO group waits behind them.",
    ),
    link: "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html",
    fix: Redrive("Allow sqs:SendMessage on the dead-letter queue; SAM's SQSSendMessagePolicy grants it."),
    find: |deployment| {
        const ACTION: &str = "sqs:SendMessage";
        let denied = redrive_consumers(deployment).filter_map(|consumer| {
            let Consumer { process, source, .. } = consumer;
            let (arn, name) = dead_letters_of(deployment, &consumer)?;
            let may = match deployment.queue(&arn) {
                Some(queue) => may(process, ACTION, queue),
                None => process.may(ACTION, &arn),
            };
            let is_denied = may == Some(false) && arn != source.arn;
            lacks(consumer, is_denied.then_some(ACTION).as_slice(), &name)
        });
        denied.collect()
    },
};

pub(in crate::doctor) const PERMISSION_PUT_METRICS: Check = Check {
    code: "permission-put-metrics",
    level: Level::Error,
    title: "The consumer is not allowed to publish metrics",
    why: Redrive(
        "Without the permission there are no metrics, and alarms on them never go off: with TreatMissingData \
          notBreaching they even report OK.",
    ),
    link: "https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricData.html",
    fix: Redrive(
        "Allow cloudwatch:PutMetricData for the namespace, or set REDRIVE_METRICS to emf, which needs no permission, or \
           to off.",
    ),
    find: |deployment| {
        const ACTION: &str = "cloudwatch:PutMetricData";
        let denied = redrive_consumers(deployment).filter_map(|consumer| {
            let namespace = consumer.namespace()?;
            let is_denied = consumer.sink() == Some(Metrics::CloudWatch)
                && consumer.process.may_put_metrics(namespace) == Some(false);
            lacks(consumer, is_denied.then_some(ACTION).as_slice(), &format!("the namespace {namespace}"))
        });
        denied.collect()
    },
};

pub(in crate::doctor) const PERMISSION_KEY: Check = Check {
    code: "permission-key",
    level: Level::Warning,
    title: "The consumer is not allowed to use a queue's KMS key",
    why: Each {
        redrive: "For a queue that is encrypted with your own key, receiving needs kms:Decrypt, and sending needs \
            kms:GenerateDataKey and kms:Decrypt. Without them, the consumer receives nothing or cannot send dead \
            letters. The key's own policy may grant them; redrive doctor does not read it.",
        other: "For a queue that is encrypted with your own key, receiving needs kms:Decrypt. Without it Lambda \
          receives nothing. The key's own policy may grant it; redrive doctor does not read it.",
    },
    link: "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-key-management.html",
    fix: Each {
        redrive: "Allow kms:Decrypt and kms:GenerateDataKey on the key, in the role or in the key's policy.",
        other: "Allow kms:Decrypt on the key, in the role or in the key's policy.",
    },
    find: |deployment| {
        let mut found = Vec::new();
        for consumer in consumers(deployment) {
            let dead = deployment.dead_letters_of(consumer.source).filter(|_| consumer.may_run_redrive());
            // A sender decrypts too, to verify the data key.
            let uses: [(_, &[&str]); 2] =
                [(Some(consumer.source), &["kms:Decrypt"]), (dead, &["kms:GenerateDataKey", "kms:Decrypt"])];
            for (queue, actions) in uses {
                let Some((queue, key)) = queue.and_then(|queue| Some((queue, queue.kms_key.there()?))) else {
                    continue;
                };
                if key.ends_with("alias/aws/sqs") {
                    continue;
                }
                let lacking = |action: &&&str| may_use(consumer.process, action, key, queue) == Some(false);
                let missing: Vec<&str> = actions.iter().filter(lacking).copied().collect();
                found.extend(lacks(consumer, &missing, &format!("the key of {}", queue.id)));
            }
        }
        found
    },
};

pub(in crate::doctor) const PERMISSION_TASK_PROTECTION: Check = Check {
    code: "permission-task-protection",
    level: Level::Error,
    title: "The worker is not allowed to protect its task",
    why: Redrive(
        "With REDRIVE_TASK_PROTECTION=on a worker asks ECS not to stop its task while messages are in flight. The \
         task's role needs permission for this. Without it, scaling in stops tasks in the middle of long messages.",
    ),
    link: "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-scale-in-protection.html",
    fix: Redrive("Allow ecs:UpdateTaskProtection and ecs:GetTaskProtection on the cluster's tasks."),
    find: |deployment| {
        const ACTIONS: [&str; 2] = ["ecs:UpdateTaskProtection", "ecs:GetTaskProtection"];
        let protecting = deployment
            .workers
            .iter()
            .filter(|worker| worker.process.variable("REDRIVE_TASK_PROTECTION") == Seen::There("on"));
        let denied = protecting.filter_map(|worker| {
            let lacks = |action: &&str| worker.process.may_somewhere(action) == Some(false);
            let missing: Vec<_> = ACTIONS.into_iter().filter(lacks).collect();
            let actions = missing.join(", ");
            let what = format!("The role of {} does not allow {actions} for the cluster's tasks.", worker.id);
            (!missing.is_empty()).then(|| Found::at(worker, what))
        });
        denied.collect()
    },
};

pub(in crate::doctor) const PERMISSION_IDEMPOTENCY: Check = Check {
    code: "permission-idempotency",
    level: Level::Error,
    title: "The consumer is not allowed to use its idempotency table",
    why: Redrive(
        "redrive handles a message only after it has written that it begins. Without the permission it handles none: \
         all are retried until they are dead letters.",
    ),
    link: "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/using-identity-based-policies.html",
    fix: Redrive("Allow dynamodb:PutItem, dynamodb:UpdateItem and dynamodb:GetItem on the table."),
    find: |deployment| {
        const ACTIONS: [&str; 3] = ["dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:GetItem"];
        let denied = redrive_consumers(deployment).filter_map(|consumer| {
            let named = consumer.idempotency_table()?;
            let (arn, name) = match deployment.table(named) {
                Some(table) => (table.arn.clone(), table.id.as_str()),
                None if named.starts_with("arn:") => (named.to_owned(), named),
                None => {
                    let Arn { partition, region, account, .. } = Arn::parse(&consumer.source.arn)?;
                    (format!("arn:{partition}:dynamodb:{region}:{account}:table/{named}"), named)
                }
            };
            let is_denied = |action: &&str| consumer.process.may(action, &arn) == Some(false);
            lacks(consumer, &ACTIONS.into_iter().filter(is_denied).collect::<Vec<_>>(), name)
        });
        denied.collect()
    },
};

/// Returns true if a process may perform an action on a queue, or `None` if the queue's own policy may allow it.
fn may(process: &Process, action: &str, queue: &Queue) -> Option<bool> {
    process.may(action, &queue.arn).filter(|may| *may || !queue.policy_allows_others)
}

/// Returns true if a process may use a queue's key. An alias does not tell which key that is, so any permitted key counts.
fn may_use(process: &Process, action: &str, key: &str, queue: &Queue) -> Option<bool> {
    if key.contains("alias/") {
        return process.may_somewhere(action);
    }
    if key.starts_with("arn:") {
        return process.may(action, key);
    }
    let Arn { partition, region, account, .. } = Arn::parse(&queue.arn)?;
    process.may(action, &format!("arn:{partition}:kms:{region}:{account}:key/{key}"))
}

fn lacks(consumer: Consumer<'_>, actions: &[&str], object: &str) -> Option<Found> {
    let what = format!("The role of {} does not allow {} for {object}.", consumer.id, actions.join(", "));
    (!actions.is_empty()).then(|| Found::at(consumer, what))
}

/// Returns the ARN and the name of the queue to which redrive sends letters. A worker reads it from SQS by default.
fn dead_letters_of(deployment: &Deployment, consumer: &Consumer<'_>) -> Option<(String, String)> {
    match (consumer.variable("REDRIVE_DEAD_LETTER_QUEUE_URL"), consumer.kind) {
        (Seen::There(url), _) => queue_at(deployment, &url),
        (Seen::Absent, ConsumerKind::Worker(_)) => {
            let arn = consumer.source.dead_letter_target()?;
            let name = deployment.queue(arn).map_or(queue_name(arn), |queue| &queue.id);
            Some((arn.to_owned(), name.to_owned()))
        }
        (Seen::Absent | Seen::Unknown, _) => None,
    }
}

/// Returns the ARN and the name of the queue at a URL.
fn queue_at(deployment: &Deployment, url: &str) -> Option<(String, String)> {
    let named = Arn::of_queue_url(url)?;
    let known =
        deployment.queues.iter().find(|queue| Arn::parse(&queue.arn).is_some_and(|arn| arn.may_be(&named)));
    Some(match known {
        Some(queue) => (queue.arn.clone(), queue.id.clone()),
        None => {
            let Arn { partition, region, account, rest, .. } = named;
            (format!("arn:{partition}:sqs:{region}:{account}:{rest}"), rest.to_owned())
        }
    })
}
