//! SAM's policy templates, as far as they concern a consumer.
//! <https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/serverless-policy-template-list.html>

use super::super::look::Look;
use super::Known;
use crate::Resolver;
use crate::subject::Statement;

/// What a template allows: nothing of ours for most of them.
pub(super) fn policy(template: &str, parameters: Look<'_>, resolver: &Resolver<'_>) -> Known {
    let actions: &[&str] = match template {
        "SQSPollerPolicy" => &[
            "sqs:ChangeMessageVisibility",
            "sqs:ChangeMessageVisibilityBatch",
            "sqs:DeleteMessage",
            "sqs:DeleteMessageBatch",
            "sqs:GetQueueAttributes",
            "sqs:ReceiveMessage",
        ],
        "SQSSendMessagePolicy" => &["sqs:SendMessage*"],
        "CloudWatchPutMetricPolicy" => &["cloudwatch:PutMetricData"],
        "KMSDecryptPolicy" => &["kms:Decrypt"],
        "KMSEncryptPolicy" => &["kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"],
        other if other.ends_with("Policy") || other.contains("PolicyV") => return Some(Vec::new()),
        _ => return None,
    };
    let queue = parameters.text("QueueName");
    let resource = match queue.there() {
        Some(name) => resolver.queue_arn(name),
        None => "*".to_owned(),
    };
    Some(vec![Statement {
        allows: true,
        actions: actions.iter().map(|action| (*action).to_owned()).collect(),
        resources: vec![resource],
        ..Statement::default()
    }])
}
