//! Sends messages to the queue with redrive-send.

use std::cell::Cell;
use std::io;
use std::pin::pin;
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use redrive_send::{NewMessage, SendError, Sender};
use redrive_sqs::{MAX_ENTRIES, cut_to};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::sleep;

use super::read::Given;
use crate::aws::{Aws, answered};
use crate::find::Queue;
use crate::problem::{OrProblem, Problem};
use crate::sqs::{Pace, Stop};

/// Time for the answers to calls under way after the end of the sending has begun.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// Number of messages in a row that are not sent in time after which the rest is not tried.
const MOST_LATE: usize = MAX_ENTRIES;

/// Result of a message.
#[derive(Debug)]
pub(super) enum SendResult<'a> {
    Sent { place: &'a str, message_id: String, may_be_twice: bool },
    Failed { place: &'a str, why: String },
}

/// Results of all messages.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) sent: usize,
    /// Those of the sent messages that the queue may have twice, because the answer to an earlier call was lost.
    pub(super) perhaps_twice: usize,
    pub(super) failed: usize,
    /// Messages that may have been sent, because the answer was lost.
    pub(super) unconfirmed: usize,
    /// Reason why the rest was not tried.
    pub(super) stopped: Option<String>,
}

impl Tally {
    pub(super) fn all(&self) -> usize {
        self.sent + self.failed + self.unconfirmed
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
            Self::Failed { place, why } => json!({ "place": place, "error": why }),
        }
    }
}

/// Sends all messages. Reports their results to `report`, in order. An error that concerns all ends the sending.
///
/// # Errors
/// `report` failed.
pub(super) async fn deliver<'a>(
    aws: &Aws,
    queue: &Queue,
    given: &'a [Given],
    rate: Option<f64>,
    stop: &Stop,
    mut report: impl FnMut(&SendResult<'a>) -> io::Result<()>,
) -> Result<Tally, Problem> {
    let (pace, taken, ends) = (&Pace::new(rate), &Cell::new(0), &watch::Sender::new(false));
    let ended = async || {
        let mut is_over = ends.subscribe();
        tokio::select! { () = stop.wanted() => {}, _ = is_over.wait_for(|is_over| *is_over) => {} }
    };
    let due = async |messages: &'a [Given]| {
        pace.wait(messages.len()).await;
        stream::iter(messages)
    };
    let messages = stream::iter(given.chunks(pace.most_at_once())).then(due).flatten();
    let messages = pin!(messages.take_until(ended()).map(|Given { place, message, .. }| {
        taken.set(taken.get() + 1);
        stop.begin(place.clone());
        NewMessage::from(message.clone())
    }));
    let mut results = pin!(Sender::new(aws.sqs(), &queue.url).send_stream(messages));
    let mut is_late = pin!(async {
        ended().await;
        sleep(LAST_ANSWERS).await;
    });
    let (mut tally, mut reported, mut late_in_a_row) = (Tally::default(), Ok(()), 0);
    let mut next = given.iter();
    loop {
        let result = tokio::select! {
            biased;
            result = results.next() => result,
            () = &mut is_late => None,
        };
        let Some((result, given)) = result.and_then(|result| Some((result, next.next()?))) else { break };
        let place = given.place.as_str();
        stop.settle(place);
        late_in_a_row = match &result {
            Err(SendError::NotInTime(_) | SendError::Unconfirmed(_)) => late_in_a_row + 1,
            _ => 0,
        };
        let unsent = match result {
            Ok(sent) => {
                tally.sent += 1;
                tally.perhaps_twice += usize::from(sent.may_be_twice);
                let (message_id, may_be_twice) = (sent.message_id, sent.may_be_twice);
                reported =
                    reported.and_then(|()| report(&SendResult::Sent { place, message_id, may_be_twice }));
                continue;
            }
            Err(unsent) => unsent,
        };
        let why = described(&unsent, given);
        match unsent {
            SendError::Unconfirmed(_) => tally.unconfirmed += 1,
            _ => tally.failed += 1,
        }
        let is_of_all = matches!(unsent, SendError::Denied(_));
        if is_of_all || late_in_a_row >= MOST_LATE {
            ends.send_replace(true);
            tally.stopped.get_or_insert_with(|| format!("could not send to {}: {why}", queue.name()));
        }
        if !is_of_all {
            // A closed stdout must not stop the sending halfway.
            reported = reported.and_then(|()| report(&SendResult::Failed { place, why }));
        }
    }
    for Given { place, .. } in next.by_ref().take(taken.get() - tally.all()) {
        tally.unconfirmed += 1;
        let why = "no answer yet; it may have been sent anyway".to_owned();
        reported = reported.and_then(|()| report(&SendResult::Failed { place, why }));
    }
    let rest = next.as_slice();
    tally.failed += rest.len();
    if stop.is_wanted() && tally.sent < given.len() {
        let before = rest.first().map(|first| format!(" before {}", first.place)).unwrap_or_default();
        tally.stopped.get_or_insert_with(|| format!("interrupted{before}"));
    }
    if tally.failed == 0 {
        reported.or_failed()?;
    }
    Ok(tally)
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
