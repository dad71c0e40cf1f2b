//! Sends batches of messages to the queue.

use std::collections::BTreeSet;
use std::io;

use anyhow::anyhow;
use redrive_sqs::cut_to;
use serde_json::{Value, json};

use super::read::Given;
use crate::aws::Aws;
use crate::find::Queue;
use crate::problem::{OrProblem, Problem};
use crate::sqs::{OnLostAnswer, Outcome, Pace, Sender, Stop};

/// Result of a message.
#[derive(Debug)]
pub(super) enum SendResult<'a> {
    Sent { place: &'a str, message_id: Option<String> },
    Failed { place: &'a str, why: String },
}

/// Results of all messages.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) sent: usize,
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
            Self::Sent { place, message_id } => json!({ "place": place, "message_id": message_id }),
            Self::Failed { place, why } => json!({ "place": place, "error": why }),
        }
    }
}

/// Sends all messages in order. Reports errors of single messages to `report`. An error that concerns all ends the sending.
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
    let pace = Pace::new(rate);
    let mut sender = Sender::new(aws.sqs(), queue, &pace, stop, OnLostAnswer::End);
    let (mut tally, mut reported) = (Tally::default(), Ok(()));
    // Messages that were sent although an earlier one still waits.
    let mut ahead = BTreeSet::new();
    let mut next = 0;
    loop {
        let mut outcomes = Vec::new();
        while next < given.len() && !sender.is_full() {
            let Given { message, .. } = &given[next];
            if !sender.push(next, super::group(message, queue), message.clone()) {
                outcomes.push((next, Outcome::Behind));
            }
            next += 1;
        }
        let begin = |index: usize| {
            stop.begin(given[index].place.clone());
            true
        };
        let step = sender.next(begin, async || ()).await;
        let is_over = step.is_none();
        let mut step = step.unwrap_or_default();
        outcomes.append(&mut step.outcomes);
        let mut lost = Vec::new();
        for (index, outcome) in outcomes {
            let place = given[index].place.as_str();
            stop.settle(place);
            let is_unconfirmed = matches!(outcome, Outcome::Perhaps(_));
            let why = match outcome {
                Outcome::Done(message_id) => {
                    tally.sent += 1;
                    ahead.insert(index);
                    reported = reported.and_then(|()| report(&SendResult::Sent { place, message_id }));
                    continue;
                }
                Outcome::Perhaps(_) if step.fatal.is_some() => {
                    lost.push(index);
                    continue;
                }
                Outcome::Failed(why) => why,
                Outcome::Perhaps(why) => format!("{why}; it may have been sent anyway"),
                Outcome::Behind | Outcome::NotTried => {
                    let group = cut_to(given[index].message.group_id.as_deref().unwrap_or_default(), 128);
                    format!("not sent, because an earlier message of the group {group} was not")
                }
            };
            if is_unconfirmed {
                tally.unconfirmed += 1;
            } else {
                tally.failed += 1;
            }
            // A closed stdout must not stop the sending halfway.
            reported = reported.and_then(|()| report(&SendResult::Failed { place, why }));
        }
        let waiting = sender.rest().first().copied();
        let interrupted =
            waiting.filter(|_| is_over).map(|first| anyhow!("interrupted before {}", given[first].place));
        let first = lost.iter().copied().chain(waiting).min().unwrap_or(next);
        ahead = ahead.split_off(&first);
        if let Some(error) = step.fatal.or(interrupted) {
            tally.unconfirmed += lost.len();
            tally.failed = given.len() - tally.sent - tally.unconfirmed;
            let first = given.get(first).map_or("", |given| &given.place);
            let lost = named(given, lost).map(|places| format!("{places}: it may have been sent anyway: "));
            let ahead =
                named(given, ahead).map(|places| format!("; {places} behind {first} had already been sent"));
            tally.stopped =
                Some(format!("{}{error:#}{}", lost.unwrap_or_default(), ahead.unwrap_or_default()));
            return Ok(tally);
        }
        if is_over && next == given.len() {
            break;
        }
    }
    if tally.failed == 0 {
        reported.or_failed()?;
    }
    Ok(tally)
}

/// Names the places of messages in their files. Returns none if there are none.
fn named(given: &[Given], indices: impl IntoIterator<Item = usize>) -> Option<String> {
    let places: Vec<_> = indices.into_iter().map(|index| given[index].place.as_str()).collect();
    (!places.is_empty()).then(|| places.join(", "))
}
