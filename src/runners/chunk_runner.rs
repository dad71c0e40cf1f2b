//! Runs a handler that takes several messages at a time.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use futures_util::{FutureExt, TryFutureExt as _};
use tokio::sync::OnceCell;
use tokio::time::{Duration, Instant};
use tracing::Instrument;

use super::chunk::{Chunk, Segment, cut};
use super::once::{ClaimGuard, OnceTerms};
use super::ready_queue::What;
use super::runner::{Runner, Times, decode};
use super::{Begun, Job};
use crate::failure::Failure;
use crate::failure::classifier::FailureClassifier;
use crate::handler::Handler;
use crate::handler::bulk::{Bulk, Rule};
use crate::message::FromMessage;
use crate::message::bodies::{AnyBodies, Body};
use crate::message::record::Record;
use crate::once::Claim;
use crate::telemetry::log;
use redrive_engine::Outcome;
use redrive_executor::{catch, panic_text};

/// The part of a chunk that its runner, its handler and the queue share.
pub(super) struct SharedChunk {
    attempts: Vec<u32>,
    classifier: FailureClassifier,
    results: Mutex<Chunk>,
}

/// A chunk with the parts that only its runner has.
struct OwnChunk<'a> {
    of: &'a Begun,
    records: Vec<&'a Record<'a>>,
    /// The bodies that are not in the messages themselves, fetched once for all calls.
    bodies: OnceCell<Vec<Option<Body>>>,
    /// The keys that its messages have, for all calls.
    held: Mutex<BTreeMap<usize, ClaimGuard>>,
    shared: Arc<SharedChunk>,
}

/// The results of one call.
struct OfCall {
    chunk: Arc<SharedChunk>,
    call: u32,
}

impl SharedChunk {
    /// No user code runs under this lock, so nothing panics.
    pub(super) fn results(&self) -> MutexGuard<'_, Chunk> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the outcome of a message that failed by itself. An error that panics is a failure too, also in a task that
    /// nobody waits for.
    fn judged(&self, item: usize, failure: Failure) -> Outcome {
        let judged = catch(|| self.classifier.failed(failure, self.attempts[item]));
        judged.map_or_else(Outcome::panicked, Outcome::Failed)
    }
}

impl Rule for OfCall {
    fn rule(&self, item: usize, disposition: Result<(), Failure>) {
        let outcome = disposition.map_or_else(|failure| self.chunk.judged(item, failure), |()| Outcome::Done);
        self.chunk.results().rule(self.call, item, outcome);
    }
}

impl<'a> OwnChunk<'a> {
    /// No user code runs under this lock, so nothing panics.
    fn held(&self) -> MutexGuard<'_, BTreeMap<usize, ClaimGuard>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn new(of: &'a Begun, segments: Vec<Segment>, classifier: FailureClassifier, has_keys: bool) -> Self {
        let mut chunk = Chunk::new(of.key, segments);
        if has_keys {
            chunk.keep_outcomes();
        }
        let records: Vec<_> = chunk.places().map(|at| of.record(at)).collect();
        let attempts = records.iter().map(|record| record.attempt()).collect();
        let shared = Arc::new(SharedChunk { attempts, classifier, results: Mutex::new(chunk) });
        Self { of, records, bodies: OnceCell::new(), held: Mutex::default(), shared }
    }
}

