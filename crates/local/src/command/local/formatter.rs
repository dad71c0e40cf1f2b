//! Formats events as lines for people: the message's number in the order of sending, and what happened to it. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::line::{EventLine, Tone};
use crate::{AlarmState, Event, EventKind, InvocationOutcome};

/// Formats events with the memory of earlier ones.
#[derive(Debug)]
pub(super) struct EventFormatter {
    /// The queues whose messages are shown. Dead-letter queues are left out, because a letter is shown as its message's end.
    sources: Vec<String>,
    /// Messages by id.
    messages: BTreeMap<String, Known>,
    alarms: BTreeSet<String>,
    /// The last lines of functions that did not start and of workers that ended, as last shown.
    last_output: BTreeMap<String, Vec<String>>,
    /// A failure, to which the next event adds the delay.
    failure: Option<EventLine>,
    pub(super) progress: Progress,
}

#[derive(Debug, Default)]
struct Known {
    number: usize,
    body: String,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    pub(super) done: usize,
    pub(super) dead: usize,
    /// Messages that were deleted although they failed.
    pub(super) lost: usize,
    /// Time at which each waiting message returns.
    pub(super) back_at: BTreeMap<String, Duration>,
}

impl EventFormatter {
    pub(super) fn new(sources: Vec<String>) -> Self {
        Self {
            sources,
            messages: BTreeMap::new(),
            alarms: BTreeSet::new(),
            last_output: BTreeMap::new(),
            failure: None,
            progress: Progress::default(),
        }
    }

    pub(super) fn shows(&self, queue: &str) -> bool {
        self.sources.iter().any(|source| source == queue)
    }

    /// Remembers the body of a message before its events.
    pub(super) fn expect(&mut self, message_id: &str, body: &str) {
        body.clone_into(&mut self.known(message_id).body);
    }

    /// Returns the lines that an event completes, if any.
    pub(super) fn format(&mut self, event: &Event) -> Vec<EventLine> {
        let failure = self.failure.take();
        match (&event.kind, failure) {
            (EventKind::BackIn { message_id, seconds, .. }, Some(mut failure))
                if failure.is_about(message_id) =>
            {
                self.progress.back_at.insert(message_id.clone(), event.at + Duration::from_secs(*seconds));
                failure.detail = format!("{}, {}", failure.detail, back(*seconds));
                vec![failure]
            }
            (EventKind::Failed { .. }, failure) => {
                self.failure = self.line(event);
                Vec::from_iter(failure)
            }
            (_, failure) => {
                let lines = failure.into_iter().chain(self.line(event));
                lines.collect::<Vec<_>>().into_iter().chain(self.last_output(event)).collect()
            }
        }
    }

    /// Returns the output of a function that did not start, or of a worker that ended by itself, unless it is the same as
    /// before.
    fn last_output(&mut self, event: &Event) -> Vec<EventLine> {
        let (name, output) = match &event.kind {
            EventKind::InvocationEnded {
                function, outcome: InvocationOutcome::NotStarted(failure), ..
            } => (function, &failure.output),
            EventKind::WorkerEnded { worker, output, restart_in: Some(_), .. } => (worker, output),
            _ => return Vec::new(),
        };
        let shown = self.last_output.insert(name.clone(), output.clone());
        let new = if shown.as_ref() == Some(output) { &[] } else { &output[..] };
        let line = |text: &String| {
            let (tone, detail) = (Tone::Quiet, format!("| {text}"));
            EventLine { at: event.at, message: None, tone, word: "", detail }
        };
        new.iter().map(line).collect()
    }

