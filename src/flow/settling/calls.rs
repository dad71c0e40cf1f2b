//! The calls that a batch of Lambda's makes by itself.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::time::Instant;

use crate::aws::Sqs;
use crate::batch::Ran;
use crate::batch::outbox::{Call, Outbox};
use crate::batch::settle::{change_visibility, write_letters};
use crate::flow::progress::{Progress, Step};

/// The calls to SQS of a batch.
pub(in crate::flow) struct Calls<'a> {
    sqs: Option<&'a Sqs>,
    url: Option<&'a str>,
    outbox: Outbox,
    calls: FuturesUnordered<Pin<Box<dyn Future<Output = Answer> + Send + 'a>>>,
    began: Instant,
    until: Instant,
}

/// A call, the messages for which SQS has confirmed it, and when it was made.
struct Answer {
    call: Call,
    confirmed: Vec<usize>,
    sent: Duration,
}

impl<'a> Calls<'a> {
    pub(super) fn new(sqs: Option<&'a Sqs>, url: Option<&'a str>, began: Instant, until: Instant) -> Self {
        Self { sqs, url, outbox: Outbox::default(), calls: FuturesUnordered::new(), began, until }
    }

    /// Queues a step for the next call; without a client, nothing.
    pub(super) fn add(&mut self, step: &Step, now: Instant) {
        let now = now.duration_since(self.began);
        match *step {
            Step::Letter { at, lane } if self.sqs.is_some() => self.outbox.letter(at, lane, now),
            Step::Change(at) if self.sqs.is_some() => self.outbox.change(at, now),
            Step::Letter { .. } | Step::Change(_) | Step::Delete(_) | Step::GoOn(_) => {}
        }
    }

    /// Makes the calls that are due, or all of them with `flush`.
    pub(super) fn send<'r: 'a>(&mut self, batch: &Progress<'r>, now: Instant, flush: bool) {
        let Some(sqs) = self.sqs else { return };
        // A fifth of the remaining time is kept for the metrics, which matter most when SQS hangs.
        let until = now + self.until.saturating_duration_since(now).mul_f64(0.8);
        let since = now.duration_since(self.began);
        while let Some(call) = self.outbox.next_call(since, flush) {
            match &call {
                Call::Letters(places) => {
                    let letters: Vec<_> = places.iter().filter_map(|&at| batch.letter(at)).collect();
                    let url = self.url.unwrap_or_default();
                    self.calls.push(Box::pin(async move {
                        let confirmed = write_letters(sqs, url, &letters, until).await;
                        Answer { call, confirmed, sent: since }
                    }));
                }
                // Lambda deletes.
                Call::Deletes(_) => {}
                Call::Changes(places) => {
                    let changes: Vec<_> = places.iter().filter_map(|&at| batch.change(at)).collect();
                    self.calls.push(Box::pin(async move {
                        let confirmed = change_visibility(sqs, &changes, until).await;
                        Answer { call, confirmed, sent: since }
                    }));
                }
            }
        }
    }

    /// Waits for the next answer and records it.
    pub(super) async fn answered(&mut self, batch: &mut Progress<'_>) {
        let Some(Answer { call, confirmed, sent }) = self.calls.next().await else { return };
        let ended = self.began.elapsed();
        let ran = Ran { took: ended.saturating_sub(sent), ended, is_shared: false };
        match call {
            Call::Letters(places) => {
                let lanes: Vec<_> = places.iter().map(|&at| batch.lane_of(at)).collect();
                self.outbox.answered(&lanes);
                places.into_iter().for_each(|at| batch.letter_answered(at, confirmed.contains(&at), ran));
            }
            Call::Deletes(_) => {}
            Call::Changes(places) => {
                self.outbox.answered(&[]);
                places.into_iter().for_each(|at| batch.change_answered(at, confirmed.contains(&at), ran));
            }
        }
    }

    pub(super) fn is_under_way(&self) -> bool {
        !self.calls.is_empty()
    }

    pub(super) fn is_done(&self) -> bool {
        self.calls.is_empty() && self.outbox.is_empty()
    }

    /// When the next call is due.
    pub(super) fn due_at(&self) -> Option<Instant> {
        self.outbox.due_at().map(|due| self.began + due)
    }
}
