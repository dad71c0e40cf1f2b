//! The shared state: queues, metrics, and the events that were reported.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use tokio::sync::mpsc;

use super::messages::Messages;
use super::state_folder::StateFolder;
use super::{Event, EventKind};
use crate::account::Account;
use crate::cloudwatch::AlarmChange;
use crate::mapping::{Capacity, Poller, Step};
use crate::sqs::QueueEvent;

/// How long an idle worker may take to receive a message. A worker that takes longer is busy or hangs.
const TO_RECEIVE: Duration = Duration::from_secs(60);

/// The state that `World::act` changes.
#[derive(Debug)]
pub(crate) struct WorldState {
    pub(crate) account: Account,
    pub(crate) messages: Messages,
    /// The folder that keeps the queues.
    pub(super) folder: Option<StateFolder>,
    /// The time of the present action.
    pub(super) now: SystemTime,
    /// True if something happened on which no alarm has been evaluated.
    pub(crate) unevaluated: bool,
    /// True if no tick can change anything until something happens.
    pub(super) rests: bool,
    pub(super) changed: bool,
    /// Events to report, with their times.
    pub(super) outbox: Vec<(SystemTime, EventKind)>,
    /// The event stream. None after its end.
    pub(super) events: Option<mpsc::UnboundedSender<Event>>,
}

impl WorldState {
    pub(crate) fn new(account: Account) -> Self {
        Self {
            account,
            messages: Messages::default(),
            folder: None,
            now: SystemTime::UNIX_EPOCH,
            unevaluated: false,
            rests: false,
            changed: false,
            outbox: Vec::new(),
            events: None,
        }
    }

    /// Adds an event to the stream.
    pub(crate) fn report(&mut self, kind: EventKind) {
        self.report_queue_events();
        self.outbox.push((self.now, kind));
    }

    /// Records that something other than a queue has changed.
    pub(crate) fn change(&mut self) {
        self.changed = true;
    }

    /// Polls for a mapping. Its messages are reported when they are passed to an invocation.
    pub(crate) fn poll(&mut self, poller: &mut Poller, capacity: Capacity, now: SystemTime) -> Option<Step> {
        self.report_queue_events();
        let polled = self.account.poll(poller, capacity, now);
        for event in self.account.take_events() {
            match event {
                QueueEvent::Received { queue, message_id, receive_count, .. } => {
                    self.changed = true;
                    self.outbox.extend(self.messages.take(&queue, &message_id, receive_count, now));
                }
                QueueEvent::Deleted { queue, message_id } => {
                    self.changed = true;
                    let event = self.messages.filter_out(queue, message_id);
                    self.outbox.push((now, event));
                }
                QueueEvent::Sent { .. }
                | QueueEvent::VisibilityChanged { .. }
                | QueueEvent::Moved { .. }
                | QueueEvent::Expired { .. } => self.report_queue_event(event),
            }
        }
        // A deleted queue has no messages.
        polled.unwrap_or_else(|_| poller.take(capacity, Duration::ZERO, now))
    }

    /// Returns the number of messages in a queue, in any state.
    pub(crate) fn held(&self, queue: &str, now: SystemTime) -> usize {
        let counts = self.account.counts(queue, now).unwrap_or_default();
        counts.visible + counts.in_flight + counts.delayed
    }

    /// Begins a rest if no tick can change anything until something happens. Returns true if it did.
    pub(crate) fn begin_rest(&mut self) -> bool {
        let ticked_at = self.account.ticked_at.unwrap_or(self.now);
        self.rests = !self.unevaluated && self.account.rests(ticked_at);
        self.rests
    }

    /// Ends a rest, during which there was nothing to publish or evaluate.
    pub(crate) fn end_rest(&mut self, now: SystemTime) {
        if std::mem::take(&mut self.rests) {
            let passed = self.account.cloudwatch.pass_over(now);
            self.account.ticked_at = self.account.ticked_at.max(Some(passed));
        }
    }

    /// Returns the time until which clients and workers are busy if nothing happens: with messages that they have received,
    /// and a worker with those that it is about to receive.
    pub(super) fn busy_until(&mut self, now: SystemTime) -> Option<SystemTime> {
        let held = self.messages.held_until(now);
        let sqs = &mut self.account.sqs;
        let is_due = self.messages.worked.names().any(|queue| sqs.has_receivable(queue, now));
        held.into_iter().chain(is_due.then_some(now + TO_RECEIVE)).max()
    }

    /// Records an empty receive from a queue. Returns true if a worker polls the queue.
    pub(crate) fn polled(&mut self, queue: &str) -> bool {
        let was_polled = self.messages.worked.is_polled(queue);
        let is_worker = self.messages.worked.poll(queue);
        self.changed |= is_worker && !was_polled;
        is_worker
    }

    /// Records that a process of a worker ended and lost its messages. Returns true if it had polled its queue.
    pub(crate) fn end_worker(&mut self, queue: &str, now: SystemTime) -> bool {
        let events = self.messages.end_worker(queue, now);
        events.into_iter().for_each(|kind| self.report(kind));
        self.messages.worked.is_polled(queue)
    }

    /// Writes the queues into their folder after a change without a call of a client, which could be repeated.
    pub(super) fn keep_queues(&mut self, now: SystemTime) {
        if let Some(folder) = &mut self.folder
            && let Err(error) = folder.save(&self.account.sqs, now)
        {
            tracing::error!(%error, "the state folder could not be written");
        }
    }

    /// Updates the set of queues that redrive policies name.
    pub(crate) fn find_dead_letter_queues(&mut self) {
        self.messages.dead_letter_queues(self.account.sqs.dead_letter_queues());
    }

    /// Reacts to an operation that changes more than the events of messages show.
    pub(crate) fn administered(&mut self, operation: &str, now: SystemTime) {
        if matches!(operation, "CreateQueue" | "DeleteQueue" | "SetQueueAttributes") {
            self.find_dead_letter_queues();
        }
        match operation {
            "StartMessageMoveTask" => self.change(),
            "DeleteQueue" | "PurgeQueue" => self.release_messages(now),
            _ => (),
        }
    }

    /// Releases messages after a purge or the deletion of a queue, which cause no events of messages.
    fn release_messages(&mut self, now: SystemTime) {
        let has_some =
            |queue: &&str| self.account.counts(queue, now).is_some_and(|counts| counts.in_flight > 0);
        let in_flight: BTreeSet<_> = self.account.sqs.names().filter(has_some).collect();
        self.messages.release(|queue| !in_flight.contains(queue));
    }

    pub(super) fn report_queue_events(&mut self) {
        for event in self.account.take_events() {
            self.report_queue_event(event);
        }
    }

    pub(super) fn report_alarm_changes(&mut self) {
        let changes = self.account.take_alarm_changes().into_iter();
        let event = |AlarmChange { name, state, reason }| EventKind::Alarm { name, state, reason };
        self.outbox.extend(changes.map(event).map(|kind| (self.now, kind)));
    }

    fn report_queue_event(&mut self, event: QueueEvent) {
        self.changed = true;
        self.outbox.extend(self.messages.note(event, self.now));
    }
}
