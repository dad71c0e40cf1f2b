//! Encryption in transit and at rest.

use serde_json::{Value, json};

use super::{KEY, OwnTemplate, Stack, TOPIC, WITH_EMAIL, WITH_IDEMPOTENCY, text};

pub(super) fn requests_need_tls(template: &OwnTemplate<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    for fifo in ["false", "true"] {
        let stack = template.with(&[("Fifo", fifo), WITH_EMAIL]);
        let queues = stack.deployment.queues.iter().map(|queue| (&*queue.url, &*queue.arn, "sqs:*"));
        for (reference, arn, action) in queues.chain([(TOPIC, TOPIC, "sns:Publish")]) {
            let denied = json!({
                "Sid": "OnlyOverTls", "Effect": "Deny", "Principal": "*", "Action": action, "Resource": arn,
                "Condition": { "Bool": { "aws:SecureTransport": "false" } }
            });
            if !statements(&stack, reference).contains(&denied) {
                wrong.push(format!("nothing denies {action} without TLS on {arn}"));
            }
        }
        let allowed = json!({
            "Sid": "LetAlarmsPublish", "Effect": "Allow", "Principal": { "Service": "cloudwatch.amazonaws.com" },
            "Action": "sns:Publish", "Resource": TOPIC,
            "Condition": { "StringEquals": { "aws:SourceAccount": 123_456_789_012_u64 } }
        });
        if !statements(&stack, TOPIC).contains(&allowed) {
            wrong.push("alarms may not publish to the topic".to_owned());
        }
    }
    wrong
}

pub(super) fn a_key_encrypts_all_data_at_rest(template: &OwnTemplate<'_>) -> Vec<String> {
    const KEPT: [(&str, &str); 4] = [
        ("AWS::DynamoDB::Table", "SSESpecification.KMSMasterKeyId"),
        ("AWS::SQS::Queue", "KmsMasterKeyId"),
        ("AWS::SNS::Topic", "KmsMasterKeyId"),
        ("AWS::Logs::LogGroup", "KmsKeyId"),
    ];
    let mut wrong = Vec::new();
    for key in [None, Some(KEY)] {
        let stack = template.with(&[("KmsKeyArn", key.unwrap_or_default()), WITH_EMAIL, WITH_IDEMPOTENCY]);
        for (kind, property) in KEPT {
            for resource in stack.all(kind) {
                let (part, property) = match property.split_once('.') {
                    Some((part, property)) => (resource.properties.get(part), property),
                    None => (Some(&resource.properties), property),
                };
                let found = part.and_then(|part| part.text_at(property));
                if found != key {
                    wrong.push(format!("{} has {found:?} as {property}, not {key:?}", resource.id));
                }
            }
        }
        for queue in stack.all("AWS::SQS::Queue") {
            match (text(&queue.properties, "SqsManagedSseEnabled") == "true", key) {
                (true, None) | (false, Some(_)) => {}
                (true, Some(_)) => wrong.push(format!("{} asks for two kinds of encryption", queue.id)),
                (false, None) => wrong.push(format!("{} is not encrypted", queue.id)),
            }
        }
    }
    wrong
}

/// Returns the statements in the policies of a queue or a topic.
fn statements(stack: &Stack, reference: &str) -> Vec<Value> {
    let policies = [("AWS::SQS::QueuePolicy", "Queues"), ("AWS::SNS::TopicPolicy", "Topics")];
    let policies =
        policies.into_iter().flat_map(|(kind, of)| stack.all(kind).map(move |policy| (policy, of)));
    let policies = policies.map(|(policy, of)| (policy.properties.to_json(), of));
    let policies = policies
        .filter(|(policy, of)| policy[of].as_array().is_some_and(|of| of.contains(&json!(reference))));
    policies
        .flat_map(|(policy, _)| policy["PolicyDocument"]["Statement"].as_array().cloned().unwrap_or_default())
        .collect()
}
