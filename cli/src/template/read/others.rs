//! Resources that nothing here stands for.

use super::Notes;
use crate::template::document::TemplateError;
use crate::template::resolve::Resolver;

/// What runs here, and what could not be missed here: it gives rights, keeps logs, or shows and tells what happens.
const UNMISSED: [&str; 19] = [
    "AWS::CloudWatch::Alarm",
    "AWS::CloudWatch::Dashboard",
    "AWS::IAM::ManagedPolicy",
    "AWS::IAM::Policy",
    "AWS::IAM::Role",
    "AWS::IAM::RolePolicy",
    "AWS::KMS::Alias",
    "AWS::KMS::Key",
    "AWS::Lambda::Alias",
    "AWS::Lambda::EventSourceMapping",
    "AWS::Lambda::Function",
    "AWS::Lambda::Permission",
    "AWS::Lambda::Version",
    "AWS::Logs::LogGroup",
    "AWS::SNS::Topic",
    "AWS::SNS::TopicPolicy",
    "AWS::SQS::Queue",
    "AWS::SQS::QueuePolicy",
    "AWS::Serverless::Function",
];

pub(super) fn read(resolver: &Resolver<'_>, notes: &mut Notes) -> Result<(), TemplateError> {
    for (id, kind) in resolver.kinds()? {
        if !UNMISSED.contains(&kind) {
            notes.add(format!("{id} is of type {kind}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::QUEUE;
    use crate::template::tests::stack_of;

    #[test]
    fn a_resource_that_does_something_else_is_named() {
        let others = "  Table: {Type: AWS::DynamoDB::Table}\n  Role: {Type: AWS::IAM::Role}\n";
        let stack = stack_of(&format!("{QUEUE}{others}"));
        assert_eq!(stack.notes.last().unwrap(), "Table is of type AWS::DynamoDB::Table");
        assert_eq!(stack.notes.len(), 2);
    }
}
