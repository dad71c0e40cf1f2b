//! SQS, the Lambda event source mapping, the Lambda Runtime API and alarms in one process, on a clock you own.
//!
//! [`Local`] is all of it: it takes a [`Config`], runs unmodified functions, and tells what happens as [`Event`]s.
//! While an invocation runs, time passes at its own pace, since the function's code does; while nothing runs,
//! waiting is faster or skipped altogether ([`Speed`]).
//!
//! [`Remote`] runs the same functions by the same rules in front of real queues, in real time.
//!
//! For tests there is [`kit`]: the same queues, mapping and alarms on tokio's paused clock, without process or socket.

mod account;
mod clock;
mod cloudformation;
pub mod kit;
mod lambda;
mod local;
mod logs;
mod mapping;
mod metrics;
mod queue;
mod queues;
mod remote;
mod runtime_api;
mod server;
mod sqs;

pub use account::{Account, Delivery};
pub use clock::Speed;
pub use local::{
    AlarmConfig, ClockReading, Config, Control, Event, EventKind, FunctionConfig, InvocationOutcome, Local,
    MappingConfig, QueueConfig, StackConfig, StackOutput, StackResource, StartError, Totals, Vitals,
};
pub use mapping::{Filter, InvalidFilter};
pub use metrics::{AlarmState, Comparison, MissingData, Statistic, UnknownStatistic};
pub use queue::{AttributeValue, Counts, MessageAttribute, NewMessage, SqsError};
pub use queues::{QueueEvent, ResendError, SentMessage};
pub use remote::{FindQueueError, Remote, RemoteConfig, RemoteQueue};
pub use runtime_api::Access;
