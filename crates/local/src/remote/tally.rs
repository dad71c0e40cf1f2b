//! Reports and counts what happens at real queues.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::run::{Event, EventKind, Totals};

#[derive(Debug)]
pub(super) struct Tally {
    started: Instant,
    /// Ids of all messages that were received.
    messages: BTreeSet<String>,
    totals: Totals,
    /// The event stream. None after its end.
    events: Option<mpsc::UnboundedSender<Event>>,
}

impl Tally {
    pub(super) fn new() -> (Self, mpsc::UnboundedReceiver<Event>) {
        let (sender, events) = mpsc::unbounded_channel();
        let tally = Self {
            started: Instant::now(),
            messages: BTreeSet::new(),
            totals: Totals::default(),
            events: Some(sender),
        };
        (tally, events)
    }

    pub(super) fn report(&mut self, kind: EventKind) {
        match &kind {
            EventKind::Received { message_id, .. } | EventKind::NotDelivered { message_id, .. } => {
                self.messages.insert(message_id.clone());
            }
            EventKind::FilteredOut { message_id, .. } => {
                self.messages.insert(message_id.clone());
                self.totals.filtered_out += 1;
            }
            EventKind::Done { .. } => self.totals.done += 1,
            EventKind::DeletedAlthoughFailed { .. } => self.totals.deleted_although_failed += 1,
            EventKind::InvocationStarted { .. } => self.totals.invocations += 1,
            EventKind::Sent { .. }
            | EventKind::Throttled { .. }
            | EventKind::InvocationEnded { .. }
            | EventKind::Failed { .. }
            | EventKind::BackIn { .. }
            | EventKind::DeadLettered { .. }
            | EventKind::Expired { .. }
            | EventKind::Released { .. }
            | EventKind::WorkerStarted { .. }
            | EventKind::WorkerEnded { .. }
            | EventKind::Alarm { .. }
            | EventKind::Output { .. }
            | EventKind::CallFailed { .. }
            | EventKind::GaveUp { .. } => (),
        }
        if let Some(events) = &self.events {
            // The receiver may be gone.
            let _ = events.send(Event { at: self.elapsed(), kind });
        }
    }

    /// Ends the event stream. Messages that were received and not deleted count as left.
    pub(super) fn end(&mut self) -> Totals {
        self.events = None;
        let Totals { done, deleted_although_failed, filtered_out, .. } = self.totals;
        let messages = self.messages.len();
        Totals {
            messages,
            left: messages.saturating_sub(done + deleted_although_failed + filtered_out),
            wall: self.elapsed(),
            simulated: self.elapsed(),
            ..self.totals.clone()
        }
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}
