//! Spans and metrics of consumers on redrive-local, in memory and over OTLP.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::disallowed_methods, reason = "tests may read the clock")]

mod support;

/// Names, parents and links of the spans of messages.
mod spans;
/// Spans of messages that did not succeed.
mod outcomes;
/// Counts and durations.
mod metrics;
/// Exports before the answer, and never past the deadline.
mod flushing;
/// The example as a process, and a collector on loopback.
mod otlp;
/// The page in the book has all names of the code.
mod page;
