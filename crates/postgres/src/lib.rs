#![doc = include_str!("crate.md")]
// `first_time.sql` decides; `inbox` and `sqlx` run it with one client each.
#![warn(clippy::exhaustive_enums)]

#[cfg(feature = "tokio-postgres")]
mod inbox;
#[cfg(feature = "sqlx")]
pub mod sqlx;
#[cfg(feature = "tokio-postgres")]
mod outbox;
mod error;
mod last_delivery;
mod names;
mod statements;

#[cfg(doctest)]
mod book_tests;

pub use error::InboxError;
#[cfg(feature = "tokio-postgres")]
pub use error::OutboxError;
#[cfg(feature = "tokio-postgres")]
pub use inbox::Inbox;
#[cfg(feature = "tokio-postgres")]
pub use outbox::{OUTBOX_SCHEMA, Outbox, Relay};
pub use statements::SCHEMA;
/// The client whose transactions are in this interface.
#[cfg(feature = "tokio-postgres")]
pub use tokio_postgres;
