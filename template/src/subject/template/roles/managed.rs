//! AWS's managed policies, as far as they concern a consumer.
//! <https://docs.aws.amazon.com/aws-managed-policy/latest/reference/policy-list.html>

use super::Known;
use crate::subject::Statement;

/// What those allow that functions with a queue often have.
const CONCERNED: [(&str, &[&str]); 8] = [
    (
        "AWSLambdaSQSQueueExecutionRole",
        &["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"],
    ),
    ("AmazonSQSFullAccess", &["sqs:*"]),
    ("AmazonSQSReadOnlyAccess", &["sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:ListQueues"]),
    ("CloudWatchFullAccess", &["cloudwatch:*"]),
    ("CloudWatchFullAccessV2", &["cloudwatch:*"]),
    ("CloudWatchAgentServerPolicy", &["cloudwatch:PutMetricData"]),
    ("PowerUserAccess", &["*"]),
    ("AdministratorAccess", &["*"]),
];

/// What those allow is no concern of ours.
const UNCONCERNED: [&str; 12] = [
    "AWSLambdaBasicExecutionRole",
    "AWSLambdaVPCAccessExecutionRole",
    "AWSLambdaENIManagementAccess",
    "AWSLambdaKinesisExecutionRole",
    "AWSLambdaDynamoDBExecutionRole",
    "AWSLambdaInvocation-DynamoDB",
    "AWSLambdaRole",
    "AWSXRayDaemonWriteAccess",
    "AWSXrayWriteOnlyAccess",
    "CloudWatchLambdaInsightsExecutionRolePolicy",
    "AmazonS3ReadOnlyAccess",
    "AmazonDynamoDBFullAccess",
];

/// None for a policy that is not known here.
pub(super) fn by_name(name: &str) -> Known {
    if UNCONCERNED.contains(&name) {
        return Some(Vec::new());
    }
    let (_, actions) = CONCERNED.iter().find(|(known, _)| *known == name)?;
    Some(vec![Statement {
        allows: true,
        actions: actions.iter().map(|action| (*action).to_owned()).collect(),
        resources: vec!["*".to_owned()],
        ..Statement::default()
    }])
}
