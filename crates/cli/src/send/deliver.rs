//! Sends messages to the queue with redrive-send.

use std::pin::pin;

use futures_util::stream::{self, StreamExt};
use redrive_send::{NewMessage, SendError, Sender};
use redrive_sqs::{MAX_ENTRIES, cut_to};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::read::Given;
use crate::aws::{Aws, answered};
use crate::find::Queue;
use crate::sqs::Stop;

/// Number of calls at a time: the bodies of four may have 4 MiB.
const CALLS: usize = 4;

/// Number of messages not sent in time, and none sent meanwhile, after which the rest is not tried.
const MOST_LATE: usize = MAX_ENTRIES;

/// Number of places that are named of messages that were not tried.
const MOST_RANGES: usize = 10;

/// Result of a message.
#[derive(Debug)]
pub(super) enum SendResult<'a> {
    Sent {
        place: &'a str,
        message_id: String,
        may_be_twice: bool,
    },
    /// `is_of_all` is true if the reason concerns all messages that follow.
    Failed {
        place: &'a str,
        why: String,
        is_of_all: bool,
    },
}

/// Results of all messages.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) sent: usize,
    /// Those of the sent messages that the queue may have more than once, because the answer to an earlier call was lost.
    pub(super) perhaps_again: usize,
    pub(super) failed: usize,
    /// Messages that may have been sent, because the answer was lost.
    pub(super) unconfirmed: usize,
    /// Reason why the rest was not tried.
    pub(super) stopped: Option<String>,
    /// Places of the messages that were not sent for that reason.
    pub(super) untried: Option<String>,
}

impl Tally {
    pub(super) fn all(&self) -> usize {
        self.sent + self.failed + self.unconfirmed
    }

    /// Ends the sending, for the first reason.
    fn stop(&mut self, ends: &watch::Sender<bool>, why: impl FnOnce() -> String) {
        ends.send_replace(true);
        self.stopped.get_or_insert_with(why);
    }

    /// Describes the messages that were not confirmed, if there are any: `1 of 3 messages was not sent`.
    pub(super) fn missing(&self) -> Option<String> {
        let of = |count: usize, one: &str, many: &str| {
            let what = if count == 1 { one } else { many };
            (count > 0).then(|| format!("{count} of {} messages {what}", self.all()))
        };
        let failed = of(self.failed, "was not sent", "were not sent");
        let unconfirmed = of(self.unconfirmed, "is not confirmed", "are not confirmed");
        let missing: Vec<String> = failed.into_iter().chain(unconfirmed).collect();
        (!missing.is_empty()).then(|| missing.join(", "))
    }
}

impl SendResult<'_> {
    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::Sent { place, message_id, may_be_twice: false } => {
                json!({ "place": place, "message_id": message_id })
            }
            Self::Sent { place, message_id, may_be_twice: true } => {
                json!({ "place": place, "message_id": message_id, "may_be_twice": true })
            }
            Self::Failed { place, why, .. } => json!({ "place": place, "error": why }),
        }
    }
}

/// Sends all messages. Reports their results to `report`, in order. An error that concerns all ends the sending.
pub(super) async fn deliver<'a>(
    (aws, queue): (&Aws, &Queue),
    given: &'a [Given],
    rate: Option<f64>,
    stop: &Stop,
    mut report: impl FnMut(&SendResult<'a>),
) -> Tally {
    let sender = Sender::new(aws.sqs(), &queue.url).concurrency(CALLS).timeout(aws.limit());
    let sender = rate.into_iter().fold(sender, Sender::rate);
    let ends = watch::Sender::new(false);
    let ended = pin!(async {
        let mut is_over = ends.subscribe();
        tokio::select! { () = stop.wanted() => {}, _ = is_over.wait_for(|is_over| *is_over) => {} }
    });
    let messages = stream::iter(given.iter().map(|given| NewMessage::from(given.message.clone())));
    let mut results = pin!(sender.send_stream_until(messages, ended).fuse());
    let (mut tally, mut late, mut untried) = (Tally::default(), 0, Vec::new());
    for (at, given) in given.iter().enumerate() {
        let place = given.place.as_str();
        stop.begin(format!("{place} or one behind it"));
        let result = results.next().await;
        stop.on_its_way().clear();
        let error = match result {
            Some(Ok(sent)) => {
                late = 0;
                tally.sent += 1;
                tally.perhaps_again += usize::from(sent.may_be_twice);
                let (message_id, may_be_twice) = (sent.message_id, sent.may_be_twice);
                report(&SendResult::Sent { place, message_id, may_be_twice });
                continue;
            }
            Some(Err(error)) => error,
            None => SendError::Stopped,
        };
        let why = described(&error, given);
        match &error {
            SendError::Unconfirmed(reason) => {
                tally.unconfirmed += 1;
                late += 1;
                if late >= MOST_LATE {
                    tally.stop(&ends, || described(reason, given));
                }
            }
            SendError::NotInTime(_) => {
                tally.failed += 1;
                late += 1;
                if late >= MOST_LATE {
                    tally.stop(&ends, || why.clone());
                }
            }
            SendError::Denied(_) => {
                tally.failed += 1;
                tally.stop(&ends, || why.clone());
            }
            _ => tally.failed += 1,
        }
        let is_of_all = matches!(error, SendError::Denied(_) | SendError::Stopped);
        untried.extend(is_of_all.then_some(at));
        report(&SendResult::Failed { place, why, is_of_all });
    }
    let places = ranges(given, &untried);
    tally.untried = (!untried.is_empty()).then_some(places);
    tally
}

/// Names the places of messages, the first and the last of those that follow each other.
fn ranges(given: &[Given], indices: &[usize]) -> String {
    let runs = indices.chunk_by(|one, next| one + 1 == *next);
    let named = |run: &[usize]| match run {
        [one] => given[*one].place.clone(),
        [first, .., last] => format!("{} to {}", given[*first].place, given[*last].place),
        [] => String::new(),
    };
    let mut named: Vec<_> = runs.map(named).collect();
    let more = named.len().saturating_sub(MOST_RANGES);
    named.truncate(MOST_RANGES);
    named.extend((more > 0).then(|| format!("and {more} more")));
    named.join(", ")
}

/// Returns the reason why a message is not known to be sent.
fn described(unsent: &SendError, given: &Given) -> String {
    match unsent {
        SendError::Denied(why) | SendError::Refused(why) | SendError::NotInTime(why) => of_sqs(why),
        SendError::Unconfirmed(why) => format!("{}; it may have been sent anyway", described(why, given)),
        SendError::Behind => {
            let group = cut_to(given.message.group_id.as_deref().unwrap_or_default(), 128);
            format!("not sent, because an earlier message of the group {group} was not")
        }
        other => other.to_string(),
    }
}

/// Explains an error such as `AccessDenied: no permission`.
fn of_sqs(why: &str) -> String {
    match why.split_once(": ") {
        Some((code, said)) if !code.contains(' ') => answered(Some(code), Some(said), "sqs:SendMessage"),
        _ => why.to_owned(),
    }
}
