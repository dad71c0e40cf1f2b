#![doc = include_str!("crate.md")]
#![warn(clippy::exhaustive_enums)]
#![cfg_attr(
    not(feature = "worker"),
    allow(dead_code, unused_imports, reason = "parts of the library are for workers")
)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests may read the clock"))]

mod run;
#[cfg(feature = "worker")]
mod worker;
mod consumer;
mod handler;
mod bulk;
mod hook;
mod message;
mod record;
mod invocation;
mod records;
mod sample;
mod body;
mod bodies;
pub mod envelope;
pub mod once;
mod failure;
mod meaning;
mod judge;
mod record_fn;
mod settings;
mod retries;
mod error;
mod facts;
mod flow;
mod letter;
mod report;
mod settle;
mod work;
mod event;
mod other_event;
mod message_report;
mod polled;
mod metrics;
mod log;
mod aws;
mod wall;
pub mod tokens;
pub mod tools;
pub mod reexports;
#[cfg(test)]
#[path = "tests/testing.rs"]
mod testing;
#[cfg(any(test, fuzzing, redrive_bench))]
#[path = "tests/records.rs"]
mod testing_records;
#[cfg(test)]
#[path = "tests/last_attempt.rs"]
mod last_attempt_tests;
#[cfg(test)]
mod reference_tests;
#[cfg(doctest)]
mod book_tests;
#[cfg(any(test, redrive_bench))]
#[doc(hidden)]
#[path = "tests/steps.rs"]
pub mod steps;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
#[path = "tests/properties.rs"]
pub mod properties;

pub use bodies::{Bodies, Body};
pub use body::{Raw, Text};
pub use bulk::{Bulk, Item, Rulings};
pub use consumer::{Consumer, QueueSettings};
pub use error::Error;
pub use failure::{BoxError, Failure, Verdict};
pub use handler::Handler;
pub use hook::{Delivery, Hook, Next};
pub use invocation::Invocation;
pub use message::{FromMessage, Message};
pub use message_report::{MessageOutcome, MessageReport, Timing};
pub use other_event::OtherEvent;
pub use record::{Record, RecordBuilder};
#[doc(inline)]
pub use redrive_engine::{Backoff, InvalidBackoff, Jitter, LastDelivery, OnFailure, Overrides, Rate};
/// The counts and times of one batch. To publish your own metrics from it, see [`Consumer::observe`].
///
/// ```
/// # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
/// let consumer = redrive::Consumer::new(place).observe(|report| {
///     if report.dead_lettered > 0 {
///         tracing::warn!(report.queue, report.dead_lettered, report.records, "dead letters");
///     }
/// });
/// ```
#[doc(inline)]
pub use redrive_observers::BatchReport;
#[doc(inline)]
pub use redrive_sqs::{Attribute, Attributes, DeadLetter, Origin};
pub use run::{run, run_bulk};
pub use settings::Metrics;
pub use work::Input;
