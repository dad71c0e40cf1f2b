//! `DescribeStacks` and `GetTemplate`.
//! <https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStacks.html>

use serde_json::{Value, json};

use super::api::{Context, Input};
use crate::cloudformation::{StackConfig, StackOutput};
use crate::protocol::{Answer, VALIDATION};

/// Returns the stack that the input names, or all stacks.
pub(super) fn describe(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let stack = match &input.stack_name {
        Some(name) => Some(context.service.find(name)?),
        None => context.service.stack.as_ref(),
    };
    let stacks: Vec<Value> = stack.map(|stack| description(context, stack)).into_iter().collect();
    context.output(&json!({ "Stacks": stacks }))
}

fn description(context: &Context<'_>, stack: &StackConfig) -> Value {
    let parameters = stack.parameters.iter();
    let parameters: Vec<Value> =
        parameters.map(|(key, value)| json!({ "ParameterKey": key, "ParameterValue": value })).collect();
    json!({
        "StackId": context.service.id(stack),
        "StackName": stack.name,
        "Parameters": parameters,
        "CreationTime": context.service.created(context.clock),
        "RollbackConfiguration": {},
        "StackStatus": "CREATE_COMPLETE",
        "DisableRollback": false,
        "NotificationARNs": [],
        "Capabilities": ["CAPABILITY_IAM"],
        "Outputs": stack.outputs.iter().map(output).collect::<Vec<_>>(),
        "Tags": [],
        "EnableTerminationProtection": false,
        "DriftInformation": { "StackDriftStatus": "NOT_CHECKED" },
    })
}

fn output(StackOutput { key, value, description }: &StackOutput) -> Value {
    let mut output = json!({ "OutputKey": key, "OutputValue": value });
    if let Some(description) = description {
        output["Description"] = json!(description);
    }
    output
}

/// Returns the template as it was given, because transforms such as SAM's are not applied here.
pub(super) fn template(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let stack = input.stack(context.service)?;
    match input.template_stage.as_deref() {
        None | Some("Original") => {
            context.output(&json!({ "TemplateBody": stack.template, "StagesAvailable": ["Original"] }))
        }
        Some(stage) => Err(VALIDATION.error(format!("Template stage {stage} is not available here"))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::client;

    #[test]
    fn a_stack_is_described_by_its_name_its_id_or_as_the_only_one() {
        let mut client = client();
        let id =
            "arn:aws:cloudformation:eu-west-1:123456789012:stack/shop/a1b2c3d4-a1b2-41b2-81b2-a1b2c3d4e5f6";
        for form in ["", "&StackName=shop", &format!("&StackName={id}")] {
            let answer = client.accepts(&format!("Action=DescribeStacks{form}"));
            for part in [
                "<DescribeStacksResponse xmlns=\"http://cloudformation.amazonaws.com/doc/2010-05-15/\">",
                "<DescribeStacksResult><Stacks><member>",
                &format!("<StackId>{id}</StackId>"),
                "<StackStatus>CREATE_COMPLETE</StackStatus>",
                "<CreationTime>2026-11-21T12:00:00.000Z</CreationTime>",
                "<ParameterKey>Size</ParameterKey>",
                "<OutputKey>QueueUrl</OutputKey>",
                "<OutputValue>http://q?a&amp;b</OutputValue>",
                "<DisableRollback>false</DisableRollback>",
            ] {
                assert!(answer.contains(part), "{part} in {answer}");
            }
        }
    }

    #[test]
    fn an_unknown_operation_is_refused_by_name() {
        let refused = client().refuses("Action=CreateStack");
        assert!(refused.contains("<Code>InvalidAction</Code>"), "{refused}");
        assert!(
            refused.contains("redrive-local does not support the operation CreateStack of CloudFormation"),
            "{refused}"
        );
    }

    #[test]
    fn a_template_is_given_as_it_was_written() {
        let mut client = client();
        let answer = client.accepts("Action=GetTemplate&StackName=shop");
        assert!(
            answer.contains("<TemplateBody>Resources: {}\n# tea &amp; &lt;milk&gt;\n</TemplateBody>"),
            "{answer}"
        );
        let refused = client.refuses("Action=GetTemplate&StackName=shop&TemplateStage=Processed");
        assert!(refused.contains("Template stage Processed is not available here"), "{refused}");
        assert!(client.refuses("Action=GetTemplate").contains("Value null at 'stackName'"));
    }
}
