//! The loop of a worker: it polls, keeps leases, settles, and ends. Everything but handlers happens in this one task.

mod ending;
mod intake;
mod keeper;

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use aws_sdk_sqs::types::Message;
use futures_util::stream::{FuturesUnordered, Stream, StreamExt};
use redrive_sqs::lease::Leases;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::sleep_until;
use tracing::warn;

use self::ending::Phase;
use self::intake::Gathered;
use super::calls::Extension;
use super::clock::Clock;
use super::hold::{Key, Notice, Request};
use super::pollers::Pollers;
use super::protection::Protection;
use super::queue::SourceQueue;
use super::settler::{Answered, Settled, Settler};
use super::vitals::Vitals;
use crate::batch::work::Input;
use crate::error::Error;
use crate::flow::Flow;
use crate::records::Records;
use crate::{BatchReport, Handler, aws::Sqs};

/// The loop turns at least this often, to see whether the machine has slept.
const TURN: Duration = Duration::from_secs(2);
/// How often hooks flush what they were told.
const FLUSH: Duration = Duration::from_secs(1);

type Doing<'a> = FuturesUnordered<Pin<Box<dyn Future<Output = Did> + Send + 'a>>>;

/// What has ended.
enum Did {
    Poll {
        asked: usize,
        sent: Duration,
        result: Result<Vec<Message>, String>,
    },
    Extension {
        asked: Duration,
        leases: Vec<(Key, Arc<str>, u64)>,
        result: Result<Vec<(Key, Extension)>, String>,
    },
    Settling(Settled),
    Batch {
        number: Key,
        report: Result<(BatchReport, Weak<Records>), Error>,
    },
    Flush,
}

/// A message in hand.
struct Held {
    handle: Arc<str>,
    received: Duration,
    bytes: usize,
    /// Its batch, unless it goes back without having been in one, and its place among the records.
    batch: Option<(Key, usize)>,
    is_asked: bool,
}

struct Batch {
    /// Of its group or its message.
    name: Option<String>,
    keys: Vec<Key>,
    notices: UnboundedSender<Notice>,
}

/// What a worker is made of.
pub(super) struct Worker<'a, H> {
    pub(super) flow: Flow<'a>,
    pub(super) handler: &'a Arc<H>,
    pub(super) sqs: &'a Sqs,
    pub(super) queue: &'a SourceQueue,
    pub(super) vitals: &'a Arc<Vitals>,
    pub(super) protection: Option<&'a Protection>,
    /// How many messages are in hand at most.
    pub(super) capacity: usize,
    pub(super) drain: Duration,
}

pub(super) struct Drive<'a, H> {
    worker: Worker<'a, H>,
    clock: Clock,
    pollers: Pollers,
    leases: Leases<Key>,
    settler: Settler,
    phase: Phase,
    /// A signal has come.
    is_told: bool,
    /// Since when too many threads are blocked.
    blocked_since: Option<Duration>,
    gathered: Gathered,
    held: HashMap<Key, Held>,
    batches: HashMap<Key, Batch>,
    /// The latest batch of each group or message.
    names: HashMap<String, Key>,
    /// Those whose handlers block threads although their batches have ended.
    stuck: Vec<(String, Weak<Records>)>,
    /// Messages whose handlers have not ended.
    in_hand: usize,
    /// Of the messages that are held.
    bytes: usize,
    next_key: Key,
    asks: (UnboundedSender<Request>, UnboundedReceiver<Request>),
    doing: Doing<'a>,
    flush_at: Option<Duration>,
    is_extension_failing: bool,
}

impl<'a, H> Drive<'a, H> {
    pub(super) fn new(worker: Worker<'a, H>) -> Self {
        Self {
            clock: Clock::start(),
            pollers: Pollers::new(worker.capacity),
            leases: Leases::new(worker.queue.visibility),
            settler: Settler::new(worker.queue.is_fifo),
            phase: Phase::Running,
            is_told: false,
            blocked_since: None,
            gathered: Gathered::default(),
            held: HashMap::new(),
            batches: HashMap::new(),
            names: HashMap::new(),
            stuck: Vec::new(),
            in_hand: 0,
            bytes: 0,
            next_key: 0,
            asks: unbounded_channel(),
            doing: FuturesUnordered::new(),
            flush_at: None,
            is_extension_failing: false,
            worker,
        }
    }

    /// Works until it is told to end and everything is settled, or time is up. Says whether handlers were canceled.
    ///
    /// # Errors
    /// Not everything was settled, or the process can handle no more messages.
    pub(super) async fn run<M>(
        mut self,
        mut stops: impl Stream<Item = &'static str> + Unpin,
    ) -> Result<bool, Error>
    where
        H: Handler<M>,
        M: Input,
    {
        loop {
            let now = self.clock.now();
            self.keep(now);
            self.poll::<M>(now);
            self.settle(now);
            self.flush_hooks(now);
            self.worker.vitals.holds(self.in_hand, self.waiting());
            self.worker.protection.iter().for_each(|it| it.in_hand(self.in_hand));
            if let Some(end) = self.end(now) {
                return end;
            }
            let wake = self.clock.instant(self.wake_at::<M>(now));
            tokio::select! {
                biased;
                Some(signal) = stops.next() => self.told(signal)?,
                Some(request) = self.asks.1.recv() => self.asked(request),
                Some(did) = self.doing.next(), if !self.doing.is_empty() => self.did::<M>(did),
                () = sleep_until(wake) => {}
            }
        }
    }

