//! `DeleteMessage`, `ChangeMessageVisibility`, and their batches.

use serde::Deserialize;
use serde_json::{Value, json};

use super::batch;
use super::request::{Context, required, visibility_timeout};
use crate::protocol::{Answer, AwsError};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    queue_url: Option<String>,
    receipt_handle: Option<String>,
    visibility_timeout: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct BatchInput {
    queue_url: Option<String>,
    #[serde(default)]
    entries: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    #[serde(default)]
    id: String,
    receipt_handle: Option<String>,
    visibility_timeout: Option<i64>,
}

pub(super) fn delete(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let queue = context.queue(input.queue_url)?;
    let handle = required(input.receipt_handle, "ReceiptHandle")?;
    context.service.delete(&queue, &handle, context.now)?;
    context.nothing()
}

pub(super) fn change_visibility(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let queue = context.queue(input.queue_url)?;
    change(context, &queue, input.receipt_handle, input.visibility_timeout)?;
    context.nothing()
}

pub(super) fn delete_batch(context: &mut Context<'_>) -> Answer {
    each(context, "DeleteMessageBatch", |context, queue, entry| {
        let handle = required(entry.receipt_handle, "ReceiptHandle")?;
        context.service.delete(queue, &handle, context.now)
    })
}

pub(super) fn change_visibility_batch(context: &mut Context<'_>) -> Answer {
    each(context, "ChangeMessageVisibilityBatch", |context, queue, entry| {
        change(context, queue, entry.receipt_handle, entry.visibility_timeout)
    })
}

fn change(
    context: &mut Context<'_>,
    queue: &str,
    receipt_handle: Option<String>,
    timeout: Option<i64>,
) -> Result<(), AwsError> {
    let handle = required(receipt_handle, "ReceiptHandle")?;
    let timeout = visibility_timeout(required(timeout, "VisibilityTimeout")?)?;
    context.service.change_visibility(queue, &handle, timeout, context.now)
}

/// Does one thing to each entry of a batch.
fn each(
    context: &mut Context<'_>,
    operation: &str,
    mut verb: impl FnMut(&mut Context<'_>, &str, Entry) -> Result<(), AwsError>,
) -> Answer {
    let input: BatchInput = context.input()?;
    let queue = context.queue(input.queue_url)?;
    batch::check(input.entries.iter().map(|entry| entry.id.as_str()), operation)?;
    let results = input.entries.into_iter().map(|entry| {
        let id = entry.id.clone();
        let result = verb(context, &queue, entry).map(|()| -> Value { json!({ "Id": id }) });
        (id, result)
    });
    let answer = batch::Answer::new(results);
    context.output(&answer)
}

#[cfg(test)]
mod tests {
    use super::super::testing::client;
    use super::*;
    use crate::protocol::testing::Client;
    use crate::sqs::Sqs;

    /// Sends and receives so many messages and gives their handles.
    fn handles(client: &mut Client<Sqs>, count: usize) -> Vec<Value> {
        for _ in 0..count {
            client.ask("SendMessage", json!({ "QueueUrl": "q", "MessageBody": "a" }));
        }
        let answer = client.ask("ReceiveMessage", json!({ "QueueUrl": "q", "MaxNumberOfMessages": 10 }));
        answer["Messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|message| message["ReceiptHandle"].clone())
            .collect()
    }

    #[test]
    fn a_message_is_deleted_and_its_visibility_can_be_changed_no_more() {
        let mut client = client();
        let handle = handles(&mut client, 1).remove(0);
        let change = json!({ "QueueUrl": "q", "ReceiptHandle": handle, "VisibilityTimeout": 0 });
        client.ask("ChangeMessageVisibility", change.clone());
        let delete = json!({ "QueueUrl": "q", "ReceiptHandle": handle });
        client.ask("DeleteMessage", delete.clone());
        client.ask("DeleteMessage", delete);
        let error = client.refused("ChangeMessageVisibility", change);
        assert_eq!((error.status, error.code.as_str()), (400, "InvalidParameterValue"));
        assert!(error.message.contains("Message does not exist or is not available"), "{}", error.message);
    }

    #[test]
    fn a_handle_that_is_none_is_refused_by_name() {
        let error = client().refused("DeleteMessage", json!({ "QueueUrl": "q", "ReceiptHandle": "garbage" }));
        assert_eq!(error.code, "ReceiptHandleIsInvalid");
        assert_eq!(error.message, "The input receipt handle \"garbage\" is not a valid receipt handle.");
    }

    #[test]
    fn a_visibility_batch_takes_different_timeouts_and_fails_entry_by_entry() {
        let mut client = client();
        let handles = handles(&mut client, 4);
        client.ask("DeleteMessage", json!({ "QueueUrl": "q", "ReceiptHandle": handles[3] }));
        let entry = |id: &str, handle: &Value, timeout: i64| json!({ "Id": id, "ReceiptHandle": handle, "VisibilityTimeout": timeout });
        let entries = json!([
            entry("soon", &handles[0], 2),
            entry("later", &handles[1], 100),
            entry("too-late", &handles[2], 43_201),
            entry("gone", &handles[3], 2),
            { "Id": "no-timeout", "ReceiptHandle": handles[2] },
        ]);
        let answer =
            client.ask("ChangeMessageVisibilityBatch", json!({ "QueueUrl": "q", "Entries": entries }));
        assert_eq!(answer["Successful"], json!([{ "Id": "soon" }, { "Id": "later" }]));
        let failed: Vec<_> =
            answer["Failed"].as_array().unwrap().iter().map(|it| (&it["Id"], &it["Code"])).collect();
        assert_eq!(
            failed,
            [
                (&json!("too-late"), &json!("InvalidParameterValue")),
                (&json!("gone"), &json!("ReceiptHandleIsInvalid")),
                (&json!("no-timeout"), &json!("MissingParameter")),
            ]
        );
        assert_eq!(answer["Failed"][0]["SenderFault"], true);
        client.pass(2);
        let answer = client.ask("ReceiveMessage", json!({ "QueueUrl": "q", "MaxNumberOfMessages": 10 }));
        assert_eq!(answer["Messages"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn a_delete_batch_fails_entry_by_entry() {
        let mut client = client();
        let handles = handles(&mut client, 1);
        let entries =
            json!([{ "Id": "a", "ReceiptHandle": handles[0] }, { "Id": "b", "ReceiptHandle": "garbage" }]);
        let answer = client.ask("DeleteMessageBatch", json!({ "QueueUrl": "q", "Entries": entries }));
        assert_eq!(answer["Successful"], json!([{ "Id": "a" }]));
        assert_eq!(answer["Failed"][0]["Code"], "ReceiptHandleIsInvalid");
        let error = client.refused("DeleteMessageBatch", json!({ "QueueUrl": "q", "Entries": [] }));
        assert_eq!(
            error.message,
            "There should be at least one DeleteMessageBatchRequestEntry in the request."
        );
    }
}