pub(super) async fn run<H, M>(handler: Arc<H>, mut runner: Runner)
where
    H: Handler<Bulk<M>>,
    M: FromMessage,
{
    let job = Arc::clone(&runner.job);
    let mut now = runner.started();
    let limits = job.terms.chunks;
    while let Some((of, segments)) =
        job.queue.next(now, |of, lanes| cut(lanes, limits, |at| of.record(at).body().len()))
    {
        let chunk = OwnChunk::new(&of, segments, job.terms.classifier.clone(), job.terms.once.is_some());
        let shared = &chunk.shared;
        let mut again: Vec<_> = std::iter::once(0..chunk.records.len()).collect();
        let mut took = Duration::ZERO;
        while let Some(items) = again.pop() {
            let what = What::Chunk(Arc::clone(shared));
            if !job.queue.begin(runner.slot, &of, what, now, took) {
                break;
            }
            let items = shared.results().begin(&items);
            if items.is_empty() {
                continue;
            }
            let times = Times::default();
            let handled = || job.handle_all(&*handler, &chunk, &items, &times);
            let (ended, has_waited) = runner.call(&of, handled, &times).await;
            let begun = std::mem::replace(&mut now, Instant::now());
            took = now.duration_since(begun);
            let ran = times.ran(now, of.began);
            if let Some(failed) = shared.results().end_call(ended, ran, limits.halves) {
                let middle = usize::midpoint(failed.start, failed.end);
                again.extend([middle..failed.end, failed.start..middle]);
            }
            now = runner.make_way(has_waited, now).await;
        }
        if job.terms.once.is_some() {
            runner.record_chunk(&chunk).await;
        }
        if !job.queue.finish(runner.slot, Outcome::NotStarted, None) {
            return;
        }
    }
}

impl Runner {
    /// Records how those messages of a chunk ended that have their keys.
    async fn record_chunk(&self, chunk: &OwnChunk<'_>) {
        let held = std::mem::take(&mut *chunk.held());
        let outcome = |item: usize| chunk.shared.results().outcome(item).cloned().unwrap_or(Outcome::Stuck);
        let (items, ended): (Vec<_>, Vec<_>) =
            held.into_iter().map(|(item, held)| (item, (held, outcome(item)))).unzip();
        for (item, outcome) in items.into_iter().zip(self.record_all(ended).await) {
            chunk.shared.results().recorded(item, outcome);
        }
    }
}

impl Job {
    /// Calls the handler within the hooks. Returns the outcomes of the messages that it left open.
    async fn handle_all<H, M>(
        &self,
        handler: &H,
        chunk: &OwnChunk<'_>,
        items: &[usize],
        times: &Times,
    ) -> Vec<(usize, Outcome)>
    where
        H: Handler<Bulk<M>>,
        M: FromMessage,
    {
        let records: Vec<_> = items.iter().map(|&item| chunk.records[item]).collect();
        let handled = async {
            let result =
                self.terms.hooks.around(&records, || self.call_with_all(handler, chunk, times)).await;
            let open = chunk.shared.results().open();
            let Err(failure) = result else {
                return open.into_iter().map(|item| (item, Outcome::Done)).collect();
            };
            if open.is_empty() {
                log::unheeded(&failure);
            }
            let attempts = open.iter().map(|&item| chunk.records[item].attempt());
            let summaries = self.terms.classifier.failed_all(failure, attempts);
            open.iter()
                .copied()
                .zip(summaries.into_iter().map(|summary| Outcome::Failed(Box::new(summary))))
                .collect()
        };
        handled.instrument(log::bulk_span(&chunk.of.span, &records)).await
    }

    async fn call_with_all<H, M>(
        &self,
        handler: &H,
        chunk: &OwnChunk<'_>,
        times: &Times,
    ) -> Result<(), Failure>
    where
        H: Handler<Bulk<M>>,
        M: FromMessage,
    {
        let began = Instant::now();
        let bodies = chunk.bodies.get_or_init(|| self.fetch(chunk)).await;
        let open = chunk.shared.results().open();
        let mut messages = Vec::with_capacity(open.len());
        let mut next = 0;
        for item in open {
            // The rest of a lane waits behind a message that cannot be read.
            if item < next {
                continue;
            }
            let record = chunk.records[item];
            let limited = self.limited(record, began);
            let record = limited.as_ref().unwrap_or(record);
            let body = bodies.get(item).and_then(Option::as_ref).map(Body::as_str);
            let unread = match catch(|| decode::<M>(record, body)) {
                Ok(Ok(message)) => {
                    messages.push((item, message));
                    continue;
                }
                Ok(Err(failure)) => chunk.shared.judged(item, failure),
                Err(text) => self.panicked(text, true),
            };
            next = chunk.shared.results().unread(item, unread);
        }
        if let Some(once) = &self.terms.once {
            messages = self.with_keys(once, chunk, bodies, messages).await;
        }
        if messages.is_empty() {
            return Ok(());
        }
        let call = chunk.shared.results().call();
        let rulings: Arc<dyn Rule> = Arc::new(OfCall { chunk: Arc::clone(&chunk.shared), call });
        times.of(|| handler.call(Bulk::on(&rulings, messages.into_iter())).map_err(Into::into)).await
    }

