//! An entry of a call to SQS, and the answer for it.

use std::collections::HashSet;
use std::time::Duration;

use aws_sdk_sqs::types::{
    BatchResultErrorEntry, ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry,
    SendMessageBatchRequestEntry,
};
use redrive_sqs::DeadLetter;
use redrive_sqs::batch::Reply;

use redrive_engine::Confirmation;

/// The place of a message in a call, and the answer of SQS.
pub(crate) type Ruled = (usize, Confirmation);

/// An entry of a batch call; its id is the index of its record.
pub(super) trait Entry: Clone {
    fn id(&self) -> &str;

    /// Returns the time for which SQS hides the message once it has carried out the entry. After that, the entry must not be
    /// sent again.
    fn hides_for(&self) -> Option<Duration> {
        None
    }

    /// Returns the entry without the part for which it was probably refused, or `None` if it needs that part.
    fn fallback(self) -> Option<Self> {
        None
    }
}

impl Entry for SendMessageBatchRequestEntry {
    fn id(&self) -> &str {
        &self.id
    }

    /// Removes the note, because a dead-letter queue may accept less than 1 MiB.
    fn fallback(mut self) -> Option<Self> {
        self.message_attributes.as_mut()?.remove(DeadLetter::ATTRIBUTE)?;
        Some(self)
    }
}

impl Entry for DeleteMessageBatchRequestEntry {
    fn id(&self) -> &str {
        &self.id
    }
}

impl Entry for ChangeMessageVisibilityBatchRequestEntry {
    fn id(&self) -> &str {
        &self.id
    }

    fn hides_for(&self) -> Option<Duration> {
        let seconds = u64::try_from(self.visibility_timeout.unwrap_or_default()).unwrap_or_default();
        Some(Duration::from_secs(seconds))
    }
}

/// SQS's answer to one call.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) confirmed: HashSet<String>,
    pub(super) failed: Vec<BatchResultErrorEntry>,
}

impl Answer {
    pub(super) fn reply(&self, id: &str) -> Reply<'_> {
        if self.confirmed.contains(id) {
            return Reply::Confirmed;
        }
        let failed = self.failed.iter().find(|failed| failed.id == id);
        failed.map_or(Reply::Lost, |failed| Reply::Failed {
            code: &failed.code,
            sender_fault: failed.sender_fault,
        })
    }
}

pub(super) fn place(entry: &impl Entry) -> usize {
    entry.id().parse().expect("the id is the place of the message")
}

/// Queues a refused entry again without the part for which it was probably refused. Returns false if it needs that part.
pub(super) fn fall_back<T: Entry>(entry: T, entries: &mut Vec<T>, ruled: &mut Vec<Ruled>) -> bool {
    let place = place(&entry);
    let Some(entry) = entry.fallback() else {
        ruled.push((place, Confirmation::Refused));
        return false;
    };
    entries.push(entry);
    true
}
