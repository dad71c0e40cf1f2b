//! The layer between a Runtime API and the real runtime clients of Python and Node, with functions that know nothing of it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::disallowed_methods, reason = "tests may read the clock")]

mod support;

/// Messages from the queue to their end, under redrive-local.
mod outcomes;
/// The layer's requests to Lambda, one by one.
mod protocol;
