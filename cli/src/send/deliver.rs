//! Batch after batch to the queue.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Duration;

use anyhow::anyhow;
use aws_sdk_sqs::types::BatchResultErrorEntry;
use serde_json::json;
use tokio::time::Instant;

use super::batch::batches;
use super::entry::entry;
use super::read::Sending;
use crate::aws::{Aws, Outlook, Said, answered_of, may_go_better, send_batch as send_batch_of};
use crate::find::Queue;
use crate::problem::{OrProblem, Problem};
use crate::stop::Stop;

/// How often a message is tried that SQS could not take for a reason of its own.
const TRIES: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(200);

const PERHAPS: &str = "it may have been sent anyway";

/// What became of one message.
#[derive(Debug)]
pub(super) enum Outcome<'a> {
    Sent { sending: &'a Sending, message_id: String },
    Failed { sending: &'a Sending, why: String },
}

/// What became of all.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) sent: usize,
    pub(super) failed: usize,
    /// Why the rest was not tried.
    pub(super) stopped: Option<String>,
}

impl Tally {
    pub(super) fn all(&self) -> usize {
        self.sent + self.failed
    }
}

impl Outcome<'_> {
    pub(super) fn to_json(&self) -> String {
        match self {
            Self::Sent { sending, message_id } => json!({ "place": sending.place, "message_id": message_id }),
            Self::Failed { sending, why } => json!({ "place": sending.place, "error": why }),
        }
        .to_string()
    }
}

/// Sends all of them in their order. What concerns one message is told of it, what concerns all ends the sending.
///
/// # Errors
/// Telling failed.
pub(super) async fn deliver<'a>(
    aws: &Aws,
    queue: &Queue,
    sendings: &'a [Sending],
    rate: Option<f64>,
    stop: &Stop,
    mut tell: impl FnMut(&Outcome<'a>) -> io::Result<()>,
) -> Result<Tally, Problem> {
    let begun = Instant::now();
    let mut tally = Tally::default();
    let mut broken_groups = BTreeSet::new();
    let mut told = Ok(());
    for batch in batches(sendings, queue.is_fifo(), rate) {
        let due = rate.map(|rate| begun + Duration::from_secs_f64(tally.all() as f64 / rate));
        let is_due = tokio::select! {
            biased;
            () = stop.wanted() => false,
            () = tokio::time::sleep_until(due.unwrap_or(begun)) => true,
        };
        let (outcomes, fatal) = if is_due {
            stop.sending(places(batch));
            send_batch(aws, queue, batch, &mut broken_groups).await
        } else {
            (vec![], Some(anyhow!("interrupted before {}", batch[0].place)))
        };
        stop.sending(String::new());
        for outcome in outcomes {
            match outcome {
                Outcome::Sent { .. } => tally.sent += 1,
                Outcome::Failed { .. } => tally.failed += 1,
            }
            // That nobody reads it any more is no reason to send only some.
            if told.is_ok() {
                told = tell(&outcome);
            }
        }
        if let Some(error) = fatal {
            tally.failed = sendings.len() - tally.sent;
            tally.stopped = Some(format!("{error:#}"));
            return Ok(tally);
        }
    }
    if tally.failed == 0 {
        told.or_failed()?;
    }
    Ok(tally)
}

