//! The result of a message.

use std::error::Error;
use std::sync::Arc;

/// A message that SQS has.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sent {
    /// The id that SQS gave the message, or the name of its schedule.
    pub message_id: String,
    /// True if the queue may have the message twice: the answer to an earlier call was lost, and the queue is not FIFO.
    pub may_be_twice: bool,
    /// True if a schedule has the message, and sends it when its delay is over.
    pub is_scheduled: bool,
    /// True if a schedule with the same deduplication id was there already. That one stays, with its own message and time.
    pub was_scheduled_before: bool,
}

/// The reason why a message is not known to be sent.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The value could not be written as JSON. SQS was not asked.
    #[error("the message could not be written as JSON: {0}")]
    Json(#[source] Arc<serde_json::Error>),
    /// SQS would not accept such a message, or too many schedules wait. AWS was not asked.
    #[error("the message was not sent: {0}")]
    Invalid(String),
    /// The body is too large for SQS, and could not be stored elsewhere.
    #[error("the message was not sent: its body could not be stored: {0}")]
    Body(#[source] Arc<dyn std::error::Error + Send + Sync>),
    /// SQS refused the message, and would refuse it again.
    #[error("SQS refused the message: {0}")]
    Refused(String),
    /// SQS refused the call for a reason that concerns all messages, such as a missing permission, or there are no credentials. For
    /// 5 s, further messages are not tried.
    #[error("SQS refused the call: {0}")]
    Denied(String),
    /// SQS refused the message for as long as the sender tried.
    #[error("the message was not sent in time: {0}")]
    NotInTime(String),
    /// The answer to a call was lost, so the message may have been sent. The source is the reason why this is not known.
    #[error("the message may have been sent: {0}")]
    Unconfirmed(#[source] Box<Self>),
    /// The sending was stopped before the message was sent.
    #[error("the message was not sent, because sending was stopped")]
    Stopped,
    /// An earlier message of the same group of a FIFO queue is not known to be sent, so this one was not tried.
    #[error("the message was not sent, because an earlier message of its group is not known to be")]
    Behind,
}

impl SendError {
    /// Returns the error of a message that may have been sent, as a call failed for this reason.
    #[cfg(feature = "schedules")]
    pub(crate) fn unconfirmed(why: String) -> Self {
        Self::Unconfirmed(Box::new(Self::NotInTime(why)))
    }
}

/// Returns the cause of all, without the layers of the SDK.
pub(crate) fn innermost<'e>(error: &'e (dyn Error + 'static)) -> &'e (dyn Error + 'static) {
    error.source().map_or(error, innermost)
}

impl From<serde_json::Error> for SendError {
    fn from(error: serde_json::Error) -> Self {
        Self::Json(Arc::new(error))
    }
}
