//! Spans and metrics of consumers on redrive-local, in memory and over OTLP.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::disallowed_methods, reason = "tests may read the clock")]

mod support;

/// What the spans of messages are called, and what they belong to.
mod spans;
/// What spans say of messages that did not succeed.
mod outcomes;
/// What is counted and timed.
mod metrics;
/// Exports before the answer, and never past the deadline.
mod flushing;
/// The example as a process, and a collector on loopback.
mod otlp;
/// The page in the book names what the code does.
mod page;
