//! ARNs made up for resources that do not exist here.

use super::names::PARTITION;

/// What stands between the account and the name, where that is not nothing.
/// <https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html>
const BEFORE_NAMES: [(&str, &str); 8] = [
    ("AWS::DynamoDB::Table", "table/"),
    ("AWS::DynamoDB::GlobalTable", "table/"),
    ("AWS::Events::EventBus", "event-bus/"),
    ("AWS::Kinesis::Stream", "stream/"),
    ("AWS::RDS::DBCluster", "cluster:"),
    ("AWS::SecretsManager::Secret", "secret:"),
    ("AWS::Serverless::SimpleTable", "table/"),
    ("AWS::StepFunctions::StateMachine", "stateMachine:"),
];

/// An ARN in the form of its service, as far as that is known here.
pub(super) fn made_up(kind: &str, name: &str, region: &str, account: &str) -> String {
    let service = match kind {
        "AWS::Serverless::SimpleTable" => "dynamodb".to_owned(),
        "AWS::Serverless::StateMachine" | "AWS::StepFunctions::StateMachine" => "states".to_owned(),
        _ => kind.split("::").nth(1).unwrap_or("none").to_lowercase(),
    };
    let before = BEFORE_NAMES.iter().find(|(known, _)| *known == kind).map_or("", |(_, before)| before);
    match service.as_str() {
        // <https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-arn-format.html>
        "s3" => format!("arn:{PARTITION}:s3:::{}", name.to_lowercase()),
        _ => format!("arn:{PARTITION}:{service}:{region}:{account}:{before}{name}"),
    }
}
