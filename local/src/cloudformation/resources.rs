//! `ListStackResources`, `DescribeStackResources` and `DescribeStackResource`.
//! <https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStackResources.html>

use serde_json::{Value, json};

use super::form::Asked;
use super::refusal::Refusal;
use crate::cloudformation::{StackConfig, StackResource};

const LARGEST_PAGE: usize = 100;

pub(super) fn list(asked: &Asked<'_>) -> Result<Value, Refusal> {
    let stack = asked.stack()?;
    let begin = match asked.form.get("NextToken") {
        None => 0,
        Some(token) => {
            let begin = token.parse().ok().filter(|begin| *begin < stack.resources.len());
            begin.ok_or_else(|| Refusal::validation(format!("NextToken {token} is invalid")))?
        }
    };
    let end = (begin + LARGEST_PAGE).min(stack.resources.len());
    let updated = asked.cloudformation.created(asked.clock);
    let summaries: Vec<Value> = stack.resources[begin..end]
        .iter()
        .map(|resource| {
            let mut summary = base(resource);
            summary["LastUpdatedTimestamp"] = json!(updated);
            summary
        })
        .collect();
    let mut output = json!({ "StackResourceSummaries": summaries });
    if end < stack.resources.len() {
        output["NextToken"] = json!(end.to_string());
    }
    Ok(output)
}

/// The resources of a stack that is named, or that a resource belongs to.
pub(super) fn describe(asked: &Asked<'_>) -> Result<Value, Refusal> {
    let stack = match (asked.form.get("StackName"), asked.form.get("PhysicalResourceId")) {
        (Some(_), None) => asked.stack()?,
        (None, Some(id)) => {
            let stack = asked.cloudformation.stack.as_ref();
            let found =
                stack.filter(|stack| stack.resources.iter().any(|resource| resource.physical_id == id));
            found.ok_or_else(|| Refusal::validation(format!("Stack for {id} does not exist")))?
        }
        (None, None) | (Some(_), Some(_)) => {
            return Err(Refusal::validation(
                "You must specify either StackName or PhysicalResourceId, but not both",
            ));
        }
    };
    let resources: Vec<Value> = match asked.form.get("LogicalResourceId") {
        Some(id) => vec![detail(asked, stack, named(stack, id)?, "Timestamp")],
        None => stack.resources.iter().map(|each| detail(asked, stack, each, "Timestamp")).collect(),
    };
    Ok(json!({ "StackResources": resources }))
}

pub(super) fn describe_one(asked: &Asked<'_>) -> Result<Value, Refusal> {
    let stack = asked.stack()?;
    let id = asked.form.get("LogicalResourceId").ok_or_else(|| Refusal::missing("logicalResourceId"))?;
    Ok(json!({ "StackResourceDetail": detail(asked, stack, named(stack, id)?, "LastUpdatedTimestamp") }))
}

fn named<'stack>(stack: &'stack StackConfig, id: &str) -> Result<&'stack StackResource, Refusal> {
    let found = stack.resources.iter().find(|resource| resource.logical_id == id);
    found.ok_or_else(|| Refusal::validation(format!("Resource {id} does not exist for stack {}", stack.name)))
}

/// The moment has another name in each operation.
fn detail(asked: &Asked<'_>, stack: &StackConfig, resource: &StackResource, moment: &str) -> Value {
    let mut detail = base(resource);
    detail["StackName"] = json!(stack.name);
    detail["StackId"] = json!(asked.cloudformation.id(stack));
    detail[moment] = json!(asked.cloudformation.created(asked.clock));
    detail
}

fn base(StackResource { logical_id, physical_id, kind }: &StackResource) -> Value {
    json!({
        "LogicalResourceId": logical_id,
        "PhysicalResourceId": physical_id,
        "ResourceType": kind,
        "ResourceStatus": "CREATE_COMPLETE",
        "DriftInformation": { "StackResourceDriftStatus": "NOT_CHECKED" },
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::World;

    #[test]
    fn resources_are_listed_in_pages() {
        let world = World::new();
        let first = world.ask("Action=ListStackResources&StackName=shop");
        assert_eq!(first.matches("<member>").count(), 100);
        assert!(first.contains("<NextToken>100</NextToken>"), "{first}");
        let rest = world.ask("Action=ListStackResources&StackName=shop&NextToken=100");
        assert_eq!((rest.matches("<member>").count(), rest.contains("NextToken")), (20, false));
        assert!(
            world.refused("Action=ListStackResources&StackName=shop&NextToken=x").contains("NextToken x")
        );
    }

    #[test]
    fn a_stack_is_found_by_the_physical_id_of_a_resource() {
        let world = World::new();
        let found = world.ask("Action=DescribeStackResources&PhysicalResourceId=q7");
        assert_eq!(found.matches("<member>").count(), 120);
        assert!(found.contains("<StackName>shop</StackName>"), "{found}");
        let refused = world.refused("Action=DescribeStackResources&PhysicalResourceId=none");
        assert!(refused.contains("<Message>Stack for none does not exist</Message>"), "{refused}");
        assert!(world.refused("Action=DescribeStackResources").contains("but not both"));
    }

    #[test]
    fn one_resource_is_found_by_its_logical_id() {
        let world = World::new();
        for action in ["DescribeStackResources", "DescribeStackResource"] {
            let form = format!("Action={action}&StackName=shop&LogicalResourceId=");
            let found = world.ask(&format!("{form}Q7"));
            assert!(found.contains("<PhysicalResourceId>q7</PhysicalResourceId>"), "{found}");
            let refused = world.refused(&format!("{form}None"));
            assert!(refused.contains("Resource None does not exist for stack shop"), "{refused}");
        }
    }
}
