//! The layer between a Runtime API and the real runtime clients of Python and Node, with functions that know nothing of it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::disallowed_methods, reason = "tests may read the clock")]

mod support;

/// Messages from the queue to their end, under redrive-local.
mod outcomes;
/// What the layer says to Lambda, request by request.
mod protocol;
