//! Deletes messages of a real queue, ten at a time.

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::DeleteMessageBatchRequestEntry;

use super::Ids;
use super::queue::{RemoteQueue, reason};
use crate::queue::Received;

/// What could be deleted, and why the rest could not.
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
    for messages in messages.chunks(10) {
        let entries = messages.iter().enumerate().map(|(index, message)| {
            let entry = DeleteMessageBatchRequestEntry::builder().id(index.to_string());
            entry.receipt_handle(&message.receipt_handle).build().expect("it has an id and a receipt handle")
        });
        let call = sqs.delete_message_batch().queue_url(&queue.url).set_entries(Some(entries.collect()));
        match call.send().await {
            Ok(output) => {
                let confirmed = output.successful.iter().filter_map(|entry| entry.id.parse::<usize>().ok());
                let ids = confirmed.filter_map(|index| Some(messages.get(index)?.message_id.as_str()));
                deletion.deleted.extend(ids);
                deletion.failures.extend(output.failed.iter().map(|entry| {
                    format!("{}: {}", entry.code, entry.message.as_deref().unwrap_or("no message"))
                }));
            }
            Err(error) => deletion.failures.push(reason(&error)),
        }
    }
    deletion
}
