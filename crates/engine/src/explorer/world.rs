//! A state of the whole cycle, and the types of its steps.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use redrive_local::NewMessage;
use redrive_local::rules::{Received, Sqs};

use super::{Bounds, Consumes};
use crate::batch::Batch;
use crate::breaker::UNNAMED;
use crate::decide::Policy;
use crate::keys::{BatchKey, LeaseKey, MessageKey};
use crate::outbox::Outbox;
use crate::pacing::rate::Rate;
use crate::{
    Arrival, Call, Command, Event, Extension, LambdaEngine, Message, MessageMeta, Poll, Receiving, Secret,
    Shared, Time, WorkerEngine,
};
use crate::{Backoff, MessageOverrides};
use crate::{Bucket, Lease};
use crate::{LastDelivery, OnFailure, Overrides};

/// The visibility timeout of the queue, which the mapping's receives have.
pub(super) const OF_THE_QUEUE: Duration = Duration::from_secs(6);
/// The times from a delivery to the deadline of the invocation, to the cancellation of handlers, and to the end of calls.
pub(super) const DEADLINE: Duration = Duration::from_secs(3);
pub(super) const UNTIL: Duration = Duration::from_secs(2);
pub(super) const SETTLE_UNTIL: Duration = Duration::from_millis(2_900);
pub(super) const DRAIN: Duration = Duration::from_secs(2);
/// The rate that workers share.
const SHARED: Rate = Rate::per_second(1).burst(1);
/// Commands that may follow from one event.
pub(super) const ENDLESS: usize = 200;

/// A message as a receive has returned it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fact {
    pub(super) message: usize,
    pub(super) attempt: u32,
    pub(super) group: Option<&'static str>,
    pub(super) handle: String,
}

impl MessageMeta for Fact {
    fn id(&self) -> &str {
        ["m1", "m2", "m3"][self.message]
    }

    fn attempt(&self) -> u32 {
        self.attempt
    }

    fn group(&self) -> Option<&str> {
        self.group
    }

    fn overrides(&self, _: &Policy<'_>) -> Option<(MessageOverrides, Vec<String>)> {
        None
    }

    fn first_received(&self) -> Option<Time> {
        None
    }

    fn dependencies(&self) -> Vec<String> {
        Vec::new()
    }

    fn rate_key(&self) -> Option<String> {
        Some("all".to_owned())
    }
}

