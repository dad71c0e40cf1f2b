//! Every decision about a message, without I/O: what runs, when SQS is called for what, what each answer means, and when it
//! ends. A shell tells the engine what has happened ([`Engine::on`]), does what it says ([`Engine::next`]), and comes back
//! when it wants to be woken ([`Engine::wake_at`]). Times count from the engine's start.
//!
//! `LambdaShell` is the shell of a batch of Lambda's: it has an engine for each batch, whose lease is the deadline, and a message
//! is deleted by being absent from the response. `WorkerLoop` is the shell of a worker, with one engine for its life.

#![expect(missing_docs, reason = "its fields are for redrive alone")]
#![expect(clippy::must_use_candidate, reason = "redrive uses all that it asks for")]

mod backoff;
mod batch;
pub mod breaker;
mod choices;
pub mod decide;
mod deliveries;
mod engine;
#[cfg(all(test, debug_assertions))]
mod explorer;
mod error_summary;
#[doc(hidden)]
pub mod guards;
pub mod keys;
mod lambda;
mod names;
mod outbox;
mod overrides;
mod pacing;
mod panics;
pub mod plan;
mod settlement;
mod settling;
#[cfg(test)]
mod testing;
mod worker;

use std::ops::{Deref, Range};
use std::sync::Arc;
use std::time::Duration;

pub use self::backoff::{Backoff, InvalidBackoff, Jitter, parse_backoff};
pub use self::batch::{GRACE, Message, Worked};
use self::breaker::Breakers;
pub use self::choices::{LastDelivery, OnFailure, Overrides};
use self::decide::Policy;
pub use self::deliveries::Deliveries;
pub use self::engine::Engine;
pub use self::error_summary::{Disposition, ErrorSummary};
use self::keys::{BatchKey, LeaseKey, MessageKey};
pub use self::lambda::{BatchLimits, LambdaEngine};
pub use self::names::Secret;
pub use self::outbox::SettleCall;
pub use self::overrides::{MessageOverrides, max_attempts};
pub use self::pacing::rate::{ALLOWED, Rate};
pub use self::pacing::tokens::{Bucket, Lease};
pub use self::panics::{MAX_PANICS, PanicStreak};
pub use self::settlement::{Description, NextStep, Outcome, Ran, Settlement, State};
pub use self::settling::{Call, Confirmation, Extension};
pub use self::worker::receive::{Arrival, Poll, Receiving};
pub use self::worker::{Exit, ExitReason, WorkerEngine};

/// The time since the engine's start.
pub type Time = Duration;

/// What the engine asks of a message.
pub trait MessageMeta {
    fn id(&self) -> &str;

    /// The receive count.
    fn attempt(&self) -> u32;

    fn group(&self) -> Option<&str>;

    /// What it asks for with its attributes, if anything, and what of these cannot be read.
    fn overrides(&self, policy: &Policy<'_>) -> Option<(MessageOverrides, Vec<String>)>;

    /// When it was received for the first time, since the epoch of the wall clock.
    fn first_received(&self) -> Option<Time>;

    /// The dependencies that the user's function names for it.
    fn dependencies(&self) -> Vec<String>;

    /// Which messages it shares a rate with, as the user's function says.
    fn rate_key(&self) -> Option<String>;
}

impl<P: Deref<Target: MessageMeta>> MessageMeta for P {
    fn id(&self) -> &str {
        (**self).id()
    }

    fn attempt(&self) -> u32 {
        (**self).attempt()
    }

    fn group(&self) -> Option<&str> {
        (**self).group()
    }

    fn overrides(&self, policy: &Policy<'_>) -> Option<(MessageOverrides, Vec<String>)> {
        (**self).overrides(policy)
    }

    fn first_received(&self) -> Option<Time> {
        (**self).first_received()
    }

    fn dependencies(&self) -> Vec<String> {
        (**self).dependencies()
    }

