//! What the function's role must allow.

use redrive::Metrics;

use crate::doctor::feed::{Feed, feeds, redrive_feeds};
use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::{All, Each, Redrive};
use crate::subject::{Arn, Function, Queue, Subject};

const PAGE: &str = "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html";

pub(in crate::doctor) const PERMISSION_POLL: Check = Check {
    code: "permission-poll",
    level: Level::Error,
    title: "Lambda is not allowed to receive from the queue",
    why: All(
        "Lambda receives and deletes messages with the permissions of the function's role. Without them the mapping \
          cannot be created or stops working, and messages wait until they expire.",
    ),
    link: PAGE,
    fix: All("Allow sqs:ReceiveMessage, sqs:DeleteMessage and sqs:GetQueueAttributes on the queue."),
    find: |subject| {
        const ACTIONS: [&str; 3] = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"];
        let denied = feeds(subject).filter_map(|Feed { function, source, .. }| {
            let missing = ACTIONS.into_iter().filter(|action| may(function, action, source) == Some(false));
            lacks(function, &missing.collect::<Vec<_>>(), &source.id)
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
    find: |subject| {
        const ACTION: &str = "sqs:ChangeMessageVisibility";
        let denied = redrive_feeds(subject).filter_map(|Feed { function, source, .. }| {
            let is_denied = may(function, ACTION, source) == Some(false);
            lacks(function, is_denied.then_some(ACTION).as_slice(), &source.id)
        });
        denied.collect()
    },
};

pub(in crate::doctor) const PERMISSION_SEND_DEAD_LETTERS: Check = Check {
    code: "permission-send-dead-letters",
    level: Level::Error,
    title: "The function is not allowed to send dead letters",
    why: Redrive(
        "The function itself sends messages to the dead-letter queue if they are rejected or malformed, or \
         if their handler panics. Without the permission they are retried until their deliveries are used \
         up, and a FIFO group waits behind them.",
    ),
    link: "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html",
    fix: Redrive("Allow sqs:SendMessage on the dead-letter queue; SAM's SQSSendMessagePolicy grants it."),
    find: |subject| {
        const ACTION: &str = "sqs:SendMessage";
        let denied = redrive_feeds(subject).filter_map(|feed @ Feed { function, source, .. }| {
            let (arn, name) = queue_at(subject, feed.variable("REDRIVE_DEAD_LETTER_QUEUE_URL").there()?)?;
            let may = match subject.queue(&arn) {
                Some(queue) => may(function, ACTION, queue),
                None => function.may(ACTION, &arn),
            };
            let is_denied = may == Some(false) && arn != source.arn;
            lacks(function, is_denied.then_some(ACTION).as_slice(), &name)
        });
        denied.collect()
    },
};

pub(in crate::doctor) const PERMISSION_PUT_METRICS: Check = Check {
    code: "permission-put-metrics",
    level: Level::Error,
    title: "The function is not allowed to publish metrics",
    why: Redrive(
        "Without the permission there are no metrics, and alarms on them never go off: with TreatMissingData \
          notBreaching they even report OK.",
    ),
    link: "https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricData.html",
    fix: Redrive(
        "Allow cloudwatch:PutMetricData for the namespace, or set REDRIVE_METRICS to emf, which needs no permission, or \
           to off.",
    ),
    find: |subject| {
        const ACTION: &str = "cloudwatch:PutMetricData";
        let denied = redrive_feeds(subject).filter_map(|feed| {
            let namespace = feed.namespace()?;
            let is_denied = feed.sink() == Some(Metrics::CloudWatch)
                && feed.function.may_put_metrics(namespace) == Some(false);
            lacks(
                feed.function,
                is_denied.then_some(ACTION).as_slice(),
                &format!("the namespace {namespace}"),
            )
        });
        denied.collect()
    },
};

pub(in crate::doctor) const PERMISSION_KEY: Check = Check {
    code: "permission-key",
    level: Level::Warning,
    title: "The function is not allowed to use a queue's KMS key",
    why: Each {
        redrive: "For a queue that is encrypted with your own key, receiving needs kms:Decrypt, and sending needs \
          kms:GenerateDataKey and kms:Decrypt. Otherwise Lambda receives nothing, or the function cannot send dead \
          letters. The key's own policy may grant them; redrive doctor does not read it.",
        other: "For a queue that is encrypted with your own key, receiving needs kms:Decrypt. Without it Lambda \
          receives nothing. The key's own policy may grant it; redrive doctor does not read it.",
    },
    link: "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-key-management.html",
    fix: Each {
        redrive: "Allow kms:Decrypt and kms:GenerateDataKey on the key, in the role or in the key's policy.",
        other: "Allow kms:Decrypt on the key, in the role or in the key's policy.",
    },
    find: |subject| {
        let mut found = Vec::new();
        for feed in feeds(subject) {
            let dead = subject.dead_letters_of(feed.source).filter(|_| feed.function.may_run_redrive());
            // A sender decrypts too, to verify what it encrypted.
            let uses: [(_, &[&str]); 2] =
                [(Some(feed.source), &["kms:Decrypt"]), (dead, &["kms:GenerateDataKey", "kms:Decrypt"])];
            for (queue, actions) in uses {
                let Some((queue, key)) = queue.and_then(|queue| Some((queue, queue.kms_key.there()?))) else {
                    continue;
                };
                if key.ends_with("alias/aws/sqs") {
                    continue;
                }
                let lacking = |action: &&&str| may_use(feed.function, action, key, queue) == Some(false);
                let missing: Vec<&str> = actions.iter().filter(lacking).copied().collect();
                found.extend(lacks(feed.function, &missing, &format!("the key of {}", queue.id)));
            }
        }
        found
    },
};

/// Whether a function may do so with a queue, by its role or perhaps by the queue's own policy.
fn may(function: &Function, action: &str, queue: &Queue) -> Option<bool> {
    function.may(action, &queue.arn).filter(|may| *may || !queue.policy_allows_others)
}

/// Whether a function may use a queue's key, which an alias does not tell.
fn may_use(function: &Function, action: &str, key: &str, queue: &Queue) -> Option<bool> {
    if key.contains("alias/") {
        return function.may_somewhere(action);
    }
    if key.starts_with("arn:") {
        return function.may(action, key);
    }
    let Arn { region, account, .. } = Arn::parse(&queue.arn)?;
    function.may(action, &format!("arn:aws:kms:{region}:{account}:key/{key}"))
}

fn lacks(function: &Function, actions: &[&str], object: &str) -> Option<Found> {
    let what = format!("The role of {} does not allow {} for {object}.", function.id, actions.join(", "));
    (!actions.is_empty()).then(|| Found::at(function, what))
}

/// The ARN and the name of the queue at a URL.
fn queue_at(subject: &Subject, url: &str) -> Option<(String, String)> {
    let named = Arn::of_queue_url(url)?;
    let known =
        subject.queues.iter().find(|queue| Arn::parse(&queue.arn).is_some_and(|arn| arn.may_be(&named)));
    Some(match known {
        Some(queue) => (queue.arn.clone(), queue.id.clone()),
        None => {
            let Arn { region, account, rest, .. } = named;
            (format!("arn:aws:sqs:{region}:{account}:{rest}"), rest.to_owned())
        }
    })
}
