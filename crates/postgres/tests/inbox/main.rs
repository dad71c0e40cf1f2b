//! The inbox in a real Postgres, which the tests start themselves.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod server;

/// Many workers on one key.
mod once;
/// A key that another transaction has.
mod busy;
/// A connection that breaks at the commit.
mod lost;
/// Snapshots that are older than the record.
mod isolation;
/// Creating the table, from several processes at once and with few rights.
mod migration;
mod pruning;
/// The inbox in transactions of sqlx.
mod sqlx;
/// Real consumers, on the queues of the test kit.
mod consumers;
/// Messages that are sent if a transaction commits.
mod outbox;
/// The examples as processes.
mod example;