    fn rate_key(&self) -> Option<String> {
        (**self).rate_key()
    }
}

/// What has happened.
#[derive(Debug, Clone)]
pub enum Event<F> {
    /// Handlers have ended. The messages of one call come together, and within a lane in order.
    Ended(Vec<Worked>),
    /// Nothing of a batch runs, of which no more messages are to begin.
    Idle(BatchKey),
    /// What ran of a batch was given up, with these outcomes. [`Self::Exhausted`] comes before it.
    GivenUp { batch: BatchKey, worked: Vec<Worked> },
    /// The handlers of a worker's messages still run although they were canceled at their time limit.
    Overdue(Vec<MessageKey>),
    /// A handler has returned that blocked its thread when its batch was given up.
    Unblocked(BatchKey),
    /// A call has ended. SQS may have carried it out for a message without an answer.
    Answered { call: Call, answers: Vec<(MessageKey, Confirmation)>, took: Duration },
    /// A receive has brought messages.
    Received { poll: Poll, messages: Vec<Arrival<F>> },
    /// A receive has failed. `random` is from 0 to 1.
    NotReceived { poll: Poll, random: f64, error: String },
    /// Tokens of the shared rate, or why there are none.
    Leased(Result<Lease, String>),
    /// The call that extends leases was answered, or why it was not.
    Extended {
        asked: Time,
        leases: Vec<(LeaseKey, u64)>,
        answers: Result<Vec<(LeaseKey, Extension)>, String>,
    },
    /// Whether too many threads are blocked for handlers to run.
    Exhausted(bool),
    /// Hooks and the observer run for so many messages, of so many bytes, which are in memory until then.
    Reporting { messages: usize, bytes: usize },
    /// A signal came: the worker ends. The second one ends it at once.
    Stop,
}

/// What the shell is to do.
#[derive(Debug, Clone)]
pub enum Command {
    /// Make a batch of the messages of these leases, in the order of their records: the `order` in which they begin, and
    /// when their handlers are to be canceled.
    Begin { batch: BatchKey, leases: Vec<LeaseKey>, order: Arc<[usize]>, until: Time },
    /// Run the messages of lanes, one after the other as long as each is done.
    Run { batch: BatchKey, lanes: Vec<Range<usize>> },
    /// Take lanes back that begin with one of these and wait for a runner, and answer with [`Event::Ended`].
    Withdraw { batch: BatchKey, places: Vec<usize> },
    /// Begin no more messages of a batch, and say when it is [idle](Event::Idle).
    Stop(BatchKey),
    /// Cancel what runs of a batch, too, and say when it is [idle](Event::Idle).
    Cancel(BatchKey),
    /// Give up what runs of a batch, and answer with [`Event::GivenUp`].
    GiveUp(BatchKey),
    /// Call SQS.
    Call(Call),
    /// Receive so many messages.
    Receive(Poll),
    /// Lease up to so many tokens of the shared rate, and answer with [`Event::Leased`].
    Lease(u32),
    /// Extend leases to so many seconds from now.
    Extend(Vec<(LeaseKey, u64)>),
    /// The message of this lease is no longer in hand.
    Forget(LeaseKey),
    /// Nothing more happens to the messages of a batch. In the order of their records.
    Report { batch: BatchKey, settled: Vec<Settlement> },
    /// Log or count this.
    Note(Note),
    /// Handle no more batches, and end the process when all are answered.
    EndProcess(ExitReason),
    /// End the worker.
    Exit(Exit),
}

/// What is only for the log and the metrics.
#[derive(Debug, Clone)]
pub enum Note {
    /// The first of consecutive receives has failed.
    ReceivesFail(String),
    /// Receives succeed again, after so many errors.
    ReceivesSucceed(u32),
    /// A message, or another of this group, was received while its handler still runs. The second receive is ignored.
    ReceivedAgain(String),
    /// An attribute of this message cannot be read.
    AttributeIgnored {
        batch: BatchKey,
        id: String,
        warning: String,
    },
    /// A dependency is down: several outages in a row.
    IsDown {
        dependency: String,
        error: String,
    },
    /// It works again.
    IsUp {
        dependency: String,
    },
    /// Time ran out for most messages of a batch, which were not started.
    Overloaded {
        unstarted: usize,
        all: usize,
    },
    /// The first of consecutive leases of tokens has failed.
    TokensFail(String),
    TokensSucceed,
    /// The lease of a message was lost.
    LeaseLost,
    /// The first of consecutive extensions has failed.
    ExtensionsFail(String),
    ExtensionsSucceed,
    /// The worker begins no more messages.
    Drains(Option<ExitReason>),
    /// The drain time has passed.
    Cancels,
}

/// What the batches of a process share.
#[derive(Debug, Clone)]
pub struct Shared {
    /// Of the hashes of names.
    pub secret: Secret,
    pub streak: PanicStreak,
    pub breakers: Breakers,
    /// A function's process has outlived all suspects of a batch, so it isolates those of later batches no longer.
    pub outlived_suspects: bool,
}

impl Shared {
    pub fn new(secret: Secret) -> Self {
        Self {
            secret,
            streak: PanicStreak::default(),
            breakers: Breakers::new(secret),
            outlived_suspects: false,
        }
    }
}

#[cfg(test)]
impl Default for Shared {
    fn default() -> Self {
        Self::new(Secret::FOR_TESTS)
    }
}

#[cfg(test)]
mod tests;
