//! The queue in which letters end.

use crate::doctor::finding::{Check, Found, Level};
use crate::subject::{Arn, Queue, RedriveAllowPolicy, Subject};

const PAGE: &str =
    "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html";
const ATTRIBUTES: &str =
    "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html";

/// Every queue with the ARN of its dead-letter queue, wherever that is.
fn targets(subject: &Subject) -> impl Iterator<Item = (&Queue, &str)> {
    subject.queues.iter().filter_map(|queue| {
        let target = queue.redrive_policy.there()?.dead_letter_target_arn.as_deref()?;
        (target != queue.arn).then_some((queue, target))
    })
}

/// The same where the dead-letter queue was looked at.
fn pairs(subject: &Subject) -> impl Iterator<Item = (&Queue, &Queue)> {
    targets(subject).filter_map(|(queue, target)| Some((queue, subject.queue(target)?)))
}

pub(in crate::doctor) const DEAD_LETTER_RETENTION: Check = Check {
    code: "dead-letter-retention",
    level: Level::Error,
    title: "Dead letters expire too soon",
    why: "A letter that SQS moves from a standard queue keeps its original send time. Unless the dead-letter queue \
          keeps messages for longer than the source queue, a message that failed late expires soon after the move, \
          before anyone has looked at it. On FIFO queues the retention period starts again.",
    link: PAGE,
    fix: "Set the MessageRetentionPeriod of the dead-letter queue above that of the source queue; the maximum is \
           1209600 (14 days).",
    find: |subject| {
        let mut found = Vec::new();
        for (queue, dead) in pairs(subject).filter(|(queue, _)| !queue.is_fifo()) {
            let (Some(source), Some(letters)) = (queue.retention, dead.retention) else { continue };
            if letters <= source {
                let what = format!(
                    "{} keeps letters for {} s, but {} keeps messages for {} s.",
                    dead.id,
                    letters.as_secs(),
                    queue.id,
                    source.as_secs(),
                );
                found.push(Found::at_queue(dead, what));
            }
        }
        found
    },
};

pub(in crate::doctor) const DEAD_LETTER_QUEUE_KIND: Check = Check {
    code: "dead-letter-queue-kind",
    level: Level::Error,
    title: "The queue and its dead-letter queue are of different types",
    why: "The dead-letter queue of a FIFO queue must be a FIFO queue, that of a standard queue a standard queue. SQS \
          rejects the redrive policy, and the deployment fails.",
    link: ATTRIBUTES,
    fix: "Make both FIFO queues, or neither.",
    find: |subject| {
        let kind = |fifo| if fifo { "a FIFO queue" } else { "a standard queue" };
        let differing =
            targets(subject).filter(|(queue, target)| queue.is_fifo() != target.ends_with(".fifo"));
        differing
            .map(|(queue, target)| {
                let (ours, theirs) = (kind(queue.is_fifo()), kind(target.ends_with(".fifo")));
                Found::at_queue(
                    queue,
                    format!("{} is {ours}, but {} is {theirs}.", queue.id, name(subject, target)),
                )
            })
            .collect()
    },
};

pub(in crate::doctor) const DEAD_LETTER_QUEUE_ELSEWHERE: Check = Check {
    code: "dead-letter-queue-elsewhere",
    level: Level::Error,
    title: "The dead-letter queue is in another account or region",
    why: "A queue and its dead-letter queue must be in the same account and region. SQS rejects the redrive policy, \
          and the deployment fails.",
    link: ATTRIBUTES,
    fix: "Use a dead-letter queue in the same account and region: name it with !GetAtt, or with AWS::Region and \
           AWS::AccountId in its ARN.",
    find: |subject| {
        let mut found = Vec::new();
        for (queue, target) in targets(subject) {
            let (Some(ours), Some(theirs)) = (Arn::parse(&queue.arn), Arn::parse(target)) else { continue };
            let differs = [
                (ours.differs_in_region(&theirs), ours.region, theirs.region),
                (ours.differs_in_account(&theirs), ours.account, theirs.account),
            ];
            for (_, here, there) in differs.into_iter().filter(|(differs, ..)| *differs) {
                let what = format!(
                    "{} is in {here}, but its dead-letter queue {} is in {there}.",
                    queue.id, theirs.rest
                );
                found.push(Found::at_queue(queue, what));
            }
        }
        found
    },
};

