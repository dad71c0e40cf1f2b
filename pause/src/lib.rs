//! Pauses the event source mapping of a function while the dependency of all its messages is down, so that its messages wait
//! in the queue and use up no deliveries.
//!
//! ```no_run
//! use redrive::{Consumer, Failure};
//! use redrive_pause::Pause;
//!
//! async fn charge(order: String) -> Result<(), Failure> {
//!     bank(&order).await.map_err(Failure::outage)
//! }
//! # async fn bank(_: &str) -> Result<(), std::io::Error> { Ok(()) }
//!
//! # async fn run() -> Result<(), redrive::Error> {
//! Consumer::new(charge).on_outage(Pause::from_env().await).run().await
//! # }
//! ```
//!
//! [The page on outages](https://redrive-rs.github.io/redrive/outages.html) says what the function needs, and what happens
//! minute by minute.

mod pause;
mod turn;
mod attempt;
mod aws;
#[cfg(doctest)]
mod book_tests;

/// The SDKs whose clients are in this interface.
pub use aws_sdk_lambda;
pub use aws_sdk_scheduler;
pub use pause::Pause;
