//! Sends messages, each once, as far as SQS confirms them.

use std::collections::BTreeMap;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::retry::RetryConfig;
use redrive_sqs::{LaneMessage, Lanes, MAX_BYTES, MAX_ENTRIES, is_fifo};

use super::calls::{Calls, Outcome, Step};
use super::guard::FifoGuard;
use super::message::NewMessage;
use super::pace::{Pace, most_at_once};
use super::signals::Stop;
use crate::find::Queue;

/// Most messages that wait, and their bytes, so that one call can take those of several groups.
const MOST_WAITING: usize = 10 * MAX_ENTRIES;
const MOST_BYTES: usize = 10 * MAX_BYTES;

/// Reaction to a call whose answer is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnLostAnswer {
    End,
    /// Continues, unless that happens three times in a row.
    GoOn,
}

#[derive(Debug)]
pub(crate) struct Sender<'run> {
    sqs: Client,
    url: String,
    calls: Calls<'run>,
    messages: BTreeMap<usize, NewMessage>,
    pub(crate) guard: FifoGuard,
}

impl<'run> Sender<'run> {
    pub(crate) fn new(
        sqs: Client,
        to: &Queue,
        pace: &'run Pace,
        stop: &'run Stop,
        on_lost: OnLostAnswer,
    ) -> Self {
        let mut calls = Calls::new(format!("send to {}", to.name()), "sqs:SendMessage", pace, Some(stop));
        calls.is_paced = true;
        if on_lost == OnLostAnswer::End {
            calls.most_unclear = 1;
        }
        Self { sqs, url: to.url.clone(), calls, messages: BTreeMap::new(), guard: FifoGuard::default() }
    }

    /// Returns true if enough messages wait.
    pub(crate) fn is_full(&self) -> bool {
        let bytes = self.calls.lanes.waiting().map(|(_, turn)| turn.size).sum::<usize>();
        self.messages.len() >= MOST_WAITING || bytes >= MOST_BYTES
    }

    /// Queues a message. `group` is none unless order matters. Returns false if an earlier one of its group was not sent.
    pub(crate) fn push(&mut self, number: usize, group: Option<String>, message: NewMessage) -> bool {
        let may_go = self.guard.lets_pass(group.as_deref(), number);
        if may_go {
            self.calls.lanes.push(number, LaneMessage { group, size: message.size() });
            self.messages.insert(number, message);
        }
        may_go
    }

    /// Sends the next batch. Right before each call it asks `is_ready` for each entry, and then awaits `before`. Returns none if
    /// nothing waits, or it is time to stop.
    pub(crate) async fn next(
        &mut self,
        is_ready: impl FnMut(usize) -> bool,
        before: impl AsyncFn(),
    ) -> Option<Step> {
        let (sqs, url, messages) = (&self.sqs, &self.url, &self.messages);
        let call = async |numbers: &[usize]| {
            before().await;
            let entries = numbers.iter().map(|number| messages[number].entry(*number)).collect();
            let call = sqs.send_message_batch().queue_url(url).set_entries(Some(entries));
            // A FIFO queue recognizes a repeated call by its deduplication ids. For others, the SDK must not retry: it would send all
            // messages again if only the answer was lost.
            // https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-exactly-once-processing.html
            let answer = match is_fifo(url) {
                true => call.send().await?,
                false => {
                    let once = aws_sdk_sqs::config::Builder::new().retry_config(RetryConfig::disabled());
                    call.customize().config_override(once).send().await?
                }
            };
            let done = answer.successful.into_iter().map(|entry| (entry.id, Some(entry.message_id)));
            Ok((done.collect(), answer.failed))
        };
        let groups: BTreeMap<_, _> =
            self.calls.lanes.waiting().map(|(number, turn)| (number, turn.group.clone())).collect();
        let step = self.calls.next(is_ready, call).await?;
        for (number, outcome) in &step.outcomes {
            self.messages.remove(number);
            let group = groups.get(number).and_then(Option::as_deref);
            match outcome {
                Outcome::Failed(_) | Outcome::Perhaps(_) => self.guard.stop(group, *number),
                Outcome::Behind => drop(self.guard.lets_pass(group, *number)),
                Outcome::Done(_) | Outcome::NotTried => (),
            }
        }
        Some(step)
    }

    /// Returns the numbers of the messages that were not sent, in order.
    pub(crate) fn rest(&self) -> Vec<usize> {
        self.calls.rest()
    }

    /// Returns the outcomes of these messages.
    pub(crate) fn finish(self) -> Vec<(usize, Outcome)> {
        self.calls.finish()
    }
}

/// How many requests it takes to send these.
pub(crate) fn requests(turns: impl IntoIterator<Item = LaneMessage>, rate: Option<f64>) -> usize {
    let mut turns = turns.into_iter().enumerate();
    let mut lanes = Lanes::default();
    let batches = std::iter::from_fn(|| {
        let room = MOST_WAITING.saturating_sub(lanes.waiting().count());
        turns.by_ref().take(room).for_each(|(number, turn)| lanes.push(number, turn));
        Some(lanes.next_batch(most_at_once(rate))).filter(|batch| !batch.is_empty())
    });
    batches.count()
}
