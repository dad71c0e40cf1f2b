//! Dead-letter queues.

use std::time::Duration;

use redrive_iac::deployment::{Arn, Deployment, Queue};
use redrive_sqs::{MESSAGE_RETENTION_PERIOD, RedriveAllowPolicy, is_fifo, queue_name};

use crate::doctor::feed::redrive_consumers;
use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::{All, Redrive};
use crate::span::lasting;

const PAGE: &str =
    "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html";
const ATTRIBUTES: &str =
    "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html";

/// Returns every queue with the ARN of its dead-letter queue, which may be another template's.
fn targets(deployment: &Deployment) -> impl Iterator<Item = (&Queue, &str)> {
    deployment.queues.iter().filter_map(|queue| {
        let target = queue.dead_letter_target()?;
        (target != queue.arn).then_some((queue, target))
    })
}

/// Returns every queue with its dead-letter queue, if that was read.
pub(super) fn pairs(deployment: &Deployment) -> impl Iterator<Item = (&Queue, &Queue)> {
    targets(deployment).filter_map(|(queue, target)| Some((queue, deployment.queue(target)?)))
}

const LONGEST: Duration = Duration::from_secs(*MESSAGE_RETENTION_PERIOD.end());
const SOURCE_AT_ITS_LONGEST: &str = "Lower the MessageRetentionPeriod of the source queue, for example to 604800 (7 days): \
                                     that of the dead-letter queue is at its maximum of 14 days already.";

/// Returns true if a letter may expire when it is moved, because it keeps its send time.
pub(super) fn expires_early(queue: &Queue, dead: &Queue) -> bool {
    let times = queue.retention.zip(dead.retention);
    !queue.is_fifo() && times.is_some_and(|(source, letters)| letters <= source)
}

pub(in crate::doctor) const DEAD_LETTER_RETENTION: Check = Check {
    code: "dead-letter-retention",
    level: Level::Error,
    title: "Dead letters expire too soon",
    why: All(
        "SQS deletes dead letters before anyone has looked at them. A letter from a standard queue keeps its \
         original send time, so one that failed late expires soon after the move. On FIFO queues the retention \
         period starts again.",
    ),
    link: PAGE,
    fix: All(
        "Set MessageRetentionPeriod: 1209600 (14 days, the maximum) on the dead-letter queue, or at least more than on the \
           source queue.",
    ),
    find: |deployment| {
        let early = pairs(deployment).filter(|(queue, _)| !queue.is_fifo()).filter_map(|(queue, dead)| {
            let (source, letters) = (queue.retention?, dead.retention?);
            let what = format!(
                "{} keeps letters for {}, but {} keeps messages for {}.",
                dead.id,
                lasting(letters),
                queue.id,
                lasting(source),
            );
            let most = (letters == LONGEST && source == LONGEST).then_some(SOURCE_AT_ITS_LONGEST);
            expires_early(queue, dead).then(|| Found::at(dead, what).fixed_by(most))
        });
        early.collect()
    },
};

pub(in crate::doctor) const DEAD_LETTER_SIZE: Check = Check {
    code: "dead-letter-size",
    level: Level::Warning,
    title: "The dead-letter queue accepts smaller messages than the queue",
    why: Redrive(
        "redrive itself sends messages to the dead-letter queue if they are rejected or malformed, or if \
         their handler panics. SQS rejects a letter that is larger than the queue's MaximumMessageSize, and \
         the message is retried until its deliveries are used up.",
    ),
    link: ATTRIBUTES,
    fix: Redrive(
        "Set the MaximumMessageSize of the dead-letter queue to at least that of the source queue, or remove it: the \
         default is the maximum of 1048576 (1 MiB).",
    ),
    find: |deployment| {
        let smaller = redrive_consumers(deployment).filter_map(|consumer| {
            let dead = deployment.dead_letters_of(consumer.source)?;
            let (source, letters) = (consumer.source.maximum_message_size?, dead.maximum_message_size?);
            let what = format!(
                "{} accepts messages of up to {letters} bytes, {} of up to {source} bytes.",
                dead.id, consumer.source.id
            );
            (letters < source).then(|| Found::at(dead, what))
        });
        smaller.collect()
    },
};

pub(in crate::doctor) const DEAD_LETTER_QUEUE_KIND: Check = Check {
    code: "dead-letter-queue-kind",
    level: Level::Error,
    title: "The queue and its dead-letter queue are of different types",
    why: All(
        "SQS rejects the redrive policy, and the deployment fails, so no message is ever moved. A FIFO queue \
         needs a FIFO dead-letter queue, a standard queue a standard one.",
    ),
    link: ATTRIBUTES,
    fix: All("Set FifoQueue: true on both queues, or remove it from both."),
    find: |deployment| {
        let kind = |fifo| if fifo { "a FIFO queue" } else { "a standard queue" };
        let differing = targets(deployment).filter(|(queue, target)| queue.is_fifo() != is_fifo(target));
        let found = differing.map(|(queue, target)| {
            let (ours, theirs) = (kind(queue.is_fifo()), kind(is_fifo(target)));
            let what = format!("{} is {ours}, but {} is {theirs}.", queue.id, name(deployment, target));
            Found::at(queue, what)
        });
        found.collect()
    },
};

