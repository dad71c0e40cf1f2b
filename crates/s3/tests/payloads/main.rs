//! Consumers whose bodies are in S3: the real clients, an S3 on loopback, and the queues of the test kit.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod store;
mod messages;
mod consumers;
mod limits;
mod uploads;
mod guide;
