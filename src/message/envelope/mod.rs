//! The envelopes that other AWS services put around a message.
//!
//! The type parameter of an envelope is its content, which redrive decodes like a body. The fields hold the rest. Envelopes
//! nest: an S3 notification that went through SNS is an `Sns<S3Notification>`.

mod event_bridge;
mod s3;
mod sns;

pub use event_bridge::EventBridge;
pub use s3::{S3Notification, S3Object};
pub use sns::{Notification, Sns};
