//! The state of the page, computed from events. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;

use super::logs::Logs;
use super::message::{EndKind, Message, Outcome, seconds};
use super::samples::{Numbers, Sample, Samples};
use super::shelf::Shelf;
use crate::{AlarmState, Event, EventKind, InvocationOutcome, SentMessage};

/// Most messages, invocations and notices that are kept. The oldest are dropped.
pub(super) const MOST_MESSAGES: usize = 20_000;
const MOST_INVOCATIONS: usize = 5_000;
const MOST_NOTICES: usize = 50;

/// Everything that the page knows. Each change has a version, which shows what is new to a reader.
#[derive(Debug)]
pub(super) struct Model {
    /// Queues whose messages are shown.
    sources: BTreeSet<String>,
    /// True if clients that receive from these queues count as workers.
    pub(super) has_workers: bool,
    pub(super) version: u64,
    pub(super) messages: Shelf<Message>,
    pub(super) invocations: Shelf<Invocation>,
    pub(super) notices: Shelf<Notice>,
    pub(super) alarms: BTreeMap<String, (u64, Alarm)>,
    pub(super) samples: Samples,
    pub(super) logs: Logs,
    numbers: HashMap<String, u64>,
    by_request: HashMap<String, u64>,
    /// The latest message number of each message that was sent back from a dead-letter queue, by its original id.
    lives: HashMap<String, u64>,
}

/// An alarm's lamp on the page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Alarm {
    pub(super) name: String,
    pub(super) state: AlarmState,
    pub(super) reason: String,
    /// Time of the last change in simulated seconds since the start. None if the state never changed.
    pub(super) at: Option<f64>,
}

/// A notice about more than one message.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Notice {
    pub(super) number: u64,
    pub(super) at: f64,
    pub(super) text: String,
}

