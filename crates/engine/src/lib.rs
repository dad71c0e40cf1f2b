//! The state machine that makes every decision about a message, without I/O. A shell reports events ([`Engine::on`]), performs
//! commands ([`Engine::next`]), and wakes the engine when it asks ([`Engine::wake_at`]). Times count from the engine's start.
//!
//! It has two machines. A [`LambdaEngine`] lives for one Lambda batch: its lease is the deadline, and Lambda deletes the messages
//! that the response does not name. A [`WorkerEngine`] lives as long as its worker, which receives and deletes messages itself.

// Modules:
// - `engine`: the state machine; `lambda`, `worker`: its two machines
// - `batch`: the messages of one batch; `plan`: their lanes; `settlement`: outcomes, next steps and states
// - `decide`: the next step after an outcome; `deliveries`: the position of an attempt; `error_summary`: failures as plain values
// - `backoff`: delays; `overrides`: the requests of single messages; `choices`: settings with few values
// - `settling`: the calls to SQS and their answers; `outbox`: the entries that wait for a call
// - `breaker`: circuit breakers of dependencies; `panics`: consecutive panics; `pacing`: rates and the number of handlers
// - `keys`: the keys of batches, messages and leases; `names`: values by names that senders choose
// - `guards`: conditions that the explorer can switch off; `explorer`: every sequence of events within bounds; `testing`: fixtures

#![expect(missing_docs, reason = "its fields are for redrive alone")]
#![expect(clippy::must_use_candidate, reason = "redrive uses all that it asks for")]

mod backoff;
mod batch;
mod breaker;
mod choices;
pub mod decide;
mod deliveries;
mod engine;
#[cfg(test)]
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

pub use self::backoff::{Backoff, DOUBLING, InvalidBackoff, Jitter, longest_delay, parse_backoff};
pub use self::batch::{GRACE, Message, Worked};
use self::breaker::Breakers;
pub use self::choices::{LastDelivery, OnFailure, Overrides};
use self::decide::Policy;
pub use self::deliveries::Deliveries;
pub use self::engine::Engine;
pub use self::error_summary::{Disposition, ErrorSummary};
use self::keys::{BatchKey, LeaseKey, MessageKey};
pub use self::lambda::{BatchLimits, LambdaEngine};
use self::names::ByName;
pub use self::names::Secret;
pub use self::outbox::SettleCall;
pub use self::overrides::{MessageOverrides, max_attempts};
pub use self::pacing::places::{Places, PlacesInUse};
pub use self::pacing::rate::{ALLOWED, Rate, parse_rate, rate_refusal};
pub use self::pacing::tokens::{Bucket, Lease};
pub use self::panics::{MAX_PANICS, PanicStreak};
pub use self::settlement::{Description, NextStep, Outcome, Ran, Settlement, State};
pub use self::settling::{Call, Confirmation, Extension};
pub use self::worker::receive::{Arrival, Poll, Receiving};
pub use self::worker::{Exit, ExitReason, WorkerEngine};

/// The time since the engine's start.
pub type Time = Duration;

/// The data and settings of a message that the engine reads.
pub trait MessageMeta {
    fn id(&self) -> &str;

    /// The receive count.
    fn attempt(&self) -> u32;

    fn group(&self) -> Option<&str>;