    /// Claims the keys of messages, and returns the messages that have them. The rest of a lane waits behind a message without
    /// its key.
    async fn with_keys<M: FromMessage>(
        &self,
        once: &OnceTerms,
        chunk: &OwnChunk<'_>,
        bodies: &[Option<Body>],
        messages: Vec<(usize, M)>,
    ) -> Vec<(usize, M)> {
        let is_held = |item: usize| chunk.held().contains_key(&item);
        let claims = messages.iter().filter(|(item, _)| !is_held(*item)).map(|(item, message)| {
            let record = chunk.records[*item];
            let body = bodies.get(*item).and_then(Option::as_ref).map_or(record.body(), Body::as_str);
            let claim = catch(|| once.claim(record, message as &dyn Any, body));
            (*item, claim)
        });
        // Boxed, since the compiler cannot prove otherwise that the futures are Send.
        let claims: Vec<_> = claims.map(|(item, claim)| self.key(once, chunk, item, claim).boxed()).collect();
        let mut refused = BTreeMap::new();
        for (item, answer) in join_all(claims).await {
            if let Err(outcome) = answer {
                refused.insert(item, outcome);
            }
        }
        let mut next = 0;
        for (item, outcome) in refused {
            if item >= next {
                next = chunk.shared.results().unread(item, outcome);
            }
        }
        let open = chunk.shared.results().open();
        messages.into_iter().filter(|(item, _)| open.binary_search(item).is_ok() && is_held(*item)).collect()
    }

    async fn key(
        &self,
        once: &OnceTerms,
        chunk: &OwnChunk<'_>,
        item: usize,
        claim: Result<Result<Claim, Failure>, String>,
    ) -> (usize, Result<(), Outcome>) {
        let answer = match claim {
            Ok(Ok(claim)) => {
                // The other messages of the call do not wait for the lease of another delivery.
                let record = chunk.records[item];
                let until = Instant::from_std(record.deadline());
                let stops_with = (!record.is_last_attempt()).then_some(chunk.of);
                let held = self.hold(once, claim, (until, until), false, stops_with).await;
                held.map(|mut held| {
                    // A lost key cancels nothing: the call has other messages too.
                    once.renewed.iter().for_each(|visibility| drop(self.renew(&mut held, *visibility)));
                    chunk.held().insert(item, held);
                })
            }
            Ok(Err(failure)) => Err(chunk.shared.judged(item, failure)),
            Err(text) => Err(self.panicked(text, true)),
        };
        (item, answer)
    }

    /// Fetches the bodies of a chunk. Returns none if they are in the messages.
    async fn fetch(&self, chunk: &OwnChunk<'_>) -> Vec<Option<Body>> {
        let Some(source) = &self.terms.bodies else { return Vec::new() };
        // Boxed, since the compiler cannot prove otherwise that the futures are Send.
        let fetched: Vec<_> =
            (0..chunk.records.len()).map(|item| self.body(&**source, chunk, item).boxed()).collect();
        stream::iter(fetched).buffered(self.terms.fetches.max(1)).collect().await
    }

    async fn body(&self, source: &dyn AnyBodies, chunk: &OwnChunk<'_>, item: usize) -> Option<Body> {
        let failed = match AssertUnwindSafe(source.body(chunk.records[item])).catch_unwind().await {
            Ok(Ok(body)) => return body,
            Ok(Err(failure)) => chunk.shared.judged(item, failure),
            Err(panic) => self.panicked(panic_text(panic), true),
        };
        chunk.shared.results().unread(item, failed);
        None
    }
}
