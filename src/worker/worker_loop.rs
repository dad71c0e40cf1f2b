//! The loop of a worker: performs the engine's commands, and passes events to it. Everything except handlers runs in this one
//! task.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock, and random numbers")]

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::future::OptionFuture;
use futures_util::stream::{FuturesUnordered, Stream, StreamExt};
use redrive_observers::protection::ProtectionShare;
use redrive_observers::vitals::Vitals;
use tokio::time::{Instant, sleep_until};
use tracing::{Instrument, Span, info, warn};

use super::calls;
use super::clock::Clock;
use super::exit::result_of;
use super::places::SharedPlaces;
use super::queue::SourceQueue;
use crate::aws::Sqs;
use crate::aws::settle::{Entries, Failed};
use crate::error::Error;
use crate::lambda::{LambdaShell, make_call};
use crate::message::invocation::Invocation;
use crate::message::received::{ReceiveContext, ReceivedMessage};
use crate::message::record::BatchContext;
use crate::message::records::{Received, Records};
use crate::runners::wall::Wall;
use crate::runners::{AnyHandler, Begun, Lease, Phase, Work};
use crate::telemetry::log;
use crate::telemetry::report::report;
use crate::tokens::AnyTokens;
use redrive_engine::keys::{BatchKey, LeaseKey, MessageKey};
use redrive_engine::{
    Arrival, Call, Command, Confirmation, Event, Note, Outcome, Poll, Receiving, Settlement, WorkerEngine,
};

/// The longest turn of the loop, so that it notices when the machine has slept.
const TURN: Duration = Duration::from_secs(2);
/// The time from the first unflushed report until hooks flush.
const FLUSH: Duration = Duration::from_secs(1);
/// The time for settling if a handler ran until the last moment.
const TO_SETTLE: Duration = Duration::from_secs(5);
/// The time that the store of `once`, hooks and the observer have at the end of a worker.
const TO_REPORT: Duration = Duration::from_secs(1);

/// The parts of a worker.
pub(super) struct Worker<'a> {
    pub(super) shell: LambdaShell<'a>,
    pub(super) handler: &'a Arc<dyn AnyHandler>,
    pub(super) sqs: &'a Sqs,
    pub(super) queue: &'a SourceQueue,
    pub(super) vitals: &'a Vitals,
    pub(super) protection: Option<ProtectionShare>,
    pub(super) places: Option<SharedPlaces>,
    pub(super) tokens: Option<&'a dyn AnyTokens>,
    /// The URL of its queue, if the process has several.
    pub(super) one_of_several: Option<&'a str>,
    pub(super) receiving: Receiving,
}

/// A task of the loop that has ended.
enum Completion {
    Event(Event<Arc<ReceivedMessage>>),
    Receive(Poll, Result<Vec<Arc<ReceivedMessage>>, String>),
    /// Hooks and the observer have run for this many messages and bytes.
    Reported {
        messages: usize,
        bytes: usize,
    },
    /// Hooks have flushed.
    Flushed,
}

/// A batch, with its start by the wall clock.
struct Batch {
    begun: Arc<Begun>,
    invocation: Invocation,
    wall: SystemTime,
}

pub(super) struct WorkerLoop<'a> {
    worker: Worker<'a>,
    wall: Wall,
    clock: Clock,
    engine: WorkerEngine<'a, Arc<ReceivedMessage>>,
    work: Work,
    /// Lanes that were added in this turn.
    added: usize,
    polled: HashMap<LeaseKey, Arc<ReceivedMessage>>,
    next_lease: usize,
    batches: HashMap<BatchKey, Batch>,
    /// The batches that start no more messages.
    ending: Vec<BatchKey>,
    doing: FuturesUnordered<Pin<Box<dyn Future<Output = Completion> + Send + 'a>>>,
    /// The number of messages that hooks and the observer run for, and their bytes.
    reporting: (usize, usize),
    flush_at: Option<Instant>,
    /// The next time to look for handlers that take too long.
    check_at: Option<Instant>,
    signal: &'static str,
}

