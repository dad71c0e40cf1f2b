//! `AWS::SQS::Queue` as names and attributes.

use std::collections::BTreeMap;

use redrive_local::QueueConfig;

use crate::template::document::TemplateError;
use crate::template::properties::Properties;
use crate::template::resolve::Resolver;

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

/// What else a queue may have. None of it changes what becomes of a message.
/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-sqs-queue.html>
const OTHERS: [&str; 7] = [
    "QueueName",
    "RedrivePolicy",
    "RedriveAllowPolicy",
    "KmsMasterKeyId",
    "KmsDataKeyReusePeriodSeconds",
    "SqsManagedSseEnabled",
    "Tags",
];

/// The template's queues, dead-letter queues before the queues that name them.
pub(super) fn read(resolver: &Resolver<'_>) -> Result<Vec<QueueConfig>, TemplateError> {
    let resources = resolver.resources(&["AWS::SQS::Queue"])?;
    let mut queues = Vec::with_capacity(resources.len());
    for resource in &resources {
        let properties = Properties::new(&resource.id, &resource.properties);
        properties.only(&[&ATTRIBUTES[..], &OTHERS].concat(), "an SQS queue")?;
        let mut attributes = BTreeMap::new();
        for name in ATTRIBUTES {
            if let Some(value) = properties.text(name)? {
                attributes.insert(name.to_owned(), value.to_owned());
            }
        }
        for name in ["RedrivePolicy", "RedriveAllowPolicy"] {
            if let Some(policy) = properties.part(name) {
                attributes.insert(name.to_owned(), policy.node.to_json().to_string());
            }
        }
        queues.push(QueueConfig { name: resource.name.clone(), attributes });
    }
    for resource in &resources {
        check_target(Properties::new(&resource.id, &resource.properties), &queues)?;
    }
    queues.sort_by_key(|queue| queue.attributes.contains_key("RedrivePolicy"));
    Ok(queues)
}

fn check_target(properties: Properties<'_>, queues: &[QueueConfig]) -> Result<(), TemplateError> {
    let Some(policy) = properties.part("RedrivePolicy") else { return Ok(()) };
    let arn = policy.required("deadLetterTargetArn")?;
    policy.whole("maxReceiveCount", 1..=1000)?.ok_or_else(|| policy.error("maxReceiveCount is missing"))?;
    match find(queues, arn) {
        Some(_) => Ok(()),
        None => Err(policy.error(format!("the dead-letter queue {arn} is not in this template"))),
    }
}

/// The queue with an ARN.
pub(super) fn find<'a>(queues: &'a [QueueConfig], arn: &str) -> Option<&'a QueueConfig> {
    let name = arn.rsplit(':').next().unwrap_or_default();
    queues.iter().find(|queue| queue.name == name)
}

#[cfg(test)]
mod tests {
    use crate::template::tests::{error_of, stack_of};

    #[test]
    fn a_dead_letter_queue_comes_before_its_source() {
        let stack = stack_of(
            "
Resources:
  Source:
    Type: AWS::SQS::Queue
    Properties:
      VisibilityTimeout: 60
      RedrivePolicy: {deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: '3'}
  Dead: {Type: AWS::SQS::Queue, Properties: {QueueName: letters}}
",
        );
        let names: Vec<_> = stack.queues.iter().map(|queue| queue.name.as_str()).collect();
        assert_eq!(names, ["letters", "local-Source"]);
        let source = &stack.queues[1].attributes;
        assert_eq!(source["VisibilityTimeout"], "60");
        let policy: serde_json::Value = serde_json::from_str(&source["RedrivePolicy"]).unwrap();
        let arn = "arn:aws:sqs:us-east-1:000000000000:letters";
        assert_eq!(policy, serde_json::json!({"deadLetterTargetArn": arn, "maxReceiveCount": 3}));
    }

    #[test]
    fn a_redrive_policy_must_be_whole_and_lead_somewhere() {
        let policy = |policy: &str| {
            error_of(&format!(
                "Resources:\n  Q:\n    Type: AWS::SQS::Queue\n    Properties:\n      RedrivePolicy: {policy}"
            ))
        };
        let elsewhere = "{deadLetterTargetArn: 'arn:aws:sqs:eu-west-1:1:dead', maxReceiveCount: 3}";
        assert_eq!(
            policy(elsewhere),
            "line 5: Q: the dead-letter queue arn:aws:sqs:eu-west-1:1:dead is not in this template"
        );
        assert_eq!(policy("{deadLetterTargetArn: a}"), "line 5: Q: maxReceiveCount is missing");
        let zero = "{deadLetterTargetArn: a, maxReceiveCount: 0}";
        assert_eq!(policy(zero), "line 5: maxReceiveCount of Q is \"0\", allowed: 1 to 1000");
    }
    #[test]
    fn a_property_that_no_queue_has_is_refused() {
        let template = "Resources:\n  Q:\n    Type: AWS::SQS::Queue\n    Properties: {VisibilityTimeOut: 30}";
        assert_eq!(error_of(template), "line 4: Q: VisibilityTimeOut is nothing that an SQS queue has");
    }
}
