//! Reads the queues with their attributes.

use std::collections::BTreeMap;

use redrive_iac::deployment::{QUEUE_PROPERTIES, not_an_arn};
use redrive_iac::{Resolver, scalar};
use redrive_sqs::{MAX_RECEIVE_COUNT, QUEUE_NUMBERS, QueueArn};

use super::allowed::{Allowed, Properties};
use super::{Result, certain};
use crate::QueueConfig;

/// Properties that are attributes of the same name.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html>
const ATTRIBUTES: [&str; 9] = [
    "VisibilityTimeout",
    "MessageRetentionPeriod",
    "DelaySeconds",
    "MaximumMessageSize",
    "ReceiveMessageWaitTimeSeconds",
    "FifoQueue",
    "ContentBasedDeduplication",
    "DeduplicationScope",
    "FifoThroughputLimit",
];

/// Attributes that are true or false.
const FLAGS: [&str; 2] = ["FifoQueue", "ContentBasedDeduplication"];

/// Reads the queues, dead-letter queues before the queues that name them.
pub(super) fn read(resolver: &Resolver<'_>) -> Result<Vec<QueueConfig>> {
    let resources = certain(resolver, &["AWS::SQS::Queue"])?;
    let mut queues = Vec::with_capacity(resources.len());
    for resource in &resources {
        let properties = Properties::of(resource);
        properties.only(&QUEUE_PROPERTIES, "an SQS queue")?;
        properties.check(&ATTRIBUTES.map(|name| (name, Allowed::Text)))?;
        properties.check(&FLAGS.map(|name| (name, Allowed::Flag)))?;
        for (name, range, _) in &QUEUE_NUMBERS {
            properties.check(&[(name, Allowed::Whole(*range.start(), *range.end()))])?;
        }
        let mut attributes = BTreeMap::new();
        for name in ATTRIBUTES {
            let value = |text: &str| {
                let number = || scalar::number::<u64>(text).map(|number| number.to_string());
                let flag = scalar::flag(text).map(|flag| flag.to_string());
                flag.or_else(number).unwrap_or_else(|| text.to_owned())
            };
            attributes.extend(properties.text(name).map(|text| (name.to_owned(), value(text))));
        }
        for name in ["RedrivePolicy", "RedriveAllowPolicy"] {
            let known = properties.node.get(name).filter(|policy| policy.first_unknown().is_none());
            attributes.extend(known.map(|policy| (name.to_owned(), policy.to_json().to_string())));
        }
        queues.push(QueueConfig { name: resource.name.clone(), attributes });
    }
    for properties in resources.iter().map(Properties::of) {
        let Some(policy) = properties.part("RedrivePolicy")? else { continue };
        let count = Allowed::Whole(*MAX_RECEIVE_COUNT.start() as u64, *MAX_RECEIVE_COUNT.end() as u64);
        policy.check(&[("deadLetterTargetArn", Allowed::Text), ("maxReceiveCount", count)])?;
        let arn = policy.required("deadLetterTargetArn")?;
        policy.required("maxReceiveCount")?;
        if find(&queues, arn).is_none() {
            let elsewhere = || format!("the dead-letter queue {arn} is not in this template");
            return Err(policy.error(not_an_arn(arn, &resolver.queue_ids()).unwrap_or_else(elsewhere)));
        }
    }
    queues.sort_by_key(|queue| queue.attributes.contains_key("RedrivePolicy"));
    Ok(queues)
}

/// Finds the queue with the name in an ARN, of any account and region.
pub(super) fn find<'a>(queues: &'a [QueueConfig], arn: &str) -> Option<&'a QueueConfig> {
    let arn = QueueArn::parse(arn)?;
    queues.iter().find(|queue| queue.name == arn.name)
}