pub(in crate::doctor) const DEAD_LETTER_QUEUE_ELSEWHERE: Check = Check {
    code: "dead-letter-queue-elsewhere",
    level: Level::Error,
    title: "The dead-letter queue is in a different account or region",
    why: All(
        "SQS rejects the redrive policy, and the deployment fails, so no message is ever moved. A queue and \
         its dead-letter queue must be in the same account and region.",
    ),
    link: ATTRIBUTES,
    fix: All(
        "Use a dead-letter queue in the same account and region: name it with !GetAtt, or with AWS::Region and \
           AWS::AccountId in its ARN.",
    ),
    find: |deployment| {
        let mut found = Vec::new();
        for (queue, target) in targets(deployment) {
            let (Some(ours), Some(theirs)) = (Arn::parse(&queue.arn), Arn::parse(target)) else { continue };
            let partition = ours.differs_in_partition(&theirs);
            let partition = partition.then_some((ours.partition, theirs.partition));
            let region = ours.differs_in_region(&theirs).then_some((ours.region, theirs.region));
            let account = ours.differs_in_account(&theirs).then_some((ours.account, theirs.account));
            found.extend(partition.into_iter().chain(region).chain(account).map(|(here, there)| {
                let dead = theirs.rest;
                let what =
                    format!("{} is in {here}, but its dead-letter queue {dead} is in {there}.", queue.id);
                Found::at(queue, what)
            }));
        }
        found
    },
};

pub(in crate::doctor) const DEAD_LETTER_QUEUE_REDRIVES: Check = Check {
    code: "dead-letter-queue-redrives",
    level: Level::Error,
    title: "The dead-letter queue has its own redrive policy",
    why: All("A letter keeps its receive count when SQS moves it, so it already exceeds most values of \
        maxReceiveCount. If you receive the letter to inspect it, SQS moves it to the next queue, which no alarm \
        watches."),
    link: PAGE,
    fix: All("Remove the RedrivePolicy from the dead-letter queue."),
    find: |deployment| {
        let chained = pairs(deployment).filter(|(_, dead)| dead.redrive_policy.there().is_some());
        let what = |queue: &Queue, dead: &Queue| {
            format!("{}, the dead-letter queue of {}, has a RedrivePolicy.", dead.id, queue.id)
        };
        chained.map(|(queue, dead)| Found::at(dead, what(queue, dead))).collect()
    },
};

pub(in crate::doctor) const ALLOW_POLICY_REFUSES: Check = Check {
    code: "allow-policy-refuses",
    level: Level::Error,
    title: "The dead-letter queue does not allow the queue to use it",
    why: All(
        "Only queues that the redrive allow policy permits may use this queue as their dead-letter queue. For other \
          queues SQS rejects the redrive policy, or leaves their messages where they are until they expire.",
    ),
    link: ATTRIBUTES,
    fix: All(
        "Add the queue's ARN to sourceQueueArns of the RedriveAllowPolicy, or set redrivePermission to allowAll.",
    ),
    find: |deployment| {
        let refused = pairs(deployment).filter_map(|(queue, dead)| {
            let refused = match dead.redrive_allow_policy.there()? {
                RedriveAllowPolicy::DenyAll => "denyAll".to_owned(),
                RedriveAllowPolicy::ByQueue(arns) if !arns.iter().any(|arn| queue.may_be_at(arn)) => {
                    format!("byQueue with {}", arns.join(", "))
                }
                RedriveAllowPolicy::AllowAll | RedriveAllowPolicy::ByQueue(_) => return None,
            };
            let what =
                format!("The RedriveAllowPolicy of {} is {refused}, which excludes {}.", dead.id, queue.id);
            Some(Found::at(dead, what))
        });
        refused.collect()
    },
};

pub(in crate::doctor) const FUNCTION_DEAD_LETTER_QUEUE: Check = Check {
    code: "function-dead-letter-queue",
    level: Level::Warning,
    title: "The function's own dead-letter queue or destination stays empty",
    why: All(
        "Failed messages never arrive there, whether it is a queue, an SNS topic or anything else. A function's \
         dead-letter queue and destinations serve asynchronous invocations, but a queue's mapping invokes the \
         function synchronously.",
    ),
    link: "https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html",
    fix: All(
        "Set RedrivePolicy: {deadLetterTargetArn: !GetAtt NAME.Arn, maxReceiveCount: 5} on the queue that feeds the \
         function, and remove DeadLetterQueue, DeadLetterConfig or DestinationConfig from the function. To notify a \
         topic, set an alarm on the dead-letter queue.",
    ),
    find: |deployment| {
        let fed =
            |name: &str| deployment.mappings.iter().any(|mapping| mapping.function.as_deref() == Some(name));
        let functions = deployment.functions.iter().filter(|it| fed(&it.name) && !it.invoked_asynchronously);
        let found = functions.filter_map(|function| {
            // `dead-letters-return` reports a queue that feeds the function, which is worse.
            let mut letters = function.asynchronous_dead_letters.iter();
            let idle = letters.find(|arn| !super::recursion::feeds(deployment, arn, function))?;
            let queue = name(deployment, idle);
            let what = match Arn::parse(idle).map(|arn| arn.service) {
                Some("sns") => format!("{} names the SNS topic {queue} as its destination.", function.id),
                Some("sqs") => {
                    format!("{} names {queue} as a dead-letter queue or destination.", function.id)
                }
                _ => format!("{} names {idle} as its destination.", function.id),
            };
            Some(Found::at(function, what))
        });
        found.collect()
    },
};

/// Returns the logical id of the queue with an ARN, or its name if it was not read.
fn name<'a>(deployment: &'a Deployment, arn: &'a str) -> &'a str {
    match deployment.queue(arn) {
        Some(queue) => &queue.id,
        None => queue_name(arn),
    }
}
