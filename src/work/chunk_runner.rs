//! Runs a handler that takes several messages at a time.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::stream::{self, StreamExt};
use tokio::time::{Duration, Instant};
use tracing::Instrument;

use super::chunk::cut;
use super::runner::{Called, Claim, Pace, call, decode};
use super::sheet::{Ended, Sheet};
use super::times::Times;
use super::{Begun, Job};
use crate::bodies::AnyBodies;
use crate::bulk::Bulk;
use crate::engine::Outcome;
use crate::hook::{Delivery, Next};
use crate::message::FromMessage;
use crate::panic::{catch, panic_text};
use crate::record::Record;
use crate::{Failure, Handler, log};

pub(super) async fn run<H, M>(claim: Claim<H>)
where
    H: Handler<Bulk<M>>,
    M: FromMessage,
{
    let job = &*claim.job;
    let mut now = Instant::now();
    let mut pace = Pace::new(now);
    let chunks = job.terms.chunks;
    while let Some((sheet, of)) = job.queue.next_chunk(claim.slot, now, |of, lanes| {
        let segments = cut(lanes, chunks, |at| of.record(at).body().len());
        Sheet::new(of.key, segments, |at| of.record(at).attempt(), job.terms.judge.clone())
    }) {
        let of = &*of;
        let mut bodies = Bodies::default();
        let mut again: Vec<_> = std::iter::once(0..sheet.len()).collect();
        let mut took = Duration::ZERO;
        while let Some(items) = again.pop() {
            if !job.queue.begin_again(claim.slot, of, now, took) {
                break;
            }
            let items = sheet.begin(items);
            if items.is_empty() {
                continue;
            }
            let times = Times::default();
            let handled = job.handle_all(of, &sheet, &items, &mut bodies, &times);
            let (called, has_waited) = call::<H, Bulk<M>, _>(&claim, handled).await;
            let begun = std::mem::replace(&mut now, Instant::now());
            took = now.duration_since(begun);
            let ended = match called {
                Called::Returned(ended) => ended,
                Called::Panicked { text, again } => Ended::Panicked { text, again },
                Called::Canceled => Ended::Canceled,
            };
            let ran = times.ran(now, of.began);
            if let Some(failed) = sheet.end_call(ended, ran, chunks.halves) {
                let middle = usize::midpoint(failed.start, failed.end);
                again.extend([middle..failed.end, failed.start..middle]);
            }
            now = pace.ended::<H, Bulk<M>>(&claim.job, has_waited, now).await;
        }
        if !job.queue.finish(claim.slot, Outcome::NotStarted, None) {
            return;
        }
    }
}

/// The bodies of a chunk's messages that are not in the messages themselves, fetched once for all calls.
#[derive(Default)]
struct Bodies {
    are_fetched: bool,
    fetched: Vec<Option<String>>,
}

impl Bodies {
    fn of(&self, item: usize) -> Option<&str> {
        self.fetched.get(item)?.as_deref()
    }
}

impl<H: Send + Sync> Job<H> {
    /// Calls the handler within the hooks.
    async fn handle_all<M>(
        &self,
        of: &Begun,
        sheet: &Arc<Sheet>,
        items: &[usize],
        bodies: &mut Bodies,
        times: &Times,
    ) -> Ended
    where
        H: Handler<Bulk<M>>,
        M: FromMessage,
    {
        let records: Vec<_> = items.iter().map(|&item| of.record(sheet.place(item))).collect();
        let span = log::bulk_span(&of.span, &records);
        let handled = async {
            let called = self.call_with_all(of, sheet, items, bodies, times);
            if self.terms.hooks.is_empty() {
                called.await
            } else {
                self.terms.hooks.around(&Delivery::new(&records), Next::new(called)).await
            }
        };
        let result = handled.instrument(span.clone()).await;
        let open = sheet.open();
        let outcomes = match result {
            Ok(()) => open.into_iter().map(|item| (item, Outcome::Done)).collect(),
            Err(failure) => span.in_scope(|| {
                if open.is_empty() {
                    log::unheeded(&failure);
                }
                let attempts = open.iter().map(|&item| sheet.attempt(item));
                let faults = self.terms.judge.failed_all(failure, attempts);
                open.iter().copied().zip(faults.into_iter().map(Outcome::Failed)).collect()
            }),
        };
        Ended::Returned(outcomes)
    }

    async fn call_with_all<M>(
        &self,
        of: &Begun,
        sheet: &Arc<Sheet>,
        items: &[usize],
        bodies: &mut Bodies,
        times: &Times,
    ) -> Result<(), Failure>
    where
        H: Handler<Bulk<M>>,
        M: FromMessage,
    {
        let mut messages = Vec::with_capacity(items.len());
        let began = Instant::now();
        self.fetch(of, sheet, bodies).await;
        // Behind a message that cannot be read, its lane waits.
        let mut withheld = None;
        for item in sheet.open() {
            if withheld == Some(sheet.lane(item)) {
                continue;
            }
            let record = of.record(sheet.place(item));
            let limited = self.limited(record, began);
            let record = limited.as_ref().unwrap_or(record);
            let unread = match catch(|| decode::<M>(record, bodies.of(item))) {
                Ok(Ok(message)) => {
                    messages.push((item, message));
                    continue;
                }
                Ok(Err(failure)) => self.unreadable(record, failure),
                Err(text) => self.panicked(text),
            };
            withheld = sheet.unread(item, unread).or(withheld);
        }
        if messages.is_empty() {
            return Ok(());
        }
        times.of(|| self.handler.call(Bulk::on(&sheet.rulings(), messages.into_iter()))).await
    }

    /// Fetches the bodies of a chunk.
    async fn fetch(&self, of: &Begun, sheet: &Arc<Sheet>, bodies: &mut Bodies) {
        let Some(source) = self.terms.bodies.as_ref().filter(|_| !bodies.are_fetched) else { return };
        // Boxed, since the compiler cannot prove otherwise that the futures are Send.
        let fetched: Vec<_> =
            (0..sheet.len()).map(|item| self.body(&**source, of, sheet, item).boxed()).collect();
        bodies.fetched = stream::iter(fetched).buffered(self.terms.fetches.max(1)).collect().await;
        bodies.are_fetched = true;
    }

    async fn body(&self, source: &dyn AnyBodies, of: &Begun, sheet: &Sheet, item: usize) -> Option<String> {
        let record = of.record(sheet.place(item));
        let failed = match AssertUnwindSafe(source.body(record)).catch_unwind().await {
            Ok(Ok(body)) => return body,
            Ok(Err(failure)) => self.unreadable(record, failure),
            Err(panic) => self.panicked(panic_text(panic)),
        };
        sheet.unread(item, failed);
        None
    }

    /// A body could not be fetched or decoded. The timers of a runtime that has been shut down panic, which is no fault of the
    /// message.
    fn panicked(&self, text: String) -> Outcome {
        Outcome::Panicked { text, again: self.tasks.has_lost_its_context(), is_early: true }
    }

    fn unreadable(&self, record: &Record<'_>, failure: Failure) -> Outcome {
        let judged = catch(|| self.terms.judge.failed(failure, record.attempt()));
        judged.map_or_else(Outcome::panicked, Outcome::Failed)
    }
}
