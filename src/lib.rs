#![doc = include_str!("crate.md")]
#![warn(clippy::exhaustive_enums)]
#![cfg_attr(
    not(feature = "worker"),
    allow(dead_code, unused_imports, reason = "parts of the library are for workers")
)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests may read the clock"))]

// ARCHITECTURE.md, "Folders", says what is in each.
mod erased;
mod run;
#[cfg(feature = "worker")]
mod worker;
mod consumer;
mod settings;
mod handler;
mod message;
mod failure;
mod error;
pub mod once;
mod lambda;
mod runners;
mod aws;
mod telemetry;
pub mod tokens;
pub mod testing;
#[doc(hidden)]
pub mod tools;
pub mod reexports;
#[cfg(test)]
#[path = "tests/testing.rs"]
mod unit_testing;
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

pub use consumer::{Consumer, QueueSettings};
pub use error::Error;
pub use failure::{BoxError, Failure, Verdict};
pub use handler::Handler;
pub use handler::bulk::{Bulk, Item, Rulings};
pub use handler::hook;
pub use handler::other_event::OtherEvent;
pub use message::bodies::{Bodies, Body};
pub use message::body::{Raw, Text};
pub use message::envelope;
pub use message::invocation::Invocation;
pub use message::record::Record;
pub use message::{FromMessage, Message};
#[doc(inline)]
pub use redrive_engine::{Backoff, InvalidBackoff, Jitter, LastDelivery, OnFailure, Overrides, Rate};
/// The counts and times of one batch. To publish your own metrics from it, see [`Consumer::observe`].
///
/// ```
/// # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
/// let consumer = redrive::Consumer::new(place).observe(|report: &redrive::BatchReport| {
///     if report.dead_lettered > 0 {
///         tracing::warn!(report.queue, report.dead_lettered, report.records, "dead letters");
///     }
/// });
/// ```
#[doc(inline)]
pub use redrive_observers::BatchReport;
#[doc(inline)]
pub use redrive_sqs::{Attribute, Attributes, DeadLetter, Origin};
pub use run::run;
pub use runners::{Chunks, Input};
pub use settings::Metrics;
pub use telemetry::message_report::{MessageOutcome, MessageReport, Timing};
#[cfg(feature = "worker")]
pub use worker::{Consumers, Monitor};
