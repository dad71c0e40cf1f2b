//! The policy of a queue itself.

use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::All;

pub(in crate::doctor) const QUEUE_POLICY_OPEN: Check = Check {
    code: "queue-policy-open",
    level: Level::Warning,
    title: "Anyone can use the queue",
    why: All(
        "A statement with the principal * and without a condition allows its actions to every AWS account. \
         Messages that strangers send are processed like your own, messages that they receive use up \
         deliveries, and messages that they delete are lost.",
    ),
    link: "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-security-best-practices.html",
    fix: All(
        "Name accounts, roles or services as the Principal, or add a Condition on aws:SourceArn, aws:SourceAccount or \
         aws:PrincipalOrgID.",
    ),
    find: |subject| {
        let open = subject.queues.iter().filter(|queue| !queue.open_actions.is_empty());
        let what = |id: &str, actions: Vec<&str>| {
            format!("The policy of {id} allows {} to anyone.", actions.join(" and "))
        };
        open.map(|queue| Found::at(queue, what(&queue.id, queue.open_actions.iter().copied().collect())))
            .collect()
    },
};