impl<'a> WorkerLoop<'a> {
    pub(super) fn new(worker: Worker<'a>, policy: redrive_engine::decide::Policy<'a>) -> Self {
        let wall = Wall::new();
        let now = wall.now();
        let epoch = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let secret = worker.shell.process.secret();
        Self {
            wall,
            clock: Clock::new(now),
            engine: WorkerEngine::of_worker(worker.receiving, policy, epoch, (fastrand::u64(..), secret)),
            work: Work::new(worker.handler, worker.shell.terms(true), worker.shell.host),
            added: 0,
            polled: HashMap::new(),
            next_lease: 0,
            batches: HashMap::new(),
            ending: Vec::new(),
            doing: FuturesUnordered::new(),
            reporting: (0, 0),
            flush_at: None,
            check_at: None,
            signal: "",
            worker,
        }
    }

    /// Works until a signal or a fault ends it and everything is settled, or time is up. Returns true if handlers were
    /// canceled.
    ///
    /// # Errors
    /// Not everything was settled, or the process can handle no more messages.
    pub(super) async fn run(
        &mut self,
        stops: &mut (impl Stream<Item = &'static str> + Unpin),
    ) -> Result<bool, Error> {
        loop {
            let now = self.now();
            self.limit_places(now);
            let (worked, unblocked) = self.work.queue().take();
            self.tell(unblocked.into_iter().map(Event::Unblocked), now);
            self.tell((!worked.is_empty()).then_some(Event::Ended(worked)), now);
            self.engine.on(Event::Exhausted(self.worker.shell.host.is_exhausted()), now);
            while let Some(command) = self.engine.next(now) {
                if let Command::Exit(exit) = command {
                    return result_of(exit, self.signal);
                }
                self.perform(command, now)?;
            }
            for (batch, runner) in self.work.queue().take_doubted() {
                self.hold(batch);
                runner.wake();
            }
            if self.added > 0 {
                self.work.start(std::mem::take(&mut self.added));
            }
            let is_idle = |batch: &mut BatchKey| self.work.queue().is_idle(*batch);
            let idle: Vec<_> = self.ending.extract_if(.., is_idle).collect();
            if !idle.is_empty() {
                self.tell(idle.into_iter().map(Event::Idle), now);
                continue;
            }
            if self.check_at.is_some_and(|at| at <= Instant::now()) {
                let overdue = self.work.check(Instant::now());
                self.tell((!overdue.is_empty()).then_some(Event::Overdue(overdue)), now);
            }
            self.flush_hooks();
            self.show();
            let wake = self.engine.wake_at().map_or(now + TURN, |at| at.min(now + TURN));
            self.check_at = self.work.check_at(Instant::now());
            let times = self.check_at.into_iter().chain(self.flush_at).chain([self.instant(wake)]);
            let wake = times.min().unwrap_or_else(Instant::now);
            tokio::select! {
                biased;
                Some(signal) = stops.next() => self.on_signal(signal),
                Some(did) = self.doing.next(), if !self.doing.is_empty() => self.did(did),
                () = self.work.changed() => {}
                Some(()) = OptionFuture::from(self.worker.places.as_ref().map(SharedPlaces::changed)) => {}
                () = sleep_until(wake) => {}
            }
        }
    }

    /// Tells the engine how many handlers may run, before it may receive more messages.
    fn limit_places(&mut self, now: Duration) {
        if let Some(granted) = self.worker.places.as_ref().map(SharedPlaces::granted) {
            self.engine.limit_places(granted, now);
        }
    }

    /// Leaves its places to the other workers of the process, and lets the process release its protection.
    pub(super) fn leave(&mut self) {
        (self.worker.places, self.worker.protection) = (None, None);
    }

    fn now(&mut self) -> Duration {
        let (steady, wall) = self.wall.read();
        self.clock.read(steady, wall)
    }

    fn instant(&self, at: Duration) -> Instant {
        self.wall.started + self.clock.steady(at)
    }

    fn tell(&mut self, events: impl IntoIterator<Item = Event<Arc<ReceivedMessage>>>, now: Duration) {
        events.into_iter().for_each(|event| self.engine.on(event, now));
    }

    /// Updates the state that probes, metrics and the platform see.
    fn show(&mut self) {
        let (in_hand, waiting) = self.engine.in_hand();
        self.worker.vitals.loop_turned(in_hand, waiting, self.engine.free());
        self.worker.vitals.down(self.engine.down(), self.engine.is_paused());
        self.worker.protection.iter_mut().for_each(|it| it.in_hand(in_hand));
        self.worker.places.iter().for_each(|it| it.record(self.engine.used_places()));
    }

    fn on_signal(&mut self, signal: &'static str) {
        if self.signal.is_empty() {
            let in_hand = self.engine.in_hand().0;
            info!(signal, in_hand, drain = ?self.worker.receiving.drain, "the worker ends");
        }
        self.signal = signal;
        let now = self.now();
        self.engine.on(Event::Stop, now);
    }

    fn did(&mut self, did: Completion) {
        let now = self.now();
        let event = match did {
            Completion::Event(event) => event,
            Completion::Receive(poll, result) => {
                self.worker.vitals.poll_ended(result.is_ok());
                match result {
                    Ok(messages) => {
                        let messages = messages.into_iter().map(|message| self.arrival(message)).collect();
                        Event::Received { poll, messages }
                    }
                    Err(error) => Event::NotReceived { poll, random: fastrand::f64(), error },
                }
            }
            Completion::Reported { messages, bytes } => {
                self.reporting = (self.reporting.0 - messages, self.reporting.1 - bytes);
                self.flush_at.get_or_insert_with(|| Instant::now() + FLUSH);
                Event::Reporting { messages: self.reporting.0, bytes: self.reporting.1 }
            }
            Completion::Flushed => return,
        };
        if let Event::Answered { call, answers, took } = &event {
            let confirmed = answers.iter().filter(|(_, answer)| *answer == Confirmation::Done).count();
            self.worker.vitals.call_ended(*took, call.messages.len() - confirmed);
        }
        self.engine.on(event, now);
    }

    fn arrival(&mut self, message: Arc<ReceivedMessage>) -> Arrival<Arc<ReceivedMessage>> {
        let lease = LeaseKey(self.next_lease);
        self.next_lease += 1;
        let (body, bytes) = (message.body().len(), message.bytes());
        self.polled.insert(lease, Arc::clone(&message));
        Arrival { lease, facts: message, body, bytes }
    }

    fn perform(&mut self, command: Command, now: Duration) -> Result<(), Error> {
        match command {
            Command::Begin { batch, leases, order, until } => self.begin(batch, &leases, order, until)?,
            Command::Run { batch, lanes } => {
                self.hold(batch);
                if let Some(batch) = self.batches.get(&batch) {
                    self.added += lanes.len();
                    self.work.add(&batch.begun, lanes);
                }
            }
            Command::Withdraw { batch, places } => {
                let begun = self.batches.get(&batch);
                let worked = begun.iter().flat_map(|it| self.work.queue().withdraw(&it.begun, &places));
                let worked: Vec<_> = worked.collect();
                self.tell((!worked.is_empty()).then_some(Event::Ended(worked)), now);
            }
            Command::Stop(batch) => {
                self.batches.get(&batch).iter().for_each(|it| self.work.queue().stop(&it.begun));
                self.ending.push(batch);
            }
            Command::Cancel(batch) => {
                self.hold(batch);
                self.batches.get(&batch).iter().for_each(|it| self.work.queue().cancel(&it.begun));
                self.ending.push(batch);
            }
            Command::GiveUp(batch) => {
                let begun = self.batches.get(&batch);
                let worked = begun.iter().flat_map(|it| self.work.queue().give_up(&it.begun)).collect();
                self.engine.on(Event::GivenUp { batch, worked }, now);
            }
            Command::Call(call) => self.call(call),
            Command::Receive(poll) => {
                let (sqs, queue) = (self.worker.sqs, self.worker.queue);
                let batch = self.batch_context(self.instant(poll.until()));
                let LambdaShell { dependencies, rate_keys, .. } = self.worker.shell;
                let (depends_on, rate_by) = (dependencies.cloned(), rate_keys.cloned());
                let context = ReceiveContext { arn: Arc::clone(&queue.arn), batch, depends_on, rate_by };
                self.doing.push(Box::pin(async move {
                    Completion::Receive(poll, calls::receive(sqs, queue, poll, context).await)
                }));
            }
            Command::Lease(most) => {
                if let (Some(tokens), Some(rate)) = (self.worker.tokens, self.worker.receiving.rate) {
                    self.doing.push(Box::pin(async move {
                        Completion::Event(Event::Leased(calls::lease(tokens, most, rate).await))
                    }));
                }
            }
            Command::Extend(leases) => self.extend(leases, now),
            Command::Forget(lease) => drop(self.polled.remove(&lease)),
            Command::Report { batch, settled } => self.report(batch, settled),
            Command::Note(note) => self.note(note),
            Command::EndProcess(_) | Command::Exit(_) => {}
        }
        Ok(())
    }

    fn begin(
        &mut self,
        key: BatchKey,
        leases: &[LeaseKey],
        order: Arc<[usize]>,
        until: Duration,
    ) -> Result<(), Error> {
        let until = self.instant(until);
        let context = self.batch_context(until);
        let invocation = context.invocation.clone();
        let messages = leases.iter().filter_map(|lease| self.polled.get(lease).map(Arc::clone)).collect();
        let received = Received::ByWorker(messages, Arc::clone(&self.worker.queue.arn));
        let (records, _) = Records::by_queue(received, |_| Ok(context.clone()))?;
        let batch = records.list().len();
        let span = self
            .worker
            .one_of_several
            .map_or_else(|| log::batch_span(None, batch), |url| log::batch_span_of(url, batch));
        span.in_scope(|| {
            log::unexpected_attempts(
                records.list(),
                self.worker.shell.settings.max_receive_count.as_deref().copied(),
            )
        });
        let (records, began) = (Arc::new(records), Instant::now());
        let (phase, lease) = (Phase::default(), Some(Lease::new(self.wall)));
        let begun = Arc::new(Begun { key, records, order, began, until, span, phase, lease });
        self.batches.insert(key, Batch { begun, invocation, wall: self.wall.now() });
        Ok(())
    }

    /// Returns the context of messages whose handlers are canceled at this time.
    fn batch_context(&self, until: Instant) -> BatchContext {
        let invocation = Invocation::until((until + TO_SETTLE).into_std());
        self.worker.shell.batch_context(self.worker.shell.settings, until, &invocation)
    }

    /// Lets the handlers of a batch be polled until its leases end, as far as the engine knows.
    fn hold(&self, batch: BatchKey) {
        let lease = self.batches.get(&batch).and_then(|batch| batch.begun.lease.as_ref());
        let until = self.engine.held_until(batch).map(|at| (self.instant(at), self.clock.wall(at)));
        lease.iter().for_each(|lease| lease.set(until));
    }

    fn call(&mut self, call: Call) {
        let Worker { sqs, queue, shell, .. } = self.worker;
        let dead = shell.settings.dead_letter_queue_url.as_deref().unwrap_or_default();
        let until = self.instant(call.until);
        let handle = |key| self.engine.message(key).map(|message| message.facts.receipt_handle());
        let letter = |key: MessageKey| {
            let (batch, message) = (self.batches.get(&key.batch)?, self.engine.message(key)?);
            Some(Failed {
                record: batch.begun.record(key.at),
                settled: &message.settled,
                invocation: &batch.invocation,
            })
        };
        let (entries, without_note) = Entries::new(&call, dead, self.wall.now(), handle, letter);
        for key in without_note {
            if let Some(Batch { begun, .. }) = self.batches.get(&key.batch) {
                log::letter_without_note(&begun.span, begun.record(key.at));
            }
        }
        self.doing.push(Box::pin(async move {
            Completion::Event(make_call(call, entries, Some(sqs), (&queue.url, dead), until).await)
        }));
    }

    fn extend(&mut self, leases: Vec<(LeaseKey, u64)>, asked: Duration) {
        let (sqs, queue) = (self.worker.sqs, self.worker.queue);
        let handle = |&(lease, seconds): &(LeaseKey, u64)| {
            Some((lease, Arc::clone(self.polled.get(&lease)?), seconds))
        };
        let held: Vec<_> = leases.iter().filter_map(handle).collect();
        self.doing.push(Box::pin(async move {
            let answers = calls::extend(sqs, queue, &held).await;
            Completion::Event(Event::Extended { asked, leases, answers })
        }));
    }

    /// Counts the results of a batch that is over, logs failures, and runs hooks and the observer.
    fn report(&mut self, key: BatchKey, settled: Vec<Settlement>) {
        self.ending.retain(|batch| *batch != key);
        let Some(Batch { begun, wall, .. }) = self.batches.remove(&key) else { return };
        let shell = self.worker.shell;
        let report = report(begun.records.list(), &settled, wall, true);
        self.worker.vitals.reported(&report);
        let unrecorded = settled
            .iter()
            .filter(|it| matches!(it.outcome, Outcome::Unrecorded | Outcome::LeaseLost) && !it.is_lost);
        unrecorded.for_each(|_| self.worker.vitals.lease_lost());
        let all_done = settled.iter().all(|settled| matches!(settled.outcome, Outcome::Done));
        if all_done && shell.nobody_listens() {
            return;
        }
        let (messages, bytes) = (settled.len(), begun.records.list().iter().map(|it| it.body().len()).sum());
        self.reporting = (self.reporting.0 + messages, self.reporting.1 + bytes);
        let reporting = Event::Reporting { messages: self.reporting.0, bytes: self.reporting.1 };
        let now = self.now();
        self.engine.on(reporting, now);
        let until = begun.until + TO_SETTLE - crate::lambda::FOR_THE_RESPONSE;
        let span = begun.span.clone();
        let reporting = async move {
            let records = begun.records.list();
            tokio::join!(
                shell.publish(&report, until, true),
                shell.tell_hooks(records, &settled, wall, until, true),
                log::failures(records, &settled, until)
            );
            Completion::Reported { messages, bytes }
        };
        self.doing.push(Box::pin(reporting.instrument(span)));
    }

    fn flush_hooks(&mut self) {
        if self.flush_at.is_some_and(|at| at <= Instant::now()) {
            self.flush_at = None;
            let shell = self.worker.shell;
            self.doing.push(Box::pin(async move {
                shell.flush_hooks().await;
                Completion::Flushed
            }));
        }
    }

    /// Waits for the last calls of the store of `once`, hooks and the observer after the worker has ended, but not for long.
    pub(super) async fn finish(mut self, stops: &mut (impl Stream<Item = &'static str> + Unpin)) {
        let until = Instant::now() + TO_REPORT;
        let Self { work, doing, reporting: (left, _), .. } = &mut self;
        let reporting = async {
            while *left > 0
                && let Some(did) = doing.next().await
            {
                if let Completion::Reported { messages, .. } = did {
                    *left -= messages;
                }
            }
        };
        tokio::select! {
            _ = async { tokio::join!(work.recorded(until), reporting) } => {}
            Some(_) = stops.next() => {}
            () = sleep_until(until) => {}
        }
    }

    fn note(&self, note: Note) {
        let queue = &self.worker.queue.url;
        match note {
            Note::ReceivesFail(error) => {
                warn!(queue, error, "receiving fails; redrive retries until it succeeds");
            }
            Note::ReceivesSucceed(errors) => info!(queue, errors, "receiving works again"),
            Note::ReceivedAgain(id) => {
                warn!(id, "received again while its handler still runs; the second receive is ignored");
            }
            Note::AttributeIgnored { batch, id, warning } => {
                let span = self.batches.get(&batch).map_or(Span::none(), |batch| batch.begun.span.clone());
                span.in_scope(|| log::ignored_attribute(&id, &warning));
            }
            Note::IsDown { dependency, error } => log::is_down(&dependency, &error),
            Note::IsUp { dependency } => log::is_up(&dependency),
            Note::IsNotNeeded { dependency, needed } => log::is_not_needed(&dependency, &needed),
            Note::Overloaded { .. } => {}
            Note::TokensFail(error) => {
                warn!(error, "the shared rate cannot be reached; redrive receives nothing until it can");
            }
            Note::TokensSucceed => info!("the shared rate can be reached again"),
            Note::LeaseLost => self.worker.vitals.lease_lost(),
            Note::ExtensionsFail(error) => {
                warn!(error, "leases are not extended; redrive retries until they end");
            }
            Note::ExtensionsSucceed => info!("leases are extended again"),
            Note::Drains(why) => {
                self.worker.vitals.drains();
                if let Some(why) = why {
                    let in_hand = self.engine.in_hand().0;
                    warn!(error = %Error::from(why), in_hand, "the worker ends");
                }
            }
            Note::Cancels => {
                let in_hand = self.engine.in_hand().0;
                warn!(in_hand, "REDRIVE_DRAIN has passed: handlers are canceled");
            }
        }
    }
}
