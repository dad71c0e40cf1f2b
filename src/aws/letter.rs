//! The attributes of a dead letter.

use std::time::SystemTime;

use redrive_sqs::{Attributes, DeadLetter};

use crate::message::invocation::Invocation;
use crate::message::record::Record;
use redrive_engine::{Description, NextStep, Settlement};

/// Returns the attributes of a letter, which are the message's own and the note, and true if there was room for the note.
/// Returns `None` if the message is not to be dead-lettered.
pub(crate) fn attributes(
    record: &Record<'_>,
    settled: &Settlement,
    invocation: &Invocation,
    failed_at: SystemTime,
) -> Option<(Attributes, bool)> {
    let NextStep::DeadLetter { reason, .. } = &settled.action else { return None };
    let Description { error, exception, .. } = settled.outcome.describe();
    let mut note = DeadLetter::new(reason, failed_at, record.attempt(), record.id(), record.source());
    error.clone_into(&mut note.error);
    exception.clone_into(&mut note.exception);
    note.sent_at = record.sent_at();
    invocation.function().unwrap_or_default().clone_into(&mut note.function);
    invocation.request_id().unwrap_or_default().clone_into(&mut note.request_id);
    let mut attributes = record.attributes();
    let has_room = note.attach(record.body(), &mut attributes);
    Some((attributes, has_room))
}
