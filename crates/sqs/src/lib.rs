//! The rules of SQS that redrive, its command and its local AWS share: values in, values out.
//!
//! Nothing here calls AWS, reads a clock or waits.
#![warn(clippy::exhaustive_enums)]

mod address;
mod arn;
mod attribute;
#[expect(clippy::exhaustive_enums, reason = "for redrive alone")]
#[doc(hidden)]
pub mod batch;
mod lanes;
#[expect(clippy::exhaustive_enums, reason = "for redrive alone")]
#[doc(hidden)]
pub mod lease;
mod limits;
mod message;
mod note;
mod origin;
mod outgoing;
mod payload;
mod policy;
mod quote;
mod refusal;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod properties;

pub use address::{Address, InvalidAddress, is_queue_name};
pub use arn::{QueueArn, dns_suffix, is_fifo, is_same_queue, queue_name};
pub use attribute::{Attribute, Attributes};
pub use lanes::{LaneMessage, Lanes};
pub use limits::{
    BATCH_SIZE, BATCHING_WINDOW, LONGEST_DELAY, LONGEST_INVOCATION, LONGEST_POLL, LONGEST_VISIBILITY,
    MAX_RECEIVE_COUNT, MAXIMUM_CONCURRENCY, MESSAGE_RETENTION_PERIOD, QUEUE_NUMBERS, VISIBILITY_TIMEOUT,
    in_words,
};
pub use message::{
    MAX_ATTRIBUTES, MAX_BYTES, MAX_ENTRIES, is_attribute_name, is_attribute_number, is_sqs_char, size,
    validate,
};
pub use note::DeadLetter;
pub use origin::{Origin, OriginSenders, origin_of_letter};
pub use outgoing::{Outgoing, is_message_id};
#[doc(hidden)]
pub use payload::{InvalidPointer, PayloadPointer};
pub use policy::{InvalidPolicy, MAX_SOURCES, RedriveAllowPolicy, RedrivePolicy};
pub use quote::{Quoted, cut_to, is_invisible};
#[doc(hidden)]
pub use refusal::has_lease_ended;
pub use refusal::{Refusal, bare_code, is_expired_or_skewed, may_go_better};