impl Model {
    pub(super) fn new<'a>(sources: BTreeSet<String>, alarms: impl Iterator<Item = &'a str>) -> Self {
        let alarm = |name: &str| Alarm {
            name: name.to_owned(),
            state: AlarmState::InsufficientData,
            reason: String::new(),
            at: None,
        };
        Self {
            sources,
            has_workers: false,
            version: 1,
            messages: Shelf::new(MOST_MESSAGES),
            invocations: Shelf::new(MOST_INVOCATIONS),
            notices: Shelf::new(MOST_NOTICES),
            alarms: alarms.map(|name| (name.to_owned(), (1, alarm(name)))).collect(),
            samples: Samples::default(),
            logs: Logs::default(),
            numbers: HashMap::new(),
            by_request: HashMap::new(),
            lives: HashMap::new(),
        }
    }

    /// Applies an event. `sent` is the message that was sent, which the event does not contain.
    pub(super) fn apply(&mut self, event: &Event, sent: Option<&SentMessage>) {
        let at = seconds(event);
        match &event.kind {
            EventKind::Sent { queue, message_id } if self.sources.contains(queue) => {
                self.send(message_id, queue, at, sent);
            }
            EventKind::Received { queue, message_id, attempt, request_id } => {
                let invocation = request_id.as_ref().map(|id| self.invocation(id, at));
                let runs = invocation.is_some() || self.has_workers;
                let outcome = if runs { Outcome::Running } else { Outcome::Client };
                self.message(queue, message_id, |message| message.begin(*attempt, at, outcome, invocation));
            }
            EventKind::NotDelivered { queue, message_id, attempt } => {
                self.message(queue, message_id, |m| m.begin(*attempt, at, Outcome::Throttled, None));
            }
            EventKind::Failed { queue, message_id, attempt } => {
                self.message(queue, message_id, |message| message.close(*attempt, Outcome::Failed, at));
            }
            EventKind::BackIn { queue, message_id, seconds } => {
                self.message(queue, message_id, |message| message.wait(*seconds, at));
            }
            EventKind::Released { queue, message_id, attempt, seconds } => {
                self.message(queue, message_id, |message| {
                    message.close(*attempt, Outcome::Released, at);
                    message.wait(*seconds, at);
                })
            }
            EventKind::Done { queue, message_id, .. } => self.message(queue, message_id, |message| {
                message.end(EndKind::Done, at);
            }),
            EventKind::DeletedAlthoughFailed { queue, message_id, .. } => {
                self.message(queue, message_id, |message| {
                    message.end(EndKind::Lost, at);
                });
            }
            EventKind::DeadLettered { queue, message_id, reason, error, .. } => {
                self.message(queue, message_id, |message| {
                    let end = message.end(EndKind::Dead, at);
                    (end.reason, end.error) = (Some(reason.clone()), error.clone());
                });
            }
            EventKind::FilteredOut { queue, message_id, .. } => {
                self.message(queue, message_id, |message| {
                    message.end(EndKind::FilteredOut, at);
                });
            }
            EventKind::Expired { queue, message_id } => self.message(queue, message_id, |message| {
                message.end(EndKind::Expired, at);
            }),
            EventKind::InvocationStarted { function, request_id, messages } => {
                self.invoked(request_id, at, |invocation| {
                    (invocation.function, invocation.messages) = (function.clone(), *messages);
                });
            }
            EventKind::InvocationEnded { request_id, outcome, failed, duration_ms, .. } => {
                self.invoked(request_id, at, |invocation| {
                    (invocation.failed, invocation.duration_ms) = (*failed, Some(*duration_ms));
                    invocation.trouble = trouble(outcome);
                });
            }
            EventKind::Alarm { name, state, reason } => {
                let alarm = Alarm { name: name.clone(), state: *state, reason: reason.clone(), at: Some(at) };
                let version = self.next_version();
                self.alarms.insert(name.clone(), (version, alarm));
            }
            EventKind::Throttled { function, messages } => {
                self.notice(at, format!("{function} has no concurrency left for {messages} messages"));
            }
            EventKind::CallFailed { queue, operation, reason } => {
                self.notice(at, format!("{operation} of {queue} failed: {reason}"));
            }
            EventKind::WorkerEnded { worker, status, restart_in, .. } => {
                let then = restart_in.map(|seconds| format!("; it is started again in {seconds} s"));
                self.notice(at, format!("{worker} has ended ({status}){}", then.unwrap_or_default()));
            }
            EventKind::GaveUp { function, reason } => {
                self.notice(at, format!("{function} does not start: {reason}"));
            }
            EventKind::Output { function, line } => self.logs.add(at, function, line),
            EventKind::Sent { .. } | EventKind::WorkerStarted { .. } => (),
        }
    }

    pub(super) fn sample(&mut self, at: f64, numbers: Numbers) {
        let sample = Sample { at, numbers };
        if self.samples.last() != Some(sample) {
            let version = self.next_version();
            self.samples.add(sample, version);
        }
    }

    pub(super) fn find(&self, message_id: &str) -> Option<&Message> {
        self.messages.get(*self.numbers.get(message_id)?)
    }

    fn send(&mut self, message_id: &str, queue: &str, at: f64, sent: Option<&SentMessage>) {
        let number = self.messages.next();
        let message = Message::new(number, message_id, queue, at, sent);
        if let Some(origin) = &message.origin {
            let before = self.lives.insert(origin.clone(), number);
            let version = self.next_version();
            let before = before.or_else(|| self.numbers.get(origin).copied());
            if let Some(before) = before.and_then(|before| self.messages.change(before, version)) {
                before.retried_as = Some(number);
            }
        }
        self.numbers.insert(message_id.to_owned(), number);
        let version = self.next_version();
        if let Some(gone) = self.messages.add(message, version) {
            self.numbers.remove(&gone.id);
            if let Some(origin) = gone.origin.filter(|origin| self.lives.get(origin) == Some(&gone.number)) {
                self.lives.remove(&origin);
            }
        }
    }

    /// Changes a message of this queue. A letter that SQS moved has the same id in another queue.
    fn message(&mut self, queue: &str, message_id: &str, change: impl FnOnce(&mut Message)) {
        let Some(number) = self.numbers.get(message_id).copied() else { return };
        if self.messages.get(number).is_some_and(|message| message.queue == queue) {
            let version = self.next_version();
            self.messages.change(number, version).map(change);
        }
    }

    /// Returns the number of an invocation. Events of its messages arrive before its own.
    fn invocation(&mut self, request_id: &str, at: f64) -> u64 {
        if let Some(number) = self.by_request.get(request_id) {
            return *number;
        }
        let number = self.invocations.next();
        self.by_request.insert(request_id.to_owned(), number);
        let version = self.next_version();
        if let Some(gone) = self.invocations.add(Invocation::new(number, request_id, at), version) {
            self.by_request.remove(&gone.request_id);
        }
        number
    }

    fn invoked(&mut self, request_id: &str, at: f64, change: impl FnOnce(&mut Invocation)) {
        let number = self.invocation(request_id, at);
        let version = self.next_version();
        self.invocations.change(number, version).map(change);
    }

    fn notice(&mut self, at: f64, text: String) {
        let (number, version) = (self.notices.next(), self.next_version());
        self.notices.add(Notice { number, at, text }, version);
    }

    fn next_version(&mut self) -> u64 {
        self.version += 1;
        self.version
    }
}

/// An invocation's bar on the page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Invocation {
    pub(super) number: u64,
    pub(super) request_id: String,
    pub(super) function: String,
    /// Start in simulated seconds since the start of the run.
    pub(super) at: f64,
    /// Number of messages in its batch.
    pub(super) messages: usize,
    /// Number of these messages that failed.
    pub(super) failed: usize,
    /// Duration in real time. None while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) duration_ms: Option<u64>,
    /// The problem of the whole invocation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) trouble: Option<String>,
}

impl Invocation {
    pub(super) fn new(number: u64, request_id: &str, at: f64) -> Self {
        Self {
            number,
            request_id: request_id.to_owned(),
            function: String::new(),
            at,
            messages: 0,
            failed: 0,
            duration_ms: None,
            trouble: None,
        }
    }
}

/// Returns the problem of a whole invocation, in a few words.
fn trouble(outcome: &InvocationOutcome) -> Option<String> {
    match outcome {
        InvocationOutcome::Succeeded => None,
        InvocationOutcome::BadResponse(what) => Some(format!("invalid response: {what}")),
        InvocationOutcome::Error(what) => Some(format!("error: {what}")),
        InvocationOutcome::NotStarted(failure) => Some(format!("did not start: {failure}")),
        InvocationOutcome::TimedOut => Some("timed out".to_owned()),
        InvocationOutcome::Exited(what) => Some(format!("ended: {what}")),
    }
}

#[cfg(test)]
mod tests;
