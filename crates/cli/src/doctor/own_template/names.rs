//! Names that two stacks must not share.

use std::collections::BTreeSet;

use super::{ALARM, OwnTemplate, Stack, WITH_EMAIL, WITH_IDEMPOTENCY};

pub(super) fn stacks_do_not_collide(template: &OwnTemplate<'_>) -> Vec<String> {
    const QUEUE: &str = "AWS::SQS::Queue";
    /// Types whose names are unique in an account, not only in a region of it.
    const GLOBAL: [&str; 2] = ["AWS::CloudWatch::Dashboard", "AWS::IAM::Role"];
    const REGIONAL: [&str; 7] = [
        ALARM,
        "AWS::DynamoDB::Table",
        "AWS::ECS::Service",
        "AWS::Serverless::Function",
        "AWS::Logs::LogGroup",
        "AWS::SNS::Topic",
        QUEUE,
    ];
    /// Types that are parts of others and ask for no name.
    const NAMELESS: [&str; 5] = [
        "AWS::ApplicationAutoScaling::ScalableTarget",
        "AWS::ApplicationAutoScaling::ScalingPolicy",
        "AWS::ECS::TaskDefinition",
        "AWS::SNS::TopicPolicy",
        "AWS::SQS::QueuePolicy",
    ];
    let kinds = [&GLOBAL[..], &REGIONAL, &NAMELESS].concat();
    let make = |name: &str, region: &str, fifo: &str| {
        template.stack(name, region, &[("Fifo", fifo), WITH_EMAIL, WITH_IDEMPOTENCY])
    };
    let mut wrong = Vec::new();
    let mut both = |what: &str, one: BTreeSet<String>, other: BTreeSet<String>| {
        wrong.extend(one.intersection(&other).map(|name| format!("{what} have {name}")));
    };
    for fifo in ["true", "false"] {
        let here = make("stack", "eu-west-1", fifo);
        let unknown = here.resources.iter().filter(|(kind, _)| !kinds.contains(&kind.as_str()));
        assert_eq!(unknown.count(), 0, "nobody has said what names a resource of this kind");
        both("two stacks", names(&here, &kinds), names(&make("other", "eu-west-1", fifo), &kinds));
        both("two regions", names(&here, &GLOBAL), names(&make("stack", "us-east-1", fifo), &GLOBAL));
    }
    let [standard, fifo] = ["false", "true"].map(|fifo| names(&make("stack", "eu-west-1", fifo), &[QUEUE]));
    both("standard and FIFO", standard, fifo);
    wrong
}

/// Returns the names that a stack asks for, with their types. CloudFormation generates the others.
fn names(stack: &Stack, kinds: &[&str]) -> BTreeSet<String> {
    let name = |kind: &str| format!("{}Name", kind.rsplit(':').next().unwrap_or_default());
    let named = stack.resources.iter().filter(|(kind, _)| kinds.contains(&kind.as_str()));
    let named = named.filter(|(kind, resource)| resource.properties.get(&name(kind)).is_some());
    named.map(|(kind, resource)| format!("{kind} {}", resource.name)).collect()
}
