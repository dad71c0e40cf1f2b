//! `AddPermission` and `RemovePermission`.

use bytes::Bytes;
use serde::Deserialize;

use super::asked::{Asked, required};
use crate::queue::SqsError;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    queue_url: Option<String>,
    label: Option<String>,
    #[serde(rename = "AWSAccountIds")]
    account_ids: Option<Vec<String>>,
    actions: Option<Vec<String>>,
}

pub(super) fn add(asked: &mut Asked<'_>) -> Result<Bytes, SqsError> {
    let input: Input = asked.input()?;
    let queue = asked.queue(input.queue_url)?;
    let label = required(input.label, "Label")?;
    let accounts = required(input.account_ids, "AWSAccountIds")?;
    let actions = required(input.actions, "Actions")?;
    asked.queues.add_permission(&queue, &label, &accounts, &actions, asked.now)?;
    asked.nothing()
}

pub(super) fn remove(asked: &mut Asked<'_>) -> Result<Bytes, SqsError> {
    let input: Input = asked.input()?;
    let queue = asked.queue(input.queue_url)?;
    asked.queues.remove_permission(&queue, &required(input.label, "Label")?, asked.now)?;
    asked.nothing()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing::World;

    #[test]
    fn both_protocols_add_and_remove_permissions() {
        let mut world = World::new();
        let input =
            json!({ "QueueUrl": "q", "Label": "a", "AWSAccountIds": ["111111111111"], "Actions": ["*"] });
        world.ask("AddPermission", input);
        world.form(
            "Action=AddPermission&QueueUrl=q&Label=b&AWSAccountId.1=111111111111&ActionName.1=SendMessage",
        );
        let input = json!({ "QueueUrl": "q", "AttributeNames": ["Policy"] });
        let policy = world.ask("GetQueueAttributes", input)["Attributes"]["Policy"].clone();
        let policy: Value = serde_json::from_str(policy.as_str().unwrap()).unwrap();
        let actions: Vec<_> =
            policy["Statement"].as_array().unwrap().iter().map(|statement| &statement["Action"]).collect();
        assert_eq!(actions, ["SQS:*", "SQS:SendMessage"]);
        world.ask("RemovePermission", json!({ "QueueUrl": "q", "Label": "a" }));
        let error = world.refused("RemovePermission", json!({ "QueueUrl": "q", "Label": "a" }));
        assert_eq!(error.header, "InvalidParameterValue;Sender");
    }
}