/// What became of its messages, and what ends the sending, of which nothing came for the others.
async fn send_batch<'a>(
    aws: &Aws,
    queue: &Queue,
    batch: &'a [Sending],
    broken_groups: &mut BTreeSet<String>,
) -> (Vec<Outcome<'a>>, Option<anyhow::Error>) {
    let mut outcomes = BTreeMap::new();
    let mut pending: Vec<usize> = (0..batch.len()).collect();
    let mut pause = FIRST_PAUSE;
    for attempt in 1..=TRIES {
        pending.retain(|index| match group(queue, &batch[*index], broken_groups) {
            Some(group) => {
                let why = format!("not sent, because one before it of the group {group} was not");
                outcomes.insert(*index, Outcome::Failed { sending: &batch[*index], why });
                false
            }
            None => true,
        });
        if pending.is_empty() {
            break;
        }
        let mut again = Vec::new();
        let (results, fatal) = send(aws, queue, batch, &pending).await;
        for (index, result) in results {
            let sending = &batch[index];
            match result {
                Ok(message_id) => {
                    outcomes.insert(index, Outcome::Sent { sending, message_id });
                }
                Err(refusal) if refusal.may_go_better && attempt < TRIES => again.push(index),
                Err(refusal) => {
                    if queue.is_fifo() {
                        broken_groups.extend(sending.message.group_id.clone());
                    }
                    outcomes.insert(index, Outcome::Failed { sending, why: refusal.why });
                }
            }
        }
        if fatal.is_some() {
            return (outcomes.into_values().collect(), fatal);
        }
        pending = again;
        if !pending.is_empty() {
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    }
    (outcomes.into_values().collect(), None)
}

/// The group of a message behind one that was not sent.
fn group<'a>(queue: &Queue, sending: &'a Sending, broken: &BTreeSet<String>) -> Option<&'a str> {
    let group = sending.message.group_id.as_deref().filter(|_| queue.is_fifo())?;
    broken.contains(group).then_some(group)
}

/// Why SQS did not take one message.
#[derive(Debug)]
struct Refusal {
    why: String,
    may_go_better: bool,
}

/// Of the messages of which something is known, and what ends the sending.
type Results = (Vec<(usize, Result<String, Refusal>)>, Option<anyhow::Error>);

/// One request; a refusal of it for one message's sake is repeated with each message alone.
async fn send(aws: &Aws, queue: &Queue, batch: &[Sending], indices: &[usize]) -> Results {
    let entries: Vec<_> = indices.iter().map(|index| entry(*index, &batch[*index].message)).collect();
    let sent = send_batch_of(&aws.sqs(), &queue.url, entries).await;
    let perhaps_done = sent.as_ref().is_err_and(Outlook::perhaps_done);
    let is_of_one = sent.as_ref().is_err_and(Outlook::is_about_an_entry);
    let sent = sent.said(&format!("send to the queue {}", queue.name()), "sqs:SendMessage");
    match (sent, indices) {
        (Ok(sent), _) => {
            let index = |id: &str| id.parse::<usize>().unwrap_or_default();
            let successful =
                sent.successful.into_iter().map(|entry| (index(&entry.id), Ok(entry.message_id)));
            let failed = sent.failed.into_iter().map(|entry| (index(&entry.id), Err(Refusal::new(&entry))));
            let mut results: Vec<_> = successful.chain(failed).collect();
            let answered: BTreeSet<_> = results.iter().map(|(index, _)| *index).collect();
            let silent = indices.iter().filter(|index| !answered.contains(index));
            let why = format!("the answer of SQS leaves it out; {PERHAPS}");
            results.extend(
                silent.map(|index| (*index, Err(Refusal { why: why.clone(), may_go_better: false }))),
            );
            (results, None)
        }
        (Err(error), [index]) if is_of_one => {
            (vec![(*index, Err(Refusal { why: format!("{error:#}"), may_go_better: false }))], None)
        }
        (Err(_), several) if is_of_one => {
            let mut results = Vec::new();
            for index in several {
                let (alone, fatal) = Box::pin(send(aws, queue, batch, &[*index])).await;
                results.extend(alone);
                if fatal.is_some() {
                    return (results, fatal);
                }
            }
            (results, None)
        }
        (Err(error), several) if perhaps_done => {
            let on_their_way = several.iter().map(|index| &batch[*index]);
            (vec![], Some(error.context(format!("{}: {PERHAPS}", places(on_their_way)))))
        }
        (Err(error), _) => (vec![], Some(error)),
    }
}

fn places<'a>(sendings: impl IntoIterator<Item = &'a Sending>) -> String {
    let places: Vec<_> = sendings.into_iter().map(|sending| sending.place.as_str()).collect();
    places.join(", ")
}

impl Refusal {
    fn new(entry: &BatchResultErrorEntry) -> Self {
        Self { why: answered_of(entry, "sqs:SendMessage"), may_go_better: may_go_better(entry) }
    }
}
