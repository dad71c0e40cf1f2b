//! A store for [handling each message once](redrive::once), in DynamoDB, in the table layout of [Powertools for AWS
//! Lambda](https://docs.aws.amazon.com/powertools/python/latest/utilities/idempotency/), and [`Tokens`], a rate that workers share.
//!
//! ```no_run
//! use redrive::{BoxError, Consumer, Failure};
//! use redrive_dynamodb::{DynamoDb, client};
//!
//! async fn charge(order: String) -> Result<(), Failure> {
//!     tracing::info!(bytes = order.len(), "charged");
//!     Ok(())
//! }
//!
//! # async fn run() -> Result<(), BoxError> {
//! let store = DynamoDb::new(client().await, "idempotency").prefix("payments");
//! Consumer::new(charge).once(store).run().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # The table
//!
//! The partition key is the string `id`, without a sort key. The TTL attribute is `expiration`. redrive makes one `PutItem`
//! before the handler, one `UpdateItem` after it, and one for each renewal in a worker. It makes a `GetItem` only if an answer
//! does not include the item that a different delivery wrote.
//!
//! | attribute | | |
//! | --- | --- | --- |
//! | `id` | S | the key, after the [prefix](DynamoDb::prefix) and `#` |
//! | `status` | S | `INPROGRESS` or `COMPLETED` |
//! | `expiration` | N | when the record is forgotten, in seconds since 1970 |
//! | `in_progress_expiration` | N | when the lease ends, in milliseconds since 1970; 0 after a failure |
//! | `validation` | S | the hash of the body, with [`Once::check_payload`](redrive::once::Once::check_payload) |
//! | `data` | | what a function with Powertools returned; redrive neither reads nor writes it |
//! | `token` | S | the token of the delivery that has the key, or had it last |
//! | `outcome` | S | `done`, `discarded` or `rejected` |
//! | `reason`, `error` | S | the reason and the error of a rejected message |
//! | `redrives` | N | how often the message was retried from a dead-letter queue |
//!
//! Times come from the clocks of the processes that use the table. These may differ by 5 s, because a lease lasts 5 s
//! longer than its message.
//!
//! # Together with Powertools
//!
//! A function with Powertools and a consumer with redrive can share a table. Each skips messages that the other has completed,
//! and waits while the other has the key. To Powertools, discarded and rejected messages are completed too, and return nothing.
//!
//! **Only writes of redrive are fenced.** Powertools updates and deletes records without a condition, so a function that runs
//! for longer than its lease overwrites the record of its successor. Let two programs share keys only while you move from one
//! to the other, and keep all others apart with prefixes.
//!
//! For the same keys, set the `key_prefix` of Powertools as the [prefix](DynamoDb::prefix). The rest of an id is the MD5 of the
//! data that `event_key_jmespath` selects, as Python's `json.dumps` writes it. For a string:
//!
//! ```
//! use md5::{Digest, Md5};
//! use redrive::once::{Memory, Once};
//!
//! #[derive(serde::Deserialize)]
//! struct Order { id: String }
//!
//! /// Computes the key as Powertools for Python does, if the id is ASCII. Powertools escapes other characters.
//! fn powertools_key(id: &str) -> String {
//!     let json = serde_json::Value::from(id).to_string();
//!     Md5::digest(json).iter().map(|byte| format!("{byte:02x}")).collect()
//! }
//!
//! assert_eq!(powertools_key("order-7"), "a349dd60a79378cced807f4abe985dd0");
//! # let store = Memory::new();
//! let once = Once::new(store).key(|order: &Order| powertools_key(&order.id));
//! ```
//!
//! redrive compares payloads only with its own, because Powertools hashes them differently. With Powertools'
//! `payload_validation_jmespath`, records of redrive never match.

// `expression` writes the rules of `redrive::once::Record` as DynamoDB's expressions, `item` has Powertools' layout, and `view`
// is a process's view of a shared bucket. `tests/checks` compares the first two with `Record` in emulators.

#![warn(clippy::exhaustive_enums)]

mod store;
mod tokens;
mod view;
mod item;
mod expression;
mod error;
mod client;
#[cfg(doctest)]
mod book_tests;

/// The SDK whose client is in this interface.
pub use aws_sdk_dynamodb;
pub use client::client;
pub use error::MissingTable;
pub use store::DynamoDb;
pub use tokens::Tokens;
