//! One message as the page shows it: what happened to it, from its sending to its end. Pure.

use serde::Serialize;

use crate::{Event, SentMessage};

/// So many characters of a body are in each row; the rest is read on demand.
const BODY_BEGINNING: usize = 200;

/// So many attempts of a message are shown: the latest.
const MOST_ATTEMPTS: usize = 64;

/// A row of the page. Times are simulated seconds since the start.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Message {
    pub(super) number: u64,
    pub(super) id: String,
    pub(super) queue: String,
    pub(super) at: f64,
    /// Hidden at first, until this moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) delayed_until: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) group: Option<String>,
    /// Its beginning.
    pub(super) body: String,
    /// Whether it goes on.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) cut: bool,
    /// The id of its first life, if it was a dead letter before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) origin: Option<String>,
    pub(super) attempts: Vec<Attempt>,
    /// How many attempts came before those.
    pub(super) earlier: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) end: Option<End>,
    /// The number of the message that it became when it was sent back from the dead letters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) retried_as: Option<u64>,
}

/// One delivery.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Attempt {
    pub(super) attempt: u32,
    pub(super) at: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ended: Option<f64>,
    pub(super) outcome: Outcome,
    /// For how many seconds it is hidden after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) wait: Option<u64>,
    /// The number of its invocation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) invocation: Option<u64>,
}

/// What came of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    /// It has yet to end.
    Running,
    Done,
    Failed,
    /// The function sent it to the dead letters.
    Dead,
    /// No function saw it.
    Throttled,
    /// A worker handed it back, to be visible at once.
    Released,
    /// Not a function, but a client of the endpoint received it.
    Client,
}

/// How a message left its queue.
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
    /// Deleted although it failed.
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

    /// Ends an attempt, if it runs. Another one may have begun while its batch went on.
    pub(super) fn close(&mut self, attempt: u32, outcome: Outcome, at: f64) {
        let running = |each: &&mut Attempt| each.ended.is_none() && each.attempt == attempt;
        if let Some(attempt) = self.attempts.iter_mut().find(running) {
            (attempt.outcome, attempt.ended) = (outcome, Some(at));
        }
    }

    /// It is hidden from now on for so long.
    pub(super) fn wait(&mut self, seconds: u64, at: f64) {
        if let Some(last) = self.attempts.last_mut() {
            // A client that hides it again has it still.
            last.ended = last.ended.filter(|_| last.outcome != Outcome::Client).or(Some(at));
            last.wait = Some(seconds);
        }
    }

    /// It is gone, so that no attempt at it goes on.
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

/// The time of an event as rows have it: milliseconds are all that can be seen.
pub(super) fn seconds(event: &Event) -> f64 {
    (event.at.as_secs_f64() * 1_000.0).round() / 1_000.0
}