    fn settle(&mut self, now: Duration) {
        let flush = self.phase.is_ending();
        loop {
            let handle = |key| self.held.get(&key).map(|held| (Arc::clone(&held.handle), held.received));
            let Some((job, lost)) = self.settler.next(&self.leases, now, flush, handle) else { return };
            lost.into_iter().for_each(|answer| self.answer(answer, Duration::ZERO));
            let (sqs, queue) = (self.worker.sqs, self.worker.queue);
            let dead = self.worker.flow.settings.dead_letter_queue_url.as_deref();
            let until =
                self.clock.instant(self.phase.settle_until().map_or(job.until, |end| job.until.min(end)));
            self.doing.push(Box::pin(async move { Did::Settling(job.run(sqs, queue, dead, until).await) }));
        }
    }

    fn flush_hooks(&mut self, now: Duration) {
        if self.flush_at.is_some_and(|at| at <= now) {
            self.flush_at = None;
            let flow = self.worker.flow;
            self.doing.push(Box::pin(async move {
                flow.flush_hooks().await;
                Did::Flush
            }));
        }
    }

    fn wake_at<M: Input>(&self, now: Duration) -> Duration {
        let polls = self.pollers.due_at().filter(|_| !self.phase.is_ending());
        let times = [
            polls,
            self.gathered.due_at().filter(|_| self.has_a_free_call::<M>()),
            self.leases.due_at(),
            self.leases.ends_at(),
            self.settler.due_at(),
            self.phase.due_at(),
            self.flush_at,
            Some(now + TURN),
        ];
        times.into_iter().flatten().min().unwrap_or(now)
    }

    /// A batch asks to settle a message, whose handler has ended.
    fn asked(&mut self, request: Request) {
        let now = self.clock.now();
        let mut next = Some(request);
        while let Some(request) = next {
            if let Some(held) = self.held.get_mut(&request.key) {
                self.in_hand -= usize::from(!std::mem::replace(&mut held.is_asked, true));
            }
            if let Some(answer) = self.settler.ask(request, &mut self.leases, now) {
                self.answer(answer, Duration::ZERO);
            }
            next = self.asks.1.try_recv().ok();
        }
    }

    fn answer(&mut self, answer: Answered, took: Duration) {
        let Answered { key, at, kind, confirmed } = answer;
        let Some(held) = self.held.get(&key) else { return };
        let batch = held.batch.and_then(|(number, _)| self.batches.get(&number));
        if let Some(batch) = batch {
            // A batch that has ended waits for no answer.
            let _ = batch.notices.send(Notice::Answered { at, kind, confirmed, took });
        } else {
            self.forget(key);
        }
        self.phase.answered(kind, confirmed);
    }

    fn forget(&mut self, key: Key) {
        self.leases.forget(key);
        if let Some(held) = self.held.remove(&key) {
            self.in_hand -= usize::from(!held.is_asked);
            self.bytes -= held.bytes;
        }
    }

    fn did<M>(&mut self, did: Did)
    where
        H: Handler<M>,
        M: Input,
    {
        let now = self.clock.now();
        match did {
            Did::Poll { asked, sent, result } => self.polled::<M>(asked, sent, result, now),
            Did::Extension { asked, leases, result } => self.extended(asked, &leases, result, now),
            Did::Settling(settled) => {
                self.worker.vitals.call_ended(settled.took, settled.keys.len() - settled.confirmed.len());
                let last = self.phase.settle_until();
                for answer in self.settler.answered(&settled, &mut self.leases, now, last) {
                    self.answer(answer, settled.took);
                }
            }
            Did::Batch { number, report } => {
                self.stuck.retain(|(_, alive)| alive.strong_count() > 0);
                if let Some(batch) = self.batches.remove(&number) {
                    let is_left = |key: &&Key| self.is_running(**key) && self.leases.until(**key).is_some();
                    let left = batch.keys.iter().filter(is_left).count();
                    self.phase.left(left);
                    batch.keys.iter().for_each(|key| self.forget(*key));
                    if let (Some(name), Ok((report, alive))) = (&batch.name, &report)
                        && report.stuck > 0
                    {
                        self.stuck.push((name.clone(), Weak::clone(alive)));
                    }
                    if let Some(name) = batch.name.filter(|name| self.names.get(name) == Some(&number)) {
                        self.names.remove(&name);
                    }
                }
                match report {
                    Ok((report, _)) => self.worker.vitals.reported(&report),
                    Err(error) => warn!(%error, "a message was not handled"),
                }
                self.flush_at.get_or_insert(now + FLUSH);
            }
            Did::Flush => {}
        }
    }
}