    /// Reads the overrides in its attributes, if it has any, and returns a warning for each one that is invalid.
    fn overrides(&self, policy: &Policy<'_>) -> Option<(MessageOverrides, Vec<String>)>;

    /// Returns the time of its first receive, since the epoch of the wall clock.
    fn first_received(&self) -> Option<Time>;

    /// Returns the dependencies that the user's function names for it.
    fn dependencies(&self) -> Vec<String>;

    /// Returns the key that the user's function gives it. Messages with the same key share a rate.
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

/// An event that the shell reports.
#[derive(Debug, Clone)]
pub enum Event<F> {
    /// Handlers have ended. The messages of one call are together, and those of a lane are in order.
    Ended(Vec<Worked>),
    /// No message of a stopped or canceled batch runs any more.
    Idle(BatchKey),
    /// The shell has given up the running handlers of a batch, with these outcomes. It reports [`Self::Exhausted`] first.
    GivenUp { batch: BatchKey, worked: Vec<Worked> },
    /// The handlers of a worker's messages still run although they were canceled at their time limit.
    Overdue(Vec<MessageKey>),
    /// A handler that blocked its thread when its batch was given up has returned.
    Unblocked(BatchKey),
    /// A call has ended. SQS may have carried it out for a message without an answer.
    Answered { call: Call, answers: Vec<(MessageKey, Confirmation)>, took: Duration },
    /// A receive has returned these messages.
    Received { poll: Poll, messages: Vec<Arrival<F>> },
    /// A receive has failed. `random` is from 0 to 1.
    NotReceived { poll: Poll, random: f64, error: String },
    /// The answer to a lease of tokens of the shared rate, or the error.
    Leased(Result<Lease, String>),
    /// The answer to an extension of leases, or the error.
    Extended {
        asked: Time,
        leases: Vec<(LeaseKey, u64)>,
        answers: Result<Vec<(LeaseKey, Extension)>, String>,
    },
    /// Only this many handlers may run at a time, because the queues of a process share them. Until the first one of these, the
    /// worker's own limit holds.
    Places(usize),
    /// True if too many threads are blocked for handlers to run.
    Exhausted(bool),
    /// Hooks and the observer still run for this many messages and bytes, which are in memory until they end.
    Reporting { messages: usize, bytes: usize },
    /// The process has received a signal. The first one starts the drain, the second one ends the worker at once.
    Stop,
}

/// A command to the shell.
#[derive(Debug, Clone)]
pub enum Command {
    /// Make a batch of the messages of these leases, in the order of their records. Messages begin in `order`, and their
    /// handlers are canceled at `until`.
    Begin { batch: BatchKey, leases: Vec<LeaseKey>, order: Arc<[usize]>, until: Time },
    /// Run the messages of each lane one after the other, as long as each is done.
    Run { batch: BatchKey, lanes: Vec<Range<usize>> },
    /// Withdraw the lanes that begin at one of these places and still wait for a runner, and answer with [`Event::Ended`].
    Withdraw { batch: BatchKey, places: Vec<usize> },
    /// Stop beginning messages of a batch, and report when it is [idle](Event::Idle).
    Stop(BatchKey),
    /// Stop a batch, cancel its running handlers, and report when it is [idle](Event::Idle).
    Cancel(BatchKey),
    /// Give up the running handlers of a batch, and answer with [`Event::GivenUp`].
    GiveUp(BatchKey),
    /// Call SQS.
    Call(Call),
    /// Receive messages.
    Receive(Poll),
    /// Lease up to this many tokens of the shared rate, and answer with [`Event::Leased`].
    Lease(u32),
    /// Extend leases, each to this many seconds from now.
    Extend(Vec<(LeaseKey, u64)>),
    /// Forget the message of this lease, which is no longer in hand.
    Forget(LeaseKey),
    /// Report the messages of a finished batch, in the order of their records.
    Report { batch: BatchKey, settled: Vec<Settlement> },
    /// Log or count this.
    Note(Note),
    /// Stop handling batches, and end the process when all are answered.
    EndProcess(ExitReason),
    /// End the worker.
    Exit(Exit),
}

/// An observation for the log and the metrics.
#[derive(Debug, Clone)]
pub enum Note {
    /// A receive has failed, the first in a row.
    ReceivesFail(String),
    /// Receives succeed again, after this many errors.
    ReceivesSucceed(u32),
    /// A message, or another of this group, was received while its handler still runs. The second receive is ignored.
    ReceivedAgain(String),
    /// An attribute of this message cannot be read.
    AttributeIgnored {
        batch: BatchKey,
        id: String,
        warning: String,
    },
    /// A dependency is down, after several outages in a row.
    IsDown {
        dependency: String,
        error: String,
    },
    /// The dependency works again.
    IsUp {
        dependency: String,
    },
    /// A failure names this dependency, but the user's function names only others for its message. Noted once for each name.
    IsNotNeeded {
        dependency: String,
        needed: Vec<String>,
    },
    /// Time ran out before most messages of a batch were started.
    Overloaded {
        unstarted: usize,
        all: usize,
    },
    /// A lease of tokens has failed, the first in a row.
    TokensFail(String),
    TokensSucceed,
    /// The lease of a message was lost.
    LeaseLost,
    /// An extension has failed, the first in a row.
    ExtensionsFail(String),
    ExtensionsSucceed,
    /// The worker stops beginning messages.
    Drains(Option<ExitReason>),
    /// The drain time has passed, and the worker cancels its handlers.
    Cancels,
}

/// State that the batches of a process share.
#[derive(Debug, Clone)]
pub struct Shared {
    /// The key of the hashes of names.
    pub secret: Secret,
    pub streak: PanicStreak,
    pub breakers: Breakers,
    /// The names that were [noted](Note::IsNotNeeded), and when.
    unneeded: ByName<Time>,
    /// True once a function's process has outlived all suspects of a batch. It then stops isolating those of later batches.
    pub outlived_suspects: bool,
}

impl Shared {
    pub fn new(secret: Secret) -> Self {
        Self {
            secret,
            streak: PanicStreak::default(),
            breakers: Breakers::new(secret),
            unneeded: ByName::new(secret),
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
