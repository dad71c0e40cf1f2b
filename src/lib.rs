#![doc = include_str!("../README.md")]

mod attribute;
mod aws;
mod backoff;
mod batch;
mod body;
mod consumer;
mod dead_letter;
pub mod envelope;
mod error;
mod event;
mod failure;
mod flow;
mod handler;
mod log;
mod message;
mod metrics;
mod overrides;
mod queue;
mod run;
mod settings;
#[cfg(test)]
mod testing;
mod verdict;

pub use attribute::{Attribute, Attributes};
pub use backoff::{Backoff, InvalidBackoff, Jitter};
pub use batch::report::BatchReport;
pub use body::{Raw, Text};
pub use consumer::Consumer;
pub use dead_letter::{DeadLetter, Origin};
pub use error::{Error, MissingMessageId};
pub use failure::{BoxError, Failure};
pub use handler::Handler;
pub use message::{FromMessage, Message, Record};
pub use run::run;
pub use settings::{LastDelivery, Metrics, OnFailure};
pub use verdict::Verdict;
