use aws_sdk_cloudformation::types::StackStatus;
use redrive_local::{Config, Local, Speed, StackConfig, StackOutput, StackResource};

use crate::support::{sdk, shop};

fn stack() -> StackConfig {
    let output = |key: &str, value: &str| StackOutput {
        key: key.into(),
        value: value.into(),
        description: Some("it is \"good\" & <cheap>".into()),
    };
    StackConfig {
        name: "shop".into(),
        template: "Resources:\r\n  Q: {Type: AWS::SQS::Queue} # <tea>\n".into(),
        parameters: [("Size".to_owned(), "3".to_owned())].into(),
        outputs: vec![output("FunctionName", "worker"), output("QueueUrl", "orders")],
        resources: vec![StackResource {
            logical_id: "Q".into(),
            physical_id: "orders".into(),
            kind: "AWS::SQS::Queue".into(),
        }],
    }
}

#[tokio::test]
async fn a_stack_says_what_it_was_made_of() {
    let local = Local::start(Config { stack: Some(stack()), ..shop(Speed::Max) }).await.unwrap();
    let cloudformation = sdk::cloudformation(&local);
    let described = cloudformation.describe_stacks().stack_name("shop").send().await.unwrap();
    let [said] = described.stacks() else { panic!("one stack: {described:?}") };
    assert_eq!(said.stack_status(), Some(&StackStatus::CreateComplete));
    assert_eq!(said.outputs()[0].output_value(), Some("worker"));
    assert_eq!(said.outputs()[1].description(), Some("it is \"good\" & <cheap>"));
    assert_eq!(said.parameters()[0].parameter_value(), Some("3"));
    let template = cloudformation.get_template().stack_name(said.stack_id().unwrap()).send().await.unwrap();
    assert_eq!(template.template_body(), Some(stack().template.as_str()));
    let listed = cloudformation.list_stack_resources().stack_name("shop").send().await.unwrap();
    assert_eq!(listed.stack_resource_summaries()[0].physical_resource_id(), Some("orders"));
    let found =
        cloudformation.describe_stack_resources().physical_resource_id("orders").send().await.unwrap();
    assert_eq!(found.stack_resources()[0].stack_name(), Some("shop"));
    local.stop().await;
}
