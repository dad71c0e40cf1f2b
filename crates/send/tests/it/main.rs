//! Senders against the queues of the test kit, with the real SDK client, and against a server that fails.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod faults;
mod many;
mod options;
