//! Events as lines for people: which message, by the order of sending, and what became of it. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use redrive_local::{AlarmState, Event, EventKind, InvocationOutcome};

use super::line::{Line, Tone};

/// What has been told so far.
#[derive(Debug)]
pub(super) struct EventFormatter {
    /// The queues whose messages are told about. Dead-letter queues are not: a letter is told as its message's end.
    sources: Vec<String>,
    /// By message id.
    messages: BTreeMap<String, Known>,
    alarms: BTreeSet<String>,
    /// A failure, which the event that follows completes with the delay.
    failure: Option<Line>,
    pub(super) progress: Progress,
}

#[derive(Debug, Default)]
struct Known {
    number: usize,
    body: String,
}

/// How far it has come.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    pub(super) done: usize,
    pub(super) dead: usize,
    /// When each waiting message comes back.
    pub(super) back_at: BTreeMap<String, Duration>,
}

impl EventFormatter {
    pub(super) fn new(sources: Vec<String>) -> Self {
        Self {
            sources,
            messages: BTreeMap::new(),
            alarms: BTreeSet::new(),
            failure: None,
            progress: Progress::default(),
        }
    }

    /// Remembers the body of a message that is about to be told of.
    pub(super) fn expect(&mut self, message_id: &str, body: &str) {
        body.clone_into(&mut self.known(message_id).body);
    }

    /// The lines that an event completes, if any.
    pub(super) fn tell(&mut self, event: &Event) -> Vec<Line> {
        let failure = self.failure.take();
        match (&event.kind, failure) {
            (EventKind::BackIn { message_id, seconds, .. }, Some(mut failure))
                if failure.is_about(message_id) =>
            {
                self.progress.back_at.insert(message_id.clone(), event.at + Duration::from_secs(*seconds));
                failure.detail = match seconds {
                    0 => format!("{}, back at once", failure.detail),
                    seconds => format!("{}, back in {seconds} s", failure.detail),
                };
                vec![failure]
            }
            (EventKind::Failed { .. }, failure) => {
                self.failure = self.line(event);
                Vec::from_iter(failure)
            }
            (_, failure) => failure.into_iter().chain(self.line(event)).collect(),
        }
    }

