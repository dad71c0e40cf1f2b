//! `DeleteMessage`, `ChangeMessageVisibility`, and their batches.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::asked::{Asked, required, visibility_timeout};
use super::batch;
use crate::queue::SqsError;

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

pub(super) fn delete(asked: &mut Asked<'_>) -> Result<Bytes, SqsError> {
    let input: Input = asked.input()?;
    let queue = asked.queue(input.queue_url)?;
    let handle = required(input.receipt_handle, "ReceiptHandle")?;
    asked.queues.delete(&queue, &handle, asked.now)?;
    asked.nothing()
}

pub(super) fn change_visibility(asked: &mut Asked<'_>) -> Result<Bytes, SqsError> {
    let input: Input = asked.input()?;
    let queue = asked.queue(input.queue_url)?;
    change(asked, &queue, input.receipt_handle, input.visibility_timeout)?;
    asked.nothing()
}

pub(super) fn delete_batch(asked: &mut Asked<'_>) -> Result<Bytes, SqsError> {
    each(asked, "DeleteMessageBatch", |asked, queue, entry| {
        let handle = required(entry.receipt_handle, "ReceiptHandle")?;
        asked.queues.delete(queue, &handle, asked.now)
    })
}

pub(super) fn change_visibility_batch(asked: &mut Asked<'_>) -> Result<Bytes, SqsError> {
    each(asked, "ChangeMessageVisibilityBatch", |asked, queue, entry| {
        change(asked, queue, entry.receipt_handle, entry.visibility_timeout)
    })
}

fn change(
    asked: &mut Asked<'_>,
    queue: &str,
    receipt_handle: Option<String>,
    timeout: Option<i64>,
) -> Result<(), SqsError> {
    let handle = required(receipt_handle, "ReceiptHandle")?;
    let timeout = visibility_timeout(required(timeout, "VisibilityTimeout")?)?;
    asked.queues.change_visibility(queue, &handle, timeout, asked.now)
}

/// Does one thing to each entry of a batch.
fn each(
    asked: &mut Asked<'_>,
    operation: &str,
    mut verb: impl FnMut(&mut Asked<'_>, &str, Entry) -> Result<(), SqsError>,
) -> Result<Bytes, SqsError> {
    let input: BatchInput = asked.input()?;
    let queue = asked.queue(input.queue_url)?;
    batch::check(input.entries.iter().map(|entry| entry.id.as_str()), operation)?;
    let results = input.entries.into_iter().map(|entry| {
        let id = entry.id.clone();
        let result = verb(asked, &queue, entry).map(|()| -> Value { json!({ "Id": id }) });
        (id, result)
    });
    let answer = batch::Answer::new(results);
    asked.output(&answer)
}

#[cfg(test)]
mod tests {
    use super::super::testing::World;
    use super::*;

    /// Sends and receives so many messages and gives their handles.
    fn handles(world: &mut World, count: usize) -> Vec<Value> {
        for _ in 0..count {
            world.ask("SendMessage", json!({ "QueueUrl": "q", "MessageBody": "a" }));
        }
        let answer = world.ask("ReceiveMessage", json!({ "QueueUrl": "q", "MaxNumberOfMessages": 10 }));
        answer["Messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|message| message["ReceiptHandle"].clone())
            .collect()
    }

    #[test]
    fn a_message_is_deleted_and_its_visibility_can_be_changed_no_more() {
        let mut world = World::new();
        let handle = handles(&mut world, 1).remove(0);
        let change = json!({ "QueueUrl": "q", "ReceiptHandle": handle, "VisibilityTimeout": 0 });
        world.ask("ChangeMessageVisibility", change.clone());
        let delete = json!({ "QueueUrl": "q", "ReceiptHandle": handle });
        world.ask("DeleteMessage", delete.clone());
        world.ask("DeleteMessage", delete);
        let error = world.refused("ChangeMessageVisibility", change);
        assert_eq!((error.status, error.header.as_str()), (400, "InvalidParameterValue;Sender"));
        assert!(error.message.contains("Message does not exist or is not available"), "{}", error.message);
    }

    #[test]
    fn a_handle_that_is_none_is_refused_by_name() {
        let error =
            World::new().refused("DeleteMessage", json!({ "QueueUrl": "q", "ReceiptHandle": "garbage" }));
        assert_eq!(error.header, "ReceiptHandleIsInvalid;Sender");
        assert_eq!(error.message, "The input receipt handle \"garbage\" is not a valid receipt handle.");
    }

    #[test]
    fn a_visibility_batch_takes_different_timeouts_and_fails_entry_by_entry() {
        let mut world = World::new();
        let handles = handles(&mut world, 4);
        world.ask("DeleteMessage", json!({ "QueueUrl": "q", "ReceiptHandle": handles[3] }));
        let entry = |id: &str, handle: &Value, timeout: i64| json!({ "Id": id, "ReceiptHandle": handle, "VisibilityTimeout": timeout });
        let entries = json!([
            entry("soon", &handles[0], 2),
            entry("later", &handles[1], 100),
            entry("too-late", &handles[2], 43_201),
            entry("gone", &handles[3], 2),
            { "Id": "no-timeout", "ReceiptHandle": handles[2] },
        ]);
        let answer =
            world.ask("ChangeMessageVisibilityBatch", json!({ "QueueUrl": "q", "Entries": entries }));
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
        world.pass(2);
        let answer = world.ask("ReceiveMessage", json!({ "QueueUrl": "q", "MaxNumberOfMessages": 10 }));
        assert_eq!(answer["Messages"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn a_delete_batch_fails_entry_by_entry() {
        let mut world = World::new();
        let handles = handles(&mut world, 1);
        let entries =
            json!([{ "Id": "a", "ReceiptHandle": handles[0] }, { "Id": "b", "ReceiptHandle": "garbage" }]);
        let answer = world.ask("DeleteMessageBatch", json!({ "QueueUrl": "q", "Entries": entries }));
        assert_eq!(answer["Successful"], json!([{ "Id": "a" }]));
        assert_eq!(answer["Failed"][0]["Code"], "ReceiptHandleIsInvalid");
        let error = world.refused("DeleteMessageBatch", json!({ "QueueUrl": "q", "Entries": [] }));
        assert_eq!(
            error.message,
            "There should be at least one DeleteMessageBatchRequestEntry in the request."
        );
    }
}
