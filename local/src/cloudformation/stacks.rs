//! `DescribeStacks` and `GetTemplate`.
//! <https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStacks.html>

use serde_json::{Value, json};

use super::form::Asked;
use super::refusal::Refusal;
use crate::cloudformation::{StackConfig, StackOutput};

/// The stack that is named, or all that there are.
pub(super) fn describe(asked: &Asked<'_>) -> Result<Value, Refusal> {
    let stack = match asked.form.get("StackName") {
        Some(name) => Some(asked.cloudformation.find(name)?),
        None => asked.cloudformation.stack.as_ref(),
    };
    let stacks: Vec<Value> = stack.map(|stack| description(asked, stack)).into_iter().collect();
    Ok(json!({ "Stacks": stacks }))
}

fn description(asked: &Asked<'_>, stack: &StackConfig) -> Value {
    let parameters = stack.parameters.iter();
    let parameters: Vec<Value> =
        parameters.map(|(key, value)| json!({ "ParameterKey": key, "ParameterValue": value })).collect();
    json!({
        "StackId": asked.cloudformation.id(stack),
        "StackName": stack.name,
        "Parameters": parameters,
        "CreationTime": asked.cloudformation.created(asked.clock),
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

/// What a transform such as SAM's would make of a template is not known here.
pub(super) fn template(asked: &Asked<'_>) -> Result<Value, Refusal> {
    let stack = asked.stack()?;
    match asked.form.get("TemplateStage") {
        None | Some("Original") => {
            Ok(json!({ "TemplateBody": stack.template, "StagesAvailable": ["Original"] }))
        }
        Some(stage) => Err(Refusal::validation(format!("Template stage {stage} is not available here"))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::World;

    #[test]
    fn a_stack_is_described_by_its_name_its_id_or_as_the_only_one() {
        let world = World::new();
        let id = "arn:aws:cloudformation:eu-west-1:123456789012:stack/shop/local";
        for form in ["", "&StackName=shop", &format!("&StackName={id}")] {
            let answer = world.ask(&format!("Action=DescribeStacks{form}"));
            for part in [
                "<DescribeStacksResponse xmlns=\"http://cloudformation.amazonaws.com/doc/2010-05-15/\">",
                "<DescribeStacksResult><Stacks><member>",
                &format!("<StackId>{id}</StackId>"),
                "<StackStatus>CREATE_COMPLETE</StackStatus>",
                "<CreationTime>2023-11-14T22:13:20.000Z</CreationTime>",
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
    fn a_stack_that_is_not_there_is_refused_in_the_words_of_aws() {
        let world = World::new();
        for action in ["DescribeStacks", "GetTemplate", "ListStackResources", "DescribeStackResources"] {
            let answer = world.refused(&format!("Action={action}&StackName=none"));
            assert!(
                answer.contains(
                    "<Error><Type>Sender</Type><Code>ValidationError</Code><Message>Stack with id none does not exist\
                     </Message></Error>"
                ),
                "{answer}"
            );
        }
        assert!(World::without_stack().ask("Action=DescribeStacks").contains("<Stacks></Stacks>"));
    }

    #[test]
    fn a_template_is_given_as_it_was_written() {
        let world = World::new();
        let answer = world.ask("Action=GetTemplate&StackName=shop");
        assert!(
            answer.contains("<TemplateBody>Resources: {}\n# tea &amp; &lt;milk&gt;\n</TemplateBody>"),
            "{answer}"
        );
        let refused = world.refused("Action=GetTemplate&StackName=shop&TemplateStage=Processed");
        assert!(refused.contains("Template stage Processed is not available here"), "{refused}");
        assert!(world.refused("Action=GetTemplate").contains("Value null at 'stackName'"));
    }
}