    fn line(&mut self, event: &Event) -> Option<Line> {
        let at = event.at;
        let (message, tone, word, detail) = match &event.kind {
            EventKind::Sent { queue, message_id } if self.sources.contains(queue) => {
                let body = self.known(message_id).body.clone();
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
            EventKind::Expired { queue, message_id } if self.sources.contains(queue) => {
                self.ended(message_id);
                let detail = "its retention period ended".to_owned();
                (self.name(message_id), Tone::Bad, "expired", detail)
            }
            EventKind::InvocationEnded { function, outcome, failed, .. } => {
                let what = trouble(outcome)?;
                (None, Tone::Warning, "function", format!("{function} {what}; {failed} messages come back"))
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
            | EventKind::FilteredOut { .. }
            | EventKind::Expired { .. }
            | EventKind::InvocationStarted { .. }
            | EventKind::Output { .. } => return None,
        };
        Some(Line { at, message, tone, word, detail })
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

    /// That all is well is news only after an alarm.
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

fn trouble(outcome: &InvocationOutcome) -> Option<String> {
    match outcome {
        InvocationOutcome::Succeeded => None,
        InvocationOutcome::BadResponse(what) => Some(format!("returned an invalid response ({what})")),
        InvocationOutcome::Error(what) => Some(format!("failed ({what})")),
        InvocationOutcome::TimedOut => Some("timed out".to_owned()),
        InvocationOutcome::Exited(what) => Some(format!("ended ({what})")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tell(events: Vec<EventKind>) -> Vec<(Option<usize>, &'static str, String)> {
        let mut formatter = EventFormatter::new(vec!["orders".to_owned()]);
        formatter.expect("a", "{}");
        formatter.expect("b", "{}");
        let events = events.into_iter().enumerate();
        let lines =
            events.flat_map(|(at, kind)| formatter.tell(&Event { at: Duration::from_secs(at as u64), kind }));
        lines.map(|line| (line.message.map(|(number, _)| number), line.word, line.detail)).collect()
    }

    fn at_queue(queue: &str, message_id: &str) -> (String, String) {
        (queue.to_owned(), message_id.to_owned())
    }

    #[test]
    fn a_failure_and_its_delay_are_one_line() {
        let (queue, message_id) = at_queue("orders", "b");
        let lines = tell(vec![
            EventKind::Received {
                queue: queue.clone(),
                message_id: message_id.clone(),
                attempt: 3,
                request_id: None,
            },
            EventKind::Failed { queue: queue.clone(), message_id: message_id.clone(), attempt: 3 },
            EventKind::BackIn { queue, message_id, seconds: 8 },
        ]);
        let received = (Some(2), "received", "attempt 3".to_owned());
        assert_eq!(lines, [received, (Some(2), "failed", "attempt 3, back in 8 s".to_owned())]);
    }

    #[test]
    fn a_failure_without_a_delay_is_told_before_what_follows() {
        let failed = |message_id: &str| {
            let (queue, message_id) = at_queue("orders", message_id);
            EventKind::Failed { queue, message_id, attempt: 1 }
        };
        let (queue, message_id) = at_queue("orders", "b");
        let lines = tell(vec![failed("a"), failed("b"), EventKind::Done { queue, message_id, attempt: 2 }]);
        let told: Vec<_> = lines.iter().map(|(number, word, _)| (*number, *word)).collect();
        assert_eq!(told, [(Some(1), "failed"), (Some(2), "failed"), (Some(2), "done")]);
    }

    #[test]
    fn a_letter_is_told_as_the_end_of_its_message() {
        let (queue, message_id) = at_queue("orders", "a");
        let reason = "rejected".to_owned();
        let lines = tell(vec![
            EventKind::Sent { queue: "orders-dead".to_owned(), message_id: "letter".to_owned() },
            EventKind::DeadLettered {
                queue,
                message_id,
                attempt: 1,
                reason,
                error: Some("no such card".to_owned()),
            },
        ]);
        assert_eq!(lines, [(Some(1), "dead-lettered", "attempt 1, rejected: no such card".to_owned())]);
    }

    #[test]
    fn an_alarm_that_is_over_is_told_but_not_one_that_never_was() {
        let alarm = |state| EventKind::Alarm { name: "Dead".to_owned(), state, reason: "why".to_owned() };
        let states =
            [AlarmState::Ok, AlarmState::Alarm, AlarmState::Ok, AlarmState::InsufficientData, AlarmState::Ok];
        let lines = tell(states.into_iter().map(alarm).collect());
        let words: Vec<_> = lines.into_iter().map(|(_, word, _)| word).collect();
        assert_eq!(words, ["ALARM", "OK"]);
    }

    #[test]
    fn a_message_that_no_invocation_saw_is_told_with_the_reason() {
        let (queue, message_id) = at_queue("orders", "a");
        let filtered =
            EventKind::FilteredOut { queue: queue.clone(), message_id: message_id.clone(), attempt: 1 };
        let throttled = EventKind::NotDelivered { queue, message_id, attempt: 2 };
        let words: Vec<_> = tell(vec![throttled, filtered]).into_iter().map(|(_, word, _)| word).collect();
        assert_eq!(words, ["throttled", "filtered out"]);
    }

    #[test]
    fn only_an_invocation_in_trouble_is_told() {
        let ended = |outcome| EventKind::InvocationEnded {
            function: "orders".to_owned(),
            request_id: "1".to_owned(),
            outcome,
            failed: 2,
            duration_ms: 5,
        };
        let lines = tell(vec![ended(InvocationOutcome::Succeeded), ended(InvocationOutcome::TimedOut)]);
        assert_eq!(lines, [(None, "function", "orders timed out; 2 messages come back".to_owned())]);
    }
}
