//! Makes the calls to SQS that the engine asks for, never past their time.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock")]

mod call;
mod entry;

use std::time::SystemTime;

use aws_sdk_sqs::types::{
    ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry, SendMessageBatchRequestEntry,
};
use futures_util::{StreamExt, stream};
use redrive_sqs::is_fifo;
use tokio::time::Instant;

use self::call::{Answer, CallKind, Order, send};
use self::entry::{by_size, change_entry, delete_entry, letter_entry};
use crate::Invocation;
use crate::aws::Sqs;
use crate::engine::keys::MessageKey;
use crate::engine::{Call, Kind, Settled};
use crate::record::Record;

const IN_FLIGHT: usize = 16;

/// The entries of a call. The id of each is the place of its message in the call.
pub(crate) enum Entries {
    /// Each with its size in bytes.
    Letters(Vec<(SendMessageBatchRequestEntry, usize)>),
    Deletes(Vec<DeleteMessageBatchRequestEntry>),
    Changes(Vec<ChangeMessageVisibilityBatchRequestEntry>),
}

impl Entries {
    /// Letters go to a dead-letter queue of this URL.
    pub(crate) fn new<'r>(
        call: &Call,
        dead: &str,
        receipt_handle: impl Fn(MessageKey) -> Option<&'r str>,
        message: impl Fn(MessageKey) -> Option<(&'r Record<'r>, &'r Settled, &'r Invocation)>,
    ) -> Self {
        let messages = call.messages.iter().enumerate();
        // A record without a receipt handle could get the whole call refused.
        let handles = messages.clone().filter_map(|(index, &(key, after))| {
            let handle = receipt_handle(key).filter(|handle| !handle.is_empty());
            Some((index, handle?, after))
        });
        match call.kind {
            Kind::Letters => {
                let (fifo, now) = (is_fifo(dead), SystemTime::now());
                let letter = |(index, &(key, _))| letter_entry(index, message(key)?, fifo, now);
                Self::Letters(messages.filter_map(letter).collect())
            }
            Kind::Deletes => {
                Self::Deletes(handles.map(|(index, handle, _)| delete_entry(index, handle)).collect())
            }
            Kind::Changes => Self::Changes(
                handles.map(|(index, handle, after)| change_entry(index, handle, after)).collect(),
            ),
        }
    }

    /// Calls SQS about messages of this queue, or for letters to the other, and returns the places of the messages for which
    /// SQS has confirmed it.
    pub(crate) async fn send(self, sqs: &Sqs, queue: &str, dead: &str, until: Instant) -> Vec<usize> {
        match self {
            Self::Letters(letters) => write_letters(sqs, dead, letters, until).await,
            Self::Deletes(entries) => {
                let call = sqs.client.delete_message_batch().queue_url(queue);
                send(entries, kind("DeleteMessageBatch", sqs, until, Order::Free), move |entries| {
                    let call = call.clone().set_entries(Some(entries));
                    async move {
                        let output = call.send().await?;
                        let confirmed = output.successful.into_iter().map(|entry| entry.id).collect();
                        Ok(Answer { confirmed, failed: output.failed })
                    }
                })
                .await
            }
            Self::Changes(entries) => {
                let call = sqs.client.change_message_visibility_batch().queue_url(queue);
                let kind = kind("ChangeMessageVisibilityBatch", sqs, until, Order::Free);
                send(entries, kind, move |entries| {
                    let call = call.clone().set_entries(Some(entries));
                    async move {
                        let output = call.send().await?;
                        let confirmed = output.successful.into_iter().map(|entry| entry.id).collect();
                        Ok(Answer { confirmed, failed: output.failed })
                    }
                })
                .await
            }
        }
    }
}

/// Writes letters, in order on a FIFO queue.
async fn write_letters(
    sqs: &Sqs,
    url: &str,
    letters: Vec<(SendMessageBatchRequestEntry, usize)>,
    until: Instant,
) -> Vec<usize> {
    let fifo = is_fifo(url);
    let order = if fifo { Order::Kept } else { Order::Free };
    let calls = by_size(letters).into_iter().map(|entries| {
        send(entries, kind("SendMessageBatch", sqs, until, order), move |entries| async move {
            let call = sqs.client.send_message_batch().queue_url(url).set_entries(Some(entries));
            let output = call.send().await?;
            let confirmed = output.successful.into_iter().map(|entry| entry.id).collect();
            Ok(Answer { confirmed, failed: output.failed })
        })
    });
    let calls: Vec<_> = calls.collect();
    stream::iter(calls).buffered(if fifo { 1 } else { IN_FLIGHT }).concat().await
}

fn kind<'a>(operation: &'static str, sqs: &'a Sqs, until: Instant, order: Order) -> CallKind<'a> {
    CallKind { operation, endpoint: &sqs.endpoint, until, order }
}