pub(in crate::doctor) const DEAD_LETTER_QUEUE_REDRIVES: Check = Check {
    code: "dead-letter-queue-redrives",
    level: Level::Error,
    title: "The dead-letter queue has a redrive policy of its own",
    why: "A letter keeps its receive count when SQS moves it, so it exceeds most values of maxReceiveCount already. \
          Receiving it to see what is wrong moves it on to the next queue, which no alarm watches.",
    link: PAGE,
    fix: "Remove the RedrivePolicy from the dead-letter queue.",
    find: |subject| {
        let mut found = Vec::new();
        for (queue, dead) in pairs(subject) {
            if dead.redrive_policy.there().is_some() {
                let what =
                    format!("{}, the dead-letter queue of {}, has a RedrivePolicy.", dead.id, queue.id);
                found.push(Found::at_queue(dead, what));
            }
        }
        found
    },
};

pub(in crate::doctor) const ALLOW_POLICY_REFUSES: Check = Check {
    code: "allow-policy-refuses",
    level: Level::Error,
    title: "The dead-letter queue does not allow the queue to use it",
    why: "Only queues that the redrive allow policy permits may use this queue as their dead-letter queue. For other \
          queues SQS rejects the redrive policy, or leaves their messages where they are until they expire.",
    link: ATTRIBUTES,
    fix: "Add the queue's ARN to sourceQueueArns of the RedriveAllowPolicy, or set redrivePermission to allowAll.",
    find: |subject| {
        let mut found = Vec::new();
        for (queue, dead) in pairs(subject) {
            let refused = match dead.redrive_allow_policy.there() {
                Some(RedriveAllowPolicy::DenyAll) => Some("denyAll".to_owned()),
                Some(RedriveAllowPolicy::ByQueue(arns)) if !arns.iter().any(|arn| may_name(arn, queue)) => {
                    Some(format!("byQueue with {}", arns.join(", ")))
                }
                Some(RedriveAllowPolicy::AllowAll | RedriveAllowPolicy::ByQueue(_)) | None => None,
            };
            if let Some(refused) = refused {
                let what = format!(
                    "The RedriveAllowPolicy of {} is {refused}, which excludes {}.",
                    dead.id, queue.id
                );
                found.push(Found::at_queue(dead, what));
            }
        }
        found
    },
};

pub(in crate::doctor) const FUNCTION_DEAD_LETTER_QUEUE: Check = Check {
    code: "function-dead-letter-queue",
    level: Level::Warning,
    title: "The function's own dead-letter queue receives nothing",
    why: "The dead-letter queue and the destinations of a function serve asynchronous invocations. A queue invokes the \
          function synchronously, so none of its messages ever reaches them.",
    link: "https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html",
    fix: "Give the queue a RedrivePolicy, and remove DeadLetterQueue (DeadLetterConfig) from the function.",
    find: |subject| {
        let fed =
            |name: &str| subject.mappings.iter().any(|mapping| mapping.function.as_deref() == Some(name));
        let mut found = Vec::new();
        let functions = subject.functions.iter().filter(|it| fed(&it.name) && !it.invoked_asynchronously);
        for function in functions {
            // One that leads back is worse, and told elsewhere.
            let idle = function
                .asynchronous_dead_letters
                .iter()
                .find(|arn| !super::recursion::feeds(subject, arn, function));
            if let Some(arn) = idle {
                let what = format!(
                    "{} names {} as a dead-letter queue or destination.",
                    function.id,
                    name(subject, arn)
                );
                found.push(Found::at_function(function, what));
            }
        }
        found
    },
};

fn may_name(arn: &str, queue: &Queue) -> bool {
    match (Arn::parse(arn), Arn::parse(&queue.arn)) {
        (Some(named), Some(queue)) => named.service == queue.service && named.may_be(&queue),
        _ => false,
    }
}

/// How people know the queue with an ARN.
fn name<'a>(subject: &'a Subject, arn: &'a str) -> &'a str {
    match subject.queue(arn) {
        Some(queue) => &queue.id,
        None => arn.rsplit(':').next().unwrap_or(arn),
    }
}
