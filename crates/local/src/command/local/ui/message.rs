//! A message's row on the page, with its history. Pure.

use serde::Serialize;

use crate::{Event, SentMessage};

/// Most characters of a body in a row. The page requests the rest on demand.
const BODY_BEGINNING: usize = 200;

/// Most attempts of a message that are shown. The latest are kept.
const MOST_ATTEMPTS: usize = 64;

/// A row of the page. Times are simulated seconds since the start.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Message {
    pub(super) number: u64,
    pub(super) id: String,
    pub(super) queue: String,
    pub(super) at: f64,
    /// End of the message's delay, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) delayed_until: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) group: Option<String>,
    /// The beginning of the body.
    pub(super) body: String,
    /// True if the body is longer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) cut: bool,
    /// The id of the original message, if this one was a dead letter before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) origin: Option<String>,
    pub(super) attempts: Vec<Attempt>,
    /// Number of earlier attempts that are not shown.
    pub(super) earlier: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) end: Option<End>,
    /// The number of the new message, if this one was sent back from the dead-letter queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) retried_as: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Attempt {
    pub(super) attempt: u32,
    pub(super) at: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ended: Option<f64>,
    pub(super) outcome: Outcome,
    /// Seconds for which the message is hidden afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) wait: Option<u64>,
    /// The number of the attempt's invocation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) invocation: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    /// The attempt has not ended.
    Running,
    Done,
    Failed,
    /// The function sent the message to the dead-letter queue.
    Dead,
    /// No function saw the message.
    Throttled,
    /// A worker made the message visible again at once.
    Released,
    /// A client of the endpoint received the message, not a function.
    Client,
}

/// The end of a message in its queue.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct End {
    pub(super) kind: EndKind,
    pub(super) at: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EndKind {
    Done,
    /// The message was deleted although it failed.
    Lost,
    Dead,
    FilteredOut,
    Expired,
}

impl Message {
    pub(super) fn new(number: u64, id: &str, queue: &str, at: f64, sent: Option<&SentMessage>) -> Self {
        let message = sent.map(|sent| &sent.message);
        let delay = message.and_then(|message| message.delay).filter(|delay| !delay.is_zero());
        Self {
            number,
            id: id.to_owned(),
            queue: queue.to_owned(),
            at,
            delayed_until: delay.map(|delay| at + delay.as_secs_f64()),
            group: message.and_then(|message| message.group_id.clone()),
            body: message
                .map(|message| message.body.chars().take(BODY_BEGINNING).collect())
                .unwrap_or_default(),
            cut: message.is_some_and(|message| message.body.chars().nth(BODY_BEGINNING).is_some()),
            origin: message
                .and_then(|message| super::letter::origin(&message.attributes))
                .map(|o| o.message_id),
            attempts: Vec::new(),
            earlier: 0,
            end: None,
            retried_as: None,
        }
    }

    pub(super) fn begin(&mut self, attempt: u32, at: f64, outcome: Outcome, invocation: Option<u64>) {
        if self.attempts.len() == MOST_ATTEMPTS {
            self.attempts.remove(0);
            self.earlier += 1;
        }
        let ended = (outcome == Outcome::Throttled).then_some(at);
        self.attempts.push(Attempt { attempt, at, ended, outcome, wait: None, invocation });
    }

    /// Ends an attempt if it runs. The next one may have begun while the batch was still running.
    pub(super) fn close(&mut self, attempt: u32, outcome: Outcome, at: f64) {
        let running = |each: &&mut Attempt| each.ended.is_none() && each.attempt == attempt;
        if let Some(attempt) = self.attempts.iter_mut().find(running) {
            (attempt.outcome, attempt.ended) = (outcome, Some(at));
        }
    }

    /// Hides the message from now on for this many seconds.
    pub(super) fn wait(&mut self, seconds: u64, at: f64) {
        if let Some(last) = self.attempts.last_mut() {
            // A client that hides the message again still has it.
            last.ended = last.ended.filter(|_| last.outcome != Outcome::Client).or(Some(at));
            last.wait = Some(seconds);
        }
    }

    /// Ends the message, and with it all its attempts.
    pub(super) fn end(&mut self, kind: EndKind, at: f64) -> &mut End {
        let outcome = match kind {
            EndKind::Done => Outcome::Done,
            EndKind::Dead => Outcome::Dead,
            EndKind::Lost | EndKind::FilteredOut | EndKind::Expired => Outcome::Failed,
        };
        for attempt in self.attempts.iter_mut().filter(|attempt| attempt.ended.is_none()) {
            (attempt.outcome, attempt.ended) = (outcome, Some(at));
        }
        self.end.insert(End { kind, at, reason: None, error: None })
    }
}

/// Returns the time of an event in seconds, rounded to milliseconds.
pub(super) fn seconds(event: &Event) -> f64 {
    (event.at.as_secs_f64() * 1_000.0).round() / 1_000.0
}
