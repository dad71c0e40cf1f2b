//! Senders against the queues of the test kit, with the real SDK client.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod faults;
mod options;
mod schedules;
