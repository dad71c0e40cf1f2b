//! A queue's own policy.

use redrive_iac::deployment::{Seen, Sender};

use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::All;

pub(in crate::doctor) const QUEUE_POLICY_OPEN: Check = Check {
    code: "queue-policy-open",
    level: Level::Warning,
    title: "Anyone can use the queue",
    why: All(
        "A statement with the principal * and no condition allows its actions to every AWS account. Messages that \
         strangers send are processed like yours. Messages that they receive use up deliveries, and messages that \
         they delete are lost.",
    ),
    link: "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-security-best-practices.html",
    fix: All(
        "Name accounts, roles or services as the Principal, or add a Condition on aws:SourceArn, aws:SourceAccount or \
         aws:PrincipalOrgID.",
    ),
    find: |deployment| {
        let open = deployment.queues.iter().filter(|queue| !queue.open_actions.is_empty());
        let what = |id: &str, actions: Vec<&str>| {
            format!("The policy of {id} allows {} to anyone.", actions.join(" and "))
        };
        open.map(|queue| Found::at(queue, what(&queue.id, queue.open_actions.iter().copied().collect())))
            .collect()
    },
};

pub(in crate::doctor) const QUEUE_POLICY_REFUSES: Check = Check {
    code: "queue-policy-refuses",
    level: Level::Error,
    title: "The queue's policy rejects a sender",
    why: All(
        "None of the sender's messages reach the queue. EventBridge and SNS drop events that the queue's policy does \
         not allow. S3 rejects the notification, so the deployment fails. A condition on aws:SourceArn must name the \
         rule, the topic or the bucket itself.",
    ),
    link: "https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-use-resource-based.html",
    fix: All(
        "In an AWS::SQS::QueuePolicy of the queue, allow sqs:SendMessage to the sender's service as the Principal, such as \
         {Service: events.amazonaws.com}, and set aws:SourceArn to the sender: !GetAtt RULE.Arn, !Ref TOPIC or !GetAtt \
         BUCKET.Arn.",
    ),
    find: |deployment| {
        let mut found = Vec::new();
        for queue in &deployment.queues {
            let id = &queue.id;
            for sender in &queue.senders {
                let Sender { id: sent_by, arn, .. } = sender;
                let refused = |why| format!("The policy of {id} refuses {sent_by} ({arn}): {why}.");
                let what = match &queue.policy {
                    Seen::There(policy) => sender.refused_by(policy).map(refused),
                    Seen::Absent => {
                        Some(format!("{id} has no policy, so {sent_by} ({arn}) cannot send to it."))
                    }
                    Seen::Unknown => None,
                };
                found.extend(what.map(|what| Found::at(queue, what)));
            }
        }
        found
    },
};