/// The engine of a consumer.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "each consumer has one")]
pub(super) enum Machine {
    Worker(WorkerEngine<'static, Arc<Fact>>),
    Sandbox(LambdaEngine<'static, Arc<Fact>>),
}

/// Does the same with either engine.
macro_rules! either {
    ($machine:expr, $engine:ident => $does:expr) => {
        match $machine {
            Machine::Worker($engine) => $does,
            Machine::Sandbox($engine) => $does,
        }
    };
}

impl Machine {
    pub(super) fn on(&mut self, event: Event<Arc<Fact>>, now: Time) {
        either!(self, engine => engine.on(event, now));
    }

    pub(super) fn next(&mut self, now: Time) -> Option<Command> {
        either!(self, engine => engine.next(now))
    }

    pub(super) fn wake_at(&self) -> Option<Time> {
        either!(self, engine => engine.wake_at())
    }

    pub(super) fn message(&self, key: MessageKey) -> Option<&Message<Arc<Fact>>> {
        either!(self, engine => engine.message(key))
    }

    pub(super) const fn batches(&self) -> &BTreeMap<BatchKey, Batch<Arc<Fact>>> {
        either!(self, engine => &engine.batches)
    }

    pub(super) const fn outbox(&self) -> &Outbox {
        either!(self, engine => &engine.outbox)
    }

    pub(super) const fn shared(&self) -> &Shared {
        either!(self, engine => &engine.context.shared)
    }

    pub(super) const fn shared_mut(&mut self) -> &mut Shared {
        either!(self, engine => &mut engine.context.shared)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum HandlerEnd {
    Done,
    Fails,
    Rejects,
    Outage,
    /// In a bulk handler, the first message is done, the others are not.
    DoneInPart,
}

/// The fate of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum CallFate {
    Well,
    /// It does not arrive.
    Lost,
    /// It arrives, and its answer is lost.
    Unanswered,
    /// One of its entries is not done, and is not confirmed.
    Without(u8),
    /// It arrives, and is answered later.
    AnsweredLater,
    /// It arrives later.
    Later,
    /// It has arrived, and its answer arrives.
    Answered,
    /// It has taken as long as it may.
    TimedOut,
    /// Its caller has stopped waiting, and it may still arrive.
    Strays,
    /// It is done and answered, and may arrive a second time.
    Repeated,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Step {
    Ends {
        who: u8,
        handler: u8,
        says: HandlerEnd,
    },
    /// A handler is canceled.
    IsCanceled {
        who: u8,
        handler: u8,
    },
    /// A handler does not notice that it is canceled.
    Ignores {
        who: u8,
        handler: u8,
    },
    /// A handler that was given up returns.
    Returns {
        who: u8,
        blocked: u8,
    },
    Calls {
        who: u8,
        call: u8,
        goes: CallFate,
    },
    /// SQS answers a receive with at most this many messages.
    Receives {
        who: u8,
        call: u8,
        most: u8,
        goes: CallFate,
    },
    /// The mapping hands messages to a sandbox.
    Delivers {
        who: u8,
        most: u8,
    },
    /// SQS makes a message visible that a consumer has.
    Duplicates {
        message: u8,
    },
    /// A call arrives after its caller has stopped waiting.
    Arrives {
        stray: u8,
    },
    Kill {
        who: u8,
    },
    Signal {
        who: u8,
    },
    /// Only this many handlers of a worker may run from now on.
    Places {
        who: u8,
        places: u8,
    },
    /// A process and its machine stand still until its next step.
    Sleep {
        who: u8,
    },
    Wake {
        who: u8,
    },
    /// Time advances to the next due event. Polls that return nothing until then begin again, unless they are old.
    Time {
        old_polls: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Mood {
    Runs,
    Canceled,
    Deaf,
}

#[derive(Debug, Clone)]
pub(super) struct Running {
    pub(super) batch: BatchKey,
    /// The lanes of a bulk handler's call, or one.
    pub(super) lanes: Vec<Range<usize>>,
    /// One message, or all of the lanes of a bulk handler's call.
    pub(super) facts: Vec<Arc<Fact>>,
    pub(super) mood: Mood,
    pub(super) began: Time,
    /// True if it tries a dependency that is down.
    pub(super) is_trial: bool,
}

#[derive(Debug, Clone)]
pub(super) enum SqsRequest {
    Settle { call: Call, facts: Vec<Arc<Fact>> },
    Extend { asked: Time, leases: Vec<(LeaseKey, u64)>, facts: Vec<Arc<Fact>> },
    Receive(Poll),
}

#[derive(Debug, Clone)]
pub(super) enum CallProgress {
    Fresh,
    /// It arrives later.
    Slow,
    /// It has arrived, with this answer.
    Acted(Answer),
}

#[derive(Debug, Clone)]
pub(super) enum Answer {
    Settlement(Vec<MessageKey>),
    Extended(Vec<(LeaseKey, Extension)>),
    Received(Vec<Arc<Fact>>),
}

#[derive(Debug, Clone)]
pub(super) struct UnderWay {
    pub(super) what: SqsRequest,
    pub(super) way: CallProgress,
    /// The time at which the caller stops waiting, by the engine's clock.
    pub(super) limit: Time,
}

/// A worker's process, or a sandbox of Lambda's.
#[derive(Debug, Clone)]
pub(super) struct Consumer {
    pub(super) consumes: Consumes,
    /// The time at which the engine's clock began.
    pub(super) began: Time,
    pub(super) engine: Option<Machine>,
    pub(super) lanes: VecDeque<(BatchKey, Range<usize>)>,
    pub(super) running: Vec<Running>,
    pub(super) blocked: Vec<(BatchKey, Arc<Fact>)>,
    /// Batches that begin no more messages.
    pub(super) ending: Vec<BatchKey>,
    pub(super) calls: Vec<UnderWay>,
    pub(super) leases: BTreeMap<LeaseKey, Arc<Fact>>,
    /// Messages in the order in which they begin.
    pub(super) batches: BTreeMap<BatchKey, Vec<Arc<Fact>>>,
    /// Handlers that may run at a time.
    pub(super) places: usize,
    pub(super) is_told: bool,
    pub(super) is_asleep: bool,
    pub(super) delivery: Vec<(Received, Arc<Fact>)>,
    /// The state between the batches of a sandbox.
    pub(super) shared: Shared,
    /// Messages that the handlers of a worker have done.
    pub(super) done: BTreeSet<usize>,
    /// Outages in a row.
    pub(super) outages: u8,
    /// True once the sandbox has responded to a batch with messages that may end a process.
    pub(super) has_outlived: bool,
    /// The time since which the dependency is down, and until which a message may begin only on its last delivery.
    pub(super) down_since: Option<Time>,
    pub(super) rests_until: Option<Time>,
}

/// The history of a message.
#[derive(Debug, Clone, Default)]
pub(super) struct MessageHistory {
    /// True once a handler has returned `Ok`.
    pub(super) is_done: bool,
    pub(super) letters: u8,
    pub(super) is_gone: bool,
    pub(super) deliveries: usize,
    /// The receipt handle of the last delivery.
    pub(super) handle: String,
    /// The time until which SQS hides each delivery.
    pub(super) leases: [Time; 4],
    /// True if its consumer has set when the delivery returns.
    pub(super) is_delayed: [bool; 4],
    /// True if the answer to its letter was lost.
    pub(super) has_lost_letter: bool,
    /// True if it was visible again without a call.
    pub(super) ran_out: bool,
    /// True if SQS has delivered it although a consumer had it.
    pub(super) is_copied: bool,
}

/// Faults that may still happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Left {
    pub(super) losses: u8,
    pub(super) kills: u8,
    pub(super) signals: u8,
    pub(super) deaf: u8,
    pub(super) duplicates: u8,
    pub(super) strays: u8,
    pub(super) changes_of_places: u8,
    /// Steps of time that are left while a handler runs.
    pub(super) patience: u8,
}

#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) bounds: &'static Bounds,
    pub(super) ids: Rc<[String]>,
    pub(super) now: Time,
    pub(super) queues: Rc<Sqs>,
    pub(super) is_receivable: bool,
    /// The bucket that workers share.
    pub(super) bucket: Bucket,
    pub(super) consumers: Vec<Rc<Consumer>>,
    pub(super) histories: Vec<MessageHistory>,
    /// Calls that may arrive at any time, although their callers have stopped waiting.
    pub(super) strays: Vec<SqsRequest>,
    pub(super) left: Left,
    /// Events of a step, if they are logged.
    pub(super) log: Option<Vec<String>>,
}

pub(super) type Checked<T = ()> = Result<T, String>;

impl World {
    pub(super) fn new(bounds: &'static Bounds) -> Self {
        let mut queues = Sqs::new("eu-central-1", "123456789012");
        let create = |queues: &mut Sqs, name: &str, attributes: &[(&str, &str)]| {
            let owned = attributes.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
            queues.create(name, &owned.collect(), at(Time::ZERO)).unwrap();
        };
        let (source, dead) = names(bounds);
        let fifo: &[_] = if bounds.is_fifo { &[("FifoQueue", "true")] } else { &[] };
        create(&mut queues, dead, fifo);
        let policy = format!(
            r#"{{"deadLetterTargetArn":"{}","maxReceiveCount":{}}}"#,
            queues.arn(dead),
            bounds.deliveries
        );
        let visibility = OF_THE_QUEUE.as_secs().to_string();
        let attributes = [("RedrivePolicy", policy.as_str()), ("VisibilityTimeout", &visibility)];
        create(&mut queues, source, &[&attributes, fifo].concat());
        let send = |(number, group): (usize, &&str)| {
            let group_id = bounds.is_fifo.then(|| (*group).to_owned());
            let deduplication_id = bounds.is_fifo.then(|| number.to_string());
            let message =
                NewMessage { body: "tea".to_owned(), group_id, deduplication_id, ..NewMessage::default() };
            queues.send(source, message, at(Time::ZERO)).unwrap().message_id
        };
        let ids: Rc<[String]> = bounds.groups.iter().enumerate().map(send).collect();
        queues.take_events();
        let mut world = Self {
            bounds,
            now: Time::ZERO,
            queues: Rc::new(queues),
            is_receivable: true,
            bucket: Bucket::full(&SHARED),
            consumers: bounds
                .consumers
                .iter()
                .map(|&it| Rc::new(Consumer::new(it, bounds, Time::ZERO)))
                .collect(),
            histories: vec![MessageHistory::default(); ids.len()],
            ids,
            strays: Vec::new(),
            left: Left {
                losses: bounds.losses,
                kills: bounds.kills,
                signals: bounds.signals,
                deaf: bounds.deaf,
                duplicates: bounds.duplicates,
                strays: bounds.strays,
                changes_of_places: bounds.changes_of_places,
                patience: bounds.patience,
            },
            log: None,
        };
        for who in 0..world.consumers.len() {
            world.drain(who).unwrap();
        }
        world
    }

    /// Returns true if nothing more must happen.
    pub(super) fn is_over(&self) -> bool {
        let is_at_rest = |it: &Rc<Consumer>| {
            it.running.is_empty()
                && !it.is_told
                && it.calls.iter().all(UnderWay::is_parked)
                && it.delivery.is_empty()
        };
        self.histories.iter().all(|history| history.is_gone) && self.consumers.iter().all(is_at_rest)
    }

    pub(super) fn lease(&mut self, most: u32) -> Lease {
        self.bucket.lease(most, &SHARED, self.now)
    }

    pub(super) fn queues(&mut self) -> &mut Sqs {
        Rc::make_mut(&mut self.queues)
    }

    pub(super) fn consumer(&mut self, who: usize) -> &mut Consumer {
        Rc::make_mut(&mut self.consumers[who])
    }

    pub(super) fn say(&mut self, text: impl FnOnce(&Self) -> String) {
        let text = self.log.is_some().then(|| text(self));
        if let Some((log, text)) = self.log.as_mut().zip(text) {
            log.push(text);
        }
    }

    pub(super) fn name(&self, who: usize) -> String {
        let letter = ['A', 'B'][who];
        match self.consumers[who].consumes {
            Consumes::Worker => format!("worker {letter}"),
            Consumes::Sandbox => format!("sandbox {letter}"),
        }
    }
}

impl Consumer {
    pub(super) fn new(consumes: Consumes, bounds: &Bounds, began: Time) -> Self {
        let receiving = Receiving {
            is_fifo: bounds.is_fifo,
            visibility: bounds.visibility,
            concurrency: bounds.concurrency,
            slow: None,
            chunk: bounds.chunk.map(|messages| (messages, usize::MAX)),
            drain: DRAIN,
            rate: bounds.shares_rate.then_some(SHARED),
            is_rate_shared: bounds.shares_rate,
            rate_of_key: bounds.has_rate.then_some(RATE),
        };
        let engine = match consumes {
            Consumes::Worker => {
                let chance = (1, Secret::FOR_TESTS);
                Some(Machine::Worker(WorkerEngine::of_worker(receiving, policy(bounds), began, chance)))
            }
            Consumes::Sandbox => None,
        };
        let (mut engine, mut shared) = (engine, Shared::default());
        for _ in 0..bounds.outages {
            shared.breakers.outage(UNNAMED, began);
        }
        if let Some(engine) = &mut engine {
            std::mem::swap(engine.shared_mut(), &mut shared);
        }
        Self {
            consumes,
            began,
            engine,
            lanes: VecDeque::new(),
            running: Vec::new(),
            blocked: Vec::new(),
            ending: Vec::new(),
            calls: Vec::new(),
            leases: BTreeMap::new(),
            batches: BTreeMap::new(),
            places: bounds.concurrency,
            is_told: false,
            is_asleep: false,
            delivery: Vec::new(),
            done: BTreeSet::new(),
            shared,
            outages: bounds.outages,
            has_outlived: false,
            down_since: None,
            rests_until: None,
        }
    }

    pub(super) fn arrival(&mut self, facts: Arc<Fact>) -> Arrival<Arc<Fact>> {
        let lease = LeaseKey(10 * facts.message + facts.attempt as usize);
        self.leases.insert(lease, Arc::clone(&facts));
        Arrival { lease, facts, body: 3, bytes: 3 }
    }

    /// Returns true if the process polls a handler. A worker does while the leases of its messages hold.
    pub(super) fn is_polled(&self, running: &Running, now: Time) -> bool {
        let Some(Machine::Worker(engine)) = &self.engine else { return true };
        engine.held_until(running.batch).is_some_and(|until| until > now - self.began)
    }

    pub(super) fn stop(&mut self, batch: BatchKey) {
        self.ending.push(batch);
        self.lanes.retain(|(of, _)| *of != batch);
    }
}

impl Running {
    /// Returns the places of its messages in their batch.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> {
        self.lanes.iter().cloned().flatten().take(self.facts.len())
    }
}

impl UnderWay {
    /// Returns true if it is a receive that waits for messages.
    pub(super) fn is_parked(&self) -> bool {
        matches!((&self.what, &self.way), (SqsRequest::Receive(_), CallProgress::Fresh))
    }

    pub(super) fn facts(&self) -> &[Arc<Fact>] {
        self.what.facts()
    }
}

impl SqsRequest {
    pub(super) fn facts(&self) -> &[Arc<Fact>] {
        match self {
            Self::Settle { facts, .. } | Self::Extend { facts, .. } => facts,
            Self::Receive(_) => &[],
        }
    }
}

pub(super) fn names(bounds: &Bounds) -> (&'static str, &'static str) {
    if bounds.is_fifo { ("tea.fifo", "dead.fifo") } else { ("tea", "dead") }
}

pub(super) fn at(time: Time) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_700_000_000) + time
}

const RATE: Rate = Rate::per_minute(60).burst(1);

pub(super) fn policy(bounds: &Bounds) -> Policy<'static> {
    let by_policy = bounds.by_redrive_policy;
    Policy {
        backoff: &Backoff::DOUBLING,
        overrides: Overrides::Off,
        is_fifo: bounds.is_fifo,
        longest: Duration::from_secs(43_200),
        max_receive_count: Some(bounds.deliveries),
        last_delivery: if by_policy { LastDelivery::RedrivePolicy } else { LastDelivery::DeadLetter },
        on_panic: OnFailure::DeadLetter,
        on_malformed: OnFailure::DeadLetter,
        has_dead_letter_queue: true,
        outage_horizon: Duration::from_secs(60),
        names_dependencies: false,
        has_store: false,
        suspects_from: bounds.suspects_from,
        ends: false,
    }
}
