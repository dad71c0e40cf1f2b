//! What other AWS services wrap around a message on its way to a queue.
//!
//! Each envelope takes what is inside as its type parameter, decodes it as the handler would have taken it bare, and
//! keeps the rest in reach. They nest: an S3 notification that went through SNS is an `Sns<S3Notification>`.

mod event_bridge;
mod s3;
mod sns;

pub use event_bridge::EventBridge;
pub use s3::{S3Notification, S3Object};
pub use sns::{Notification, Sns};
