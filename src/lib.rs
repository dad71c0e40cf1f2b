#![doc = include_str!("../README.md")]

mod run;
mod consumer;
mod handler;
mod message;
mod record;
mod records;
mod body;
pub mod envelope;
mod attribute;
mod failure;
mod verdict;
mod judge;
mod panic;
mod backoff;
mod overrides;
mod dead_letter;
mod settings;
mod retries;
mod error;
mod flow;
mod executor;
mod event;
mod batch;
mod metrics;
mod log;
mod stdout;
mod queue;
mod aws;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod reference_tests;
#[cfg(doctest)]
mod book_tests;
#[cfg(any(test, redrive_bench))]
#[doc(hidden)]
pub mod steps;

pub use attribute::{Attribute, Attributes};
pub use backoff::{Backoff, InvalidBackoff, Jitter};
pub use batch::report::BatchReport;
pub use body::{Raw, Text};
pub use consumer::Consumer;
pub use dead_letter::{DeadLetter, Origin};
pub use error::{Error, MissingMessageId};
pub use failure::{BoxError, Failure};
pub use handler::Handler;
pub use message::{FromMessage, Message};
pub use record::Record;
pub use retries::{Retries, Retry};
pub use run::run;
pub use settings::{LastDelivery, Metrics, OnFailure};
pub use verdict::Verdict;
