//! What is sent to SQS for a message.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock")]

use std::time::SystemTime;

use redrive_sqs::DeadLetter;
use tracing::warn;

use super::Progress;
use crate::batch::settle::{Change, Letter};
use crate::batch::{Action, Settled};

impl<'a> Progress<'a> {
    /// The record at a place in the order of the plan.
    pub(in crate::flow) fn index(&self, at: usize) -> usize {
        self.order[at]
    }

    /// The visibility change of a message that is to come back.
    pub(in crate::flow) fn change(&self, at: usize) -> Option<Change<'a>> {
        let index = self.order[at];
        let after = self.settled[index].action.back_after()?;
        Some(Change { index: at, record: &self.records[index], after })
    }

    /// The letter of a message that is to be dead-lettered.
    pub(in crate::flow) fn letter(&self, at: usize) -> Option<Letter<'a>> {
        let index = self.order[at];
        let Settled { outcome, action: Action::DeadLetter { reason, .. }, .. } = &self.settled[index] else {
            return None;
        };
        let record = &self.records[index];
        let (error, exception) = outcome.describe();
        let failed_at = SystemTime::now();
        let mut note = DeadLetter::new(reason, failed_at, record.attempt(), record.id(), record.source());
        error.clone_into(&mut note.error);
        exception.clone_into(&mut note.exception);
        note.sent_at = record.sent_at();
        self.invocation.function().unwrap_or_default().clone_into(&mut note.function);
        self.invocation.request_id().unwrap_or_default().clone_into(&mut note.request_id);
        let mut attributes = record.attributes();
        if !note.attach(record.body(), &mut attributes) {
            warn!(
                message_id = record.id(),
                "the message has no room for the note, so its dead letter is sent without one"
            );
        }
        Some(Letter { index: at, record, attributes })
    }
}
