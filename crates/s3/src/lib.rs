//! Bodies that are too big for SQS, in S3, as the [SQS Extended
//! Client](https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-managing-large-messages.html) of
//! Java and Python reads and writes them.
//!
//! ```no_run
//! use redrive::{Consumer, Failure};
//! use redrive_s3::{Payloads, client};
//!
//! async fn place(order: String) -> Result<(), Failure> {
//!     tracing::info!(bytes = order.len(), "handled");
//!     Ok(())
//! }
//!
//! # async fn run() -> Result<(), redrive::Error> {
//! let payloads = Payloads::new(client().await, ["orders-payloads"]);
//! Consumer::new(place).bodies(payloads).run().await
//! # }
//! ```
//!
//! [`Uploads`] stores the bodies that a `redrive_send::Sender` sends.
//!
//! The handler is the same as for small messages. [`Payloads`] says which failures are retried and which are not.
#![warn(clippy::exhaustive_enums)]

mod payloads;
mod error;
mod client;
mod names;
mod uploads;
#[cfg(doctest)]
mod book_tests;

/// The SDK whose client and errors are in this interface.
pub use aws_sdk_s3;
pub use client::client;
pub use error::PayloadError;
pub use payloads::Payloads;
#[doc(inline)]
pub use redrive_sqs::{InvalidPointer, PayloadPointer};
pub use uploads::Uploads;
