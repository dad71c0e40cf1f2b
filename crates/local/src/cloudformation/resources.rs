//! `ListStackResources`, `DescribeStackResources` and `DescribeStackResource`.
//! <https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStackResources.html>

use serde_json::{Value, json};

use super::api::{Context, Input};
use crate::cloudformation::{StackConfig, StackResource};
use crate::protocol::{Answer, AwsError, Page, VALIDATION, page};

const LARGEST_PAGE: usize = 100;

pub(super) fn list(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let stack = input.stack(context.service)?;
    let refused = |token: &str| VALIDATION.error(format!("NextToken {token} is invalid"));
    let Page { items, next_token } =
        page(&stack.resources, input.next_token.as_deref(), LARGEST_PAGE, refused)?;
    let updated = context.service.created(context.clock);
    let summaries: Vec<Value> = items
        .into_iter()
        .map(|resource| {
            let mut summary = base(resource);
            summary["LastUpdatedTimestamp"] = json!(updated);
            summary
        })
        .collect();
    let mut output = json!({ "StackResourceSummaries": summaries });
    if let Some(token) = next_token {
        output["NextToken"] = json!(token);
    }
    context.output(&output)
}

/// Returns the resources of the stack that the input names, directly or by one of its resources.
pub(super) fn describe(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let stack = match (&input.stack_name, &input.physical_resource_id) {
        (Some(_), None) => input.stack(context.service)?,
        (None, Some(id)) => {
            let stack = context.service.stack.as_ref();
            let found =
                stack.filter(|stack| stack.resources.iter().any(|resource| resource.physical_id == *id));
            found.ok_or_else(|| VALIDATION.error(format!("Stack for {id} does not exist")))?
        }
        (None, None) | (Some(_), Some(_)) => {
            return Err(
                VALIDATION.error("You must specify either StackName or PhysicalResourceId, but not both")
            );
        }
    };
    let resources: Vec<Value> = match &input.logical_resource_id {
        Some(id) => vec![detail(context, stack, named(stack, id)?, "Timestamp")],
        None => stack.resources.iter().map(|each| detail(context, stack, each, "Timestamp")).collect(),
    };
    context.output(&json!({ "StackResources": resources }))
}

pub(super) fn describe_one(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let stack = input.stack(context.service)?;
    let id = VALIDATION.required(input.logical_resource_id.as_ref(), "logicalResourceId")?;
    let detail = detail(context, stack, named(stack, id)?, "LastUpdatedTimestamp");
    context.output(&json!({ "StackResourceDetail": detail }))
}

fn named<'stack>(stack: &'stack StackConfig, id: &str) -> Result<&'stack StackResource, AwsError> {
    let found = stack.resources.iter().find(|resource| resource.logical_id == id);
    found.ok_or_else(|| VALIDATION.error(format!("Resource {id} does not exist for stack {}", stack.name)))
}

/// Returns a resource's details. `moment` is the operation's name for the time of creation.
fn detail(context: &Context<'_>, stack: &StackConfig, resource: &StackResource, moment: &str) -> Value {
    let mut detail = base(resource);
    detail["StackName"] = json!(stack.name);
    detail["StackId"] = json!(context.service.id(stack));
    detail[moment] = json!(context.service.created(context.clock));
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
    use super::super::testing::client;

    #[test]
    fn resources_are_listed_in_pages() {
        let mut client = client();
        let first = client.accepts("Action=ListStackResources&StackName=shop");
        assert_eq!(first.matches("<member>").count(), 100);
        assert!(first.contains("<NextToken>100</NextToken>"), "{first}");
        let rest = client.accepts("Action=ListStackResources&StackName=shop&NextToken=100");
        assert_eq!((rest.matches("<member>").count(), rest.contains("NextToken")), (20, false));
        assert!(
            client.refuses("Action=ListStackResources&StackName=shop&NextToken=x").contains("NextToken x")
        );
    }

    #[test]
    fn a_stack_is_found_by_the_physical_id_of_a_resource() {
        let mut client = client();
        let found = client.accepts("Action=DescribeStackResources&PhysicalResourceId=q7");
        assert_eq!(found.matches("<member>").count(), 120);
        assert!(found.contains("<StackName>shop</StackName>"), "{found}");
        let refused = client.refuses("Action=DescribeStackResources&PhysicalResourceId=none");
        assert!(refused.contains("<Message>Stack for none does not exist</Message>"), "{refused}");
        assert!(client.refuses("Action=DescribeStackResources").contains("but not both"));
    }

    #[test]
    fn one_resource_is_found_by_its_logical_id() {
        let mut client = client();
        for action in ["DescribeStackResources", "DescribeStackResource"] {
            let form = format!("Action={action}&StackName=shop&LogicalResourceId=");
            let found = client.accepts(&format!("{form}Q7"));
            assert!(found.contains("<PhysicalResourceId>q7</PhysicalResourceId>"), "{found}");
            let refused = client.refuses(&format!("{form}None"));
            assert!(refused.contains("Resource None does not exist for stack shop"), "{refused}");
        }
    }
}
