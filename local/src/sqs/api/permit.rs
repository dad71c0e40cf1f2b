//! `AddPermission` and `RemovePermission`.

use serde::Deserialize;

use super::request::{Context, required};
use crate::protocol::Answer;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    queue_url: Option<String>,
    label: Option<String>,
    #[serde(rename = "AWSAccountIds")]
    account_ids: Option<Vec<String>>,
    actions: Option<Vec<String>>,
}

pub(super) fn add(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let queue = context.queue(input.queue_url)?;
    let label = required(input.label, "Label")?;
    let accounts = required(input.account_ids, "AWSAccountIds")?;
    let actions = required(input.actions, "Actions")?;
    context.service.add_permission(&queue, &label, &accounts, &actions, context.now)?;
    context.nothing()
}

pub(super) fn remove(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let queue = context.queue(input.queue_url)?;
    context.service.remove_permission(&queue, &required(input.label, "Label")?, context.now)?;
    context.nothing()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing::client;

    #[test]
    fn both_protocols_add_and_remove_permissions() {
        let mut client = client();
        let input =
            json!({ "QueueUrl": "q", "Label": "a", "AWSAccountIds": ["111111111111"], "Actions": ["*"] });
        client.ask("AddPermission", input);
        client.form(
            "Action=AddPermission&QueueUrl=q&Label=b&AWSAccountId.1=111111111111&ActionName.1=SendMessage",
        );
        let input = json!({ "QueueUrl": "q", "AttributeNames": ["Policy"] });
        let policy = client.ask("GetQueueAttributes", input)["Attributes"]["Policy"].clone();
        let policy: Value = serde_json::from_str(policy.as_str().unwrap()).unwrap();
        let actions: Vec<_> =
            policy["Statement"].as_array().unwrap().iter().map(|statement| &statement["Action"]).collect();
        assert_eq!(actions, ["SQS:*", "SQS:SendMessage"]);
        client.ask("RemovePermission", json!({ "QueueUrl": "q", "Label": "a" }));
        let error = client.refused("RemovePermission", json!({ "QueueUrl": "q", "Label": "a" }));
        assert_eq!(error.code, "InvalidParameterValue");
    }
}
