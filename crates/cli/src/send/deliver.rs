//! Sends messages to the queue with redrive-send.

use std::pin::pin;
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use redrive_send::{NewMessage, SendError, Sender};
use redrive_sqs::{MAX_ENTRIES, cut_to};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;

use super::read::Given;
use crate::aws::{Aws, answered};
use crate::find::Queue;
use crate::sqs::Stop;

/// Number of messages in a row that were not sent in time, after which the rest is not tried.
const MOST_LATE: usize = MAX_ENTRIES;

/// Time in which a message behind them can show that SQS works.
const GRACE: Duration = Duration::from_secs(5);

/// Most bytes of a reason.
const LONGEST: usize = 500;

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
    /// Messages that were not sent for that reason.
    pub(super) untried: Vec<usize>,
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
            Self::Failed { place, why, .. } => json!({ "place": place, "error": why }),
        }
    }
}

/// Sends all messages, one call after the other, so that a standard queue has about the order of the file too. Reports their results to
/// `report`, in order. An error that concerns all ends the sending.
pub(super) async fn deliver<'a>(
    (aws, queue): (&Aws, &Queue),
    given: &'a [Given],
    rate: Option<f64>,
    stop: &Stop,
    mut report: impl FnMut(&SendResult<'a>),
) -> Tally {
    let sender = Sender::new(aws.sqs(), &queue.url).concurrency(1).timeout(aws.limit());
    let sender = rate.into_iter().fold(sender, Sender::rate);
    let ends = watch::Sender::new(false);
    let ended = pin!(async {
        let mut is_over = ends.subscribe();
        tokio::select! { () = stop.wanted() => {}, _ = is_over.wait_for(|is_over| *is_over) => {} }
    });
    let messages = stream::iter(given.iter().map(|given| NewMessage::from(given.message.clone())));
    let mut results = pin!(sender.send_stream_until(messages, ended).fuse());
    let (mut tally, mut late, mut is_denied) = (Tally::default(), None::<(usize, String)>, false);
    for (at, given) in given.iter().enumerate() {
        let place = given.place.as_str();
        let waiting = format!("{place} or one behind it");
        stop.begin(waiting.clone());
        let result = match late.take_if(|(count, _)| *count >= MOST_LATE) {
            None => results.next().await,
            Some((count, why)) => match timeout(GRACE, results.next()).await {
                Ok(result) => {
                    late = Some((count, why));
                    result
                }
                Err(_) => {
                    ends.send_replace(true);
                    tally.stopped = tally.stopped.or(Some(why).filter(|_| !stop.is_wanted()));
                    results.next().await
                }
            },
        };
        stop.settle(&waiting);
        let error = match result {
            Some(Ok(sent)) => {
                late = None;
                tally.sent += 1;
                tally.perhaps_again += usize::from(sent.may_be_twice);
                let (message_id, may_be_twice) = (sent.message_id, sent.may_be_twice);
                report(&SendResult::Sent { place, message_id, may_be_twice });
                continue;
            }
            Some(Err(error)) => error,
            None => SendError::Stopped,
        };
        let (reason, is_unconfirmed) = match &error {
            SendError::Unconfirmed(reason) => (&**reason, true),
            error => (error, false),
        };
        tally.unconfirmed += usize::from(is_unconfirmed);
        tally.failed += usize::from(!is_unconfirmed);
        match &error {
            SendError::Unconfirmed(_) | SendError::NotInTime(_) => {
                let count = late.map_or(0, |(count, _)| count);
                late = Some((count + 1, described(reason, given)));
            }
            SendError::Denied(_) if !std::mem::replace(&mut is_denied, true) => {
                ends.send_replace(true);
                tally.stopped = Some(described(reason, given));
            }
            _ => {}
        }
        let is_of_all = matches!(error, SendError::Denied(_) | SendError::Stopped);
        tally.untried.extend(is_of_all.then_some(at));
        report(&SendResult::Failed { place, why: described(&error, given), is_of_all });
    }
    tally
}

/// Names the places of messages, the first and the last of those that follow each other.
pub(super) fn ranges<'a>(given: &'a [Given], indices: &'a [usize]) -> impl Iterator<Item = String> + 'a {
    let runs = indices.chunk_by(|one, next| one + 1 == *next);
    runs.filter_map(|run| {
        let (first, last) = (&given[*run.first()?].place, &given[*run.last()?].place);
        Some(if run.len() == 1 { first.clone() } else { format!("{first} to {last}") })
    })
}

/// Returns the reason why a message is not known to be sent.
fn described(unsent: &SendError, given: &Given) -> String {
    match unsent {
        SendError::Denied(why) | SendError::Refused(why) | SendError::NotInTime(why) => of_sqs(why),
        SendError::Unconfirmed(why) => format!("{}; it may have been sent anyway", described(why, given)),
        SendError::Behind => {
            let group = cut_to(given.message.group_id.as_deref().unwrap_or_default(), 128);
            format!("not sent, because an earlier message of the group {group} is not known to be")
        }
        other => other.to_string(),
    }
}

/// Explains an error such as `AccessDenied: no permission`.
fn of_sqs(why: &str) -> String {
    let (code, said) = why.split_once(": ").map_or((why, None), |(code, said)| (code, Some(said)));
    let explained = match code.contains(' ') {
        false => answered(Some(code), said, "sqs:SendMessage"),
        true if why.starts_with("SQS did not answer") => format!("{why}: --timeout waits longer"),
        true => why.to_owned(),
    };
    cut_to(&explained, LONGEST).into_owned()
}
