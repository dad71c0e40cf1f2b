//! The redrive policy of the queue that feeds the function.

use redrive_iac::deployment::Queue;

use crate::doctor::feed::sources;
use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::{All, Each};

pub(in crate::doctor) const REDRIVE_POLICY_MISSING: Check = Check {
    code: "redrive-policy-missing",
    level: Level::Error,
    title: "The queue has no dead-letter queue",
    why: All(
        "Without a redrive policy a message that always fails is received again and again until its retention period \
          ends, and is then deleted. Nobody is notified.",
    ),
    link: "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html",
    fix: All(
        "Add a second queue, and give this one a RedrivePolicy with the second queue's ARN as deadLetterTargetArn \
           and a maxReceiveCount of 5 or more.",
    ),
    find: |deployment| {
        let without = sources(deployment)
            .filter(|(queue, _)| queue.redrive_policy.is_absent() && !queue.takes_other_letters);
        // A dead-letter queue needs none, even if it feeds a function.
        let is_source = |(queue, _): &(&Queue, _)| !deployment.is_dead_letter_queue(&queue.arn);
        let what = |id: &str, fed: &str| format!("{id} feeds a {fed} and has no RedrivePolicy.");
        without.filter(is_source).map(|(queue, fed)| Found::at(queue, what(&queue.id, fed))).collect()
    },
};

/// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html>
pub(super) const FEWEST: u32 = 5;

pub(in crate::doctor) const MAX_RECEIVE_COUNT_LOW: Check = Check {
    code: "max-receive-count-low",
    level: Level::Warning,
    title: "Messages get too few deliveries",
    why: All(
        "Deliveries count even if the message itself did not fail: when Lambda throttles the batch, when the batch \
         times out, when no time is left to start the message, or when a worker is killed. AWS recommends at least \
         5, so that such deliveries alone do not dead-letter a message.",
    ),
    link: "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html",
    fix: Each {
        redrive: "Set maxReceiveCount and REDRIVE_MAX_RECEIVE_COUNT to 5 or more.",
        other: "Set maxReceiveCount to 5 or more.",
    },
    find: |deployment| {
        let low = sources(deployment).filter_map(|(queue, _)| {
            let count = queue.max_receive_count().filter(|count| (1..FEWEST).contains(count))?;
            Some(Found::at(queue, format!("The maxReceiveCount of {} is {count}.", queue.id)))
        });
        low.collect()
    },
};
