#![doc = include_str!("crate.md")]
#![warn(clippy::exhaustive_enums)]

mod client;
mod error;
mod large;
mod message;
mod run;
#[cfg(feature = "schedules")]
mod schedules;
mod sender;
#[cfg(feature = "opentelemetry")]
mod trace;
mod waiting;

#[cfg(doctest)]
mod book_tests;

/// The SDK of the client of [`Schedules`].
#[cfg(feature = "schedules")]
pub use aws_sdk_scheduler;
/// The SDK whose client is in this interface.
pub use aws_sdk_sqs;
pub use client::client;
#[cfg(feature = "schedules")]
pub use client::scheduler_client;
pub use error::{SendError, Sent};
pub use large::LargeBodies;
pub use message::{NewMessage, ToMessage};
#[doc(inline)]
pub use redrive_engine::{Backoff, InvalidBackoff, Jitter};
#[doc(inline)]
pub use redrive_sqs::{Attribute, Attributes, PayloadPointer};
#[cfg(feature = "schedules")]
pub use schedules::Schedules;
pub use sender::Sender;
