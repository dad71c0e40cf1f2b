//! SQS, the Lambda event source mapping, the Lambda Runtime API and alarms in one process, on a clock that you control.
//!
//! [`Local`] does all of this: it takes a [`Config`], runs unmodified functions, and reports what happens as
//! [`Event`]s. While an invocation runs, time is real, because the function's code needs real time. While nothing
//! runs, waiting is faster or skipped altogether ([`Speed`]).
//!
//! [`Remote`] runs the same functions by the same rules in front of real queues, in real time.
//!
//! For tests there is [`kit`]: the same queues, mapping and alarms on tokio's paused clock, without process or socket.

// Modules:
// - `queue`: the rules of one queue; `sqs`: the queues of an account, and in `sqs/api` the operations that clients call
// - `cloudwatch`, `lambda`, `logs`, `cloudformation`, `sts`: the other services of the endpoint, each a table of operations (`api`, or `sts` itself)
// - `protocol`: requests and answers of any service: forms, XML, JSON, CBOR, errors, pages
// - `gate`: the guard in front of all routers: which clients may call, and how long a request may take
// - `mapping`: the rules of event source mappings, pure: filters, batches, responses, the next step (`poller`)
// - `run`: mappings on queues of this process; `remote`: on real ones; `kit`: on tokio's paused clock, for tests
// - `clock`: real, simulated or paused time; `runtime_api`: Lambda's Runtime API for functions
// - `command` (feature `command`): `redrive local`, its page, and what other verbs share with it. Only `output` writes to the terminal

#![warn(clippy::exhaustive_enums)]
#![allow(
    clippy::disallowed_methods,
    reason = "the drivers read clocks; queues, mappings and alarms take the time as an argument"
)]

mod account;
mod clock;
mod cloudformation;
mod cloudwatch;
#[cfg(feature = "command")]
#[expect(clippy::exhaustive_enums, clippy::must_use_candidate, reason = "for the command alone")]
#[doc(hidden)]
pub mod command;
mod gate;
pub mod kit;
mod lambda;
mod logs;
mod mapping;
mod protocol;
mod queue;
mod remote;
mod run;
mod runtime_api;
mod scheduler;
mod sqs;
mod sts;
mod values;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod properties;

/// Queues as plain values for the explorer of redrive's engine, which copies them for each state and compares them. Also the
/// parts of Lambda's event and response that `redrive work` uses.
#[doc(hidden)]
pub mod rules {
    pub use crate::mapping::{failed_messages, settle};
    pub use crate::queue::{Received, md5_of_body};
    pub use crate::sqs::Sqs;
}

/// The Runtime API of one process without the process, for `dev/bench/`.
#[doc(hidden)]
pub mod runtime {
    pub use crate::runtime_api::{Ended, Exchange, Offer, Reply, routes};
}

pub use account::{Account, Delivery};
pub use clock::Speed;
pub use cloudformation::{StackConfig, StackOutput, StackResource};
pub use cloudwatch::{AlarmConfig, AlarmState, Comparison, MissingData, Unit, is_published};
pub use gate::serve;
#[doc(hidden)]
pub use gate::{OnLink, serve_page};
pub use mapping::{Filter, InvalidFilter, MappingConfig};
pub use protocol::AwsError;
pub use queue::{AttributeValue, Counts, Letter, MessageAttribute, NewMessage};
pub use remote::{FindQueueError, Remote, RemoteConfig, RemoteQueue};
pub use run::{
    ClockReading, Config, Control, Event, EventKind, InvocationOutcome, Local, QueueConfig, StartError,
    StartFailure, Totals, Vitals, WorkerConfig,
};
pub use runtime_api::{Access, FunctionConfig};
pub use sqs::{QueueEvent, ResendError, SentMessage};
pub use values::{Statistic, UnknownStatistic};