    fn line(&mut self, event: &Event) -> Option<EventLine> {
        let at = event.at;
        let (message, tone, word, detail) = match &event.kind {
            EventKind::Sent { queue, message_id } if self.sources.contains(queue) => {
                let body = std::mem::take(&mut self.known(message_id).body);
                let to = if self.sources.len() > 1 { format!("to {queue} ") } else { String::new() };
                (self.name(message_id), Tone::Quiet, "sent", format!("{to}{body}"))
            }
            EventKind::FilteredOut { queue, message_id, .. } if self.sources.contains(queue) => {
                self.ended(message_id);
                let detail = "no filter matches it".to_owned();
                (self.name(message_id), Tone::Quiet, "filtered out", detail)
            }
            EventKind::NotDelivered { message_id, attempt, .. } => {
                let detail = format!("attempt {attempt} is used up: its function was throttled");
                (self.name(message_id), Tone::Warning, "throttled", detail)
            }
            EventKind::Throttled { function, messages } => {
                let detail = format!("{function} is throttled with {messages} messages");
                (None, Tone::Warning, "throttled", detail)
            }
            EventKind::Received { queue, message_id, attempt, .. } if self.sources.contains(queue) => {
                self.progress.back_at.remove(message_id);
                (self.name(message_id), Tone::Quiet, "received", format!("attempt {attempt}"))
            }
            EventKind::BackIn { queue, message_id, seconds } if self.sources.contains(queue) => {
                (self.name(message_id), Tone::Quiet, "hidden", format!("back in {seconds} s"))
            }
            EventKind::Failed { message_id, attempt, .. } => {
                (self.name(message_id), Tone::Warning, "failed", format!("attempt {attempt}"))
            }
            EventKind::Done { queue, message_id, attempt } if self.sources.contains(queue) => {
                self.ended(message_id);
                self.progress.done += 1;
                (self.name(message_id), Tone::Good, "done", format!("attempt {attempt}"))
            }
            EventKind::DeletedAlthoughFailed { queue, message_id, attempt }
                if self.sources.contains(queue) =>
            {
                self.ended(message_id);
                self.progress.lost += 1;
                let detail = format!("deleted although it failed, attempt {attempt}");
                (self.name(message_id), Tone::Bad, "lost", detail)
            }
            EventKind::DeadLettered { message_id, attempt, reason, error, .. } => {
                self.ended(message_id);
                self.progress.dead += 1;
                let error = error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
                (
                    self.name(message_id),
                    Tone::Bad,
                    "dead-lettered",
                    format!("attempt {attempt}, {reason}{error}"),
                )
            }
            EventKind::Released { queue, message_id, attempt, seconds } if self.sources.contains(queue) => {
                if *seconds > 0 {
                    let back_at = at + Duration::from_secs(*seconds);
                    self.progress.back_at.insert(message_id.clone(), back_at);
                }
                let detail = format!("attempt {attempt}, {}", back(*seconds));
                (self.name(message_id), Tone::Quiet, "released", detail)
            }
            EventKind::Expired { queue, message_id } if self.sources.contains(queue) => {
                self.ended(message_id);
                let detail = "its retention period ended".to_owned();
                (self.name(message_id), Tone::Bad, "expired", detail)
            }
            EventKind::InvocationEnded { function, outcome, failed, .. } => {
                let what = trouble(outcome)?;
                (None, Tone::Warning, "function", format!("{function} {what}; {failed} messages come back"))
            }
            EventKind::WorkerStarted { worker, queue } => {
                (None, Tone::Quiet, "worker", format!("{worker} has started, for {queue}"))
            }
            EventKind::WorkerEnded { worker, status, restart_in, .. } => {
                let (tone, then) = match restart_in {
                    Some(seconds) => (Tone::Warning, format!("; it is started again in {seconds} s")),
                    None => (Tone::Quiet, String::new()),
                };
                (None, tone, "worker", format!("{worker} has ended ({status}){then}"))
            }
            EventKind::Alarm { name, state, reason } => {
                let (tone, word) = self.alarm(name, *state)?;
                (None, tone, word, format!("{name}: {reason}"))
            }
            EventKind::CallFailed { queue, operation, reason } => {
                (None, Tone::Warning, "call failed", format!("{operation} of {queue}: {reason}"))
            }
            EventKind::GaveUp { function, reason } => {
                (None, Tone::Bad, "gave up", format!("{function} does not start: {reason}"))
            }
            EventKind::Sent { .. }
            | EventKind::Received { .. }
            | EventKind::BackIn { .. }
            | EventKind::Done { .. }
            | EventKind::DeletedAlthoughFailed { .. }
            | EventKind::FilteredOut { .. }
            | EventKind::Released { .. }
            | EventKind::Expired { .. }
            | EventKind::InvocationStarted { .. }
            | EventKind::Output { .. } => return None,
        };
        Some(EventLine { at, message, tone, word, detail })
    }

    fn known(&mut self, message_id: &str) -> &mut Known {
        let number = self.messages.len() + 1;
        self.messages.entry(message_id.to_owned()).or_insert_with(|| Known { number, ..Known::default() })
    }

    fn name(&mut self, message_id: &str) -> Option<(usize, String)> {
        Some((self.known(message_id).number, message_id.to_owned()))
    }

    fn ended(&mut self, message_id: &str) {
        self.progress.back_at.remove(message_id);
    }

    /// Returns the word for an alarm's state. OK is news only after an alarm.
    fn alarm(&mut self, name: &str, state: AlarmState) -> Option<(Tone, &'static str)> {
        match state {
            AlarmState::Alarm => {
                self.alarms.insert(name.to_owned());
                Some((Tone::Bad, "ALARM"))
            }
            AlarmState::Ok => self.alarms.remove(name).then_some((Tone::Good, "OK")),
            AlarmState::InsufficientData => None,
        }
    }
}

fn back(seconds: u64) -> String {
    if seconds == 0 { "back at once".to_owned() } else { format!("back in {seconds} s") }
}

fn trouble(outcome: &InvocationOutcome) -> Option<String> {
    match outcome {
        InvocationOutcome::Succeeded => None,
        InvocationOutcome::BadResponse(what) => Some(format!("returned an invalid response ({what})")),
        InvocationOutcome::Error(what) => Some(format!("failed ({what})")),
        InvocationOutcome::NotStarted(failure) => Some(format!("did not start: {}", failure.reason)),
        InvocationOutcome::TimedOut => Some("timed out".to_owned()),
        InvocationOutcome::Exited(what) => Some(format!("ended ({what})")),
    }
}

#[cfg(test)]
mod tests;
