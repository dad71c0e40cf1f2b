//! Deletes messages of a real queue, ten at a time.

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::DeleteMessageBatchRequestEntry;
use redrive_sqs::MAX_ENTRIES;
use redrive_sqs::batch::{Next, Reply};

use super::Ids;
use super::queue::{RemoteQueue, reason};
use crate::queue::Received;

/// Most tries of a delete that SQS answers with an error.
const TRIES: usize = 3;

/// The messages that were deleted, and the reasons why others were not.
#[derive(Debug, Default)]
pub(super) struct Deletion<'message> {
    pub(super) deleted: Ids<'message>,
    pub(super) failures: Vec<String>,
}

pub(super) async fn delete<'message>(
    sqs: &Client,
    queue: &RemoteQueue,
    messages: &[&'message Received],
) -> Deletion<'message> {
    let mut deletion = Deletion::default();
    for messages in messages.chunks(MAX_ENTRIES) {
        let mut rest = messages.to_vec();
        for tries_left in (0..TRIES).rev() {
            let again = deletion.call(sqs, queue, &rest, tries_left > 0).await;
            rest = again.into_iter().filter_map(|index| rest.get(index).copied()).collect();
            if rest.is_empty() {
                break;
            }
        }
    }
    deletion
}

impl<'message> Deletion<'message> {
    /// Makes one call. Returns the indices of messages to try again.
    async fn call(
        &mut self,
        sqs: &Client,
        queue: &RemoteQueue,
        messages: &[&'message Received],
        may_try_again: bool,
    ) -> Vec<usize> {
        let entries = messages.iter().enumerate().map(|(index, message)| {
            let entry = DeleteMessageBatchRequestEntry::builder().id(index.to_string());
            entry.receipt_handle(&message.receipt_handle).build().expect("it has an id and a receipt handle")
        });
        let call = sqs.delete_message_batch().queue_url(&queue.url).set_entries(Some(entries.collect()));
        let output = match call.send().await {
            Ok(output) => output,
            Err(error) => {
                self.failures.push(reason(&error));
                return Vec::new();
            }
        };
        let confirmed = output.successful.iter().filter_map(|entry| entry.id.parse::<usize>().ok());
        let ids = confirmed.filter_map(|index| Some(messages.get(index)?.message_id.as_str()));
        self.deleted.extend(ids);
        let (again, failed): (Vec<_>, Vec<_>) = output.failed.iter().partition(|entry| {
            let reply = Reply::Failed { code: &entry.code, sender_fault: entry.sender_fault };
            may_try_again && reply.next() == Next::Again
        });
        self.failures.extend(
            failed
                .iter()
                .map(|entry| format!("{}: {}", entry.code, entry.message.as_deref().unwrap_or("no message"))),
        );
        again.iter().filter_map(|entry| entry.id.parse().ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, SystemTime};

    use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
    use axum::routing::post;
    use serde_json::{Value, json};

    use super::*;

    fn message(number: usize) -> Received {
        let now = SystemTime::now();
        Received {
            message_id: format!("id-{number}"),
            receipt_handle: format!("handle-{number}"),
            body: String::new(),
            md5_of_body: String::new(),
            md5_of_attributes: None,
            attributes: Vec::new().into_iter().collect(),
            receive_count: 1,
            sent_at: now,
            first_received_at: now,
            sender_id: String::new(),
            group_id: None,
            deduplication_id: None,
            sequence_number: None,
            trace_header: None,
            dead_letter_source: None,
        }
    }

    /// Deletes two messages from an SQS that fails to delete the first one until the given call, and refuses to delete the
    /// second one.
    async fn deleted(first_succeeds_at: usize) -> (BTreeSet<String>, Vec<String>, usize) {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let answer = move |body: String| async move {
            let request: Value = serde_json::from_str(&body).unwrap();
            let call = counted.fetch_add(1, Ordering::Relaxed) + 1;
            let (mut successful, mut failed) = (Vec::new(), Vec::new());
            for entry in request["Entries"].as_array().unwrap() {
                let failure =
                    |code: &str, fault: bool| json!({"Id": entry["Id"], "Code": code, "SenderFault": fault});
                match entry["ReceiptHandle"].as_str().unwrap() {
                    "handle-0" if call < first_succeeds_at => failed.push(failure("InternalError", false)),
                    "handle-1" => failed.push(failure("ReceiptHandleIsInvalid", true)),
                    _ => successful.push(json!({"Id": entry["Id"]})),
                }
            }
            json!({"Successful": successful, "Failed": failed}).to_string()
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let serving =
            tokio::spawn(
                async move { axum::serve(listener, axum::Router::new().route("/", post(answer))).await },
            );
        let config = aws_sdk_sqs::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .http_client(aws_smithy_http_client::Builder::new().build_http())
            .region(Region::from_static("eu-central-1"))
            .credentials_provider(Credentials::new("local", "local", None, None, "tests"))
            .endpoint_url(&url);
        let sqs = Client::from_conf(config.build());
        let queue = RemoteQueue {
            name: "orders".into(),
            url: format!("{url}/000000000000/orders"),
            arn: "arn:aws:sqs:eu-central-1:000000000000:orders".into(),
            visibility_timeout: Duration::from_secs(30),
        };
        let messages: Vec<_> = (0..3).map(message).collect();
        let deletion = delete(&sqs, &queue, &messages.iter().collect::<Vec<_>>()).await;
        serving.abort();
        let deleted = deletion.deleted.iter().map(|id| (*id).to_owned()).collect();
        (deleted, deletion.failures, calls.load(Ordering::Relaxed))
    }

    #[tokio::test]
    async fn a_delete_that_sqs_failed_to_carry_out_is_tried_again() {
        let ids = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<BTreeSet<_>>();
        let gone = "ReceiptHandleIsInvalid: no message".to_owned();
        assert_eq!(deleted(3).await, (ids(&["id-0", "id-2"]), vec![gone.clone()], 3));
        let given_up = vec![gone, "InternalError: no message".to_owned()];
        assert_eq!(deleted(4).await, (ids(&["id-2"]), given_up, 3));
    }
}
