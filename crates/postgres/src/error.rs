//! Errors of the inbox, and what happens to the message.

use std::time::Duration;

use redrive::{BoxError, Verdict};

/// Delay of a message that is being handled elsewhere. A long one costs nothing, but SQS counts each delivery.
const BUSY: Duration = Duration::from_secs(30);

/// The reason why the inbox gave no answer. Used with `?` in a handler, it decides what happens to the message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InboxError {
    /// The name given to `Inbox::new` is empty, has more than 255 bytes or a NUL.
    #[error("the name of the inbox {0}")]
    Name(String),
    /// The key is empty, has more than 1,024 bytes or a NUL. The message is dead-lettered as `inbox-key`.
    #[error("the inbox cannot record the key")]
    Key(#[source] Verdict),
    /// Another transaction has recorded the key and has not ended yet, or has a key with the same 64-bit hash. The message is
    /// deferred for 30 s, which uses up a delivery.
    #[error("another transaction is handling the key")]
    Busy(#[source] Verdict),
    /// Postgres refused the query or did not answer. The message is retried.
    #[error("the query of the inbox failed")]
    Database(#[source] BoxError),
}

/// The reason why a message is not in the outbox, or was not sent from it.
#[cfg(feature = "tokio-postgres")]
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutboxError {
    /// SQS would refuse the message.
    #[error("the outbox cannot take the message")]
    Message(#[from] redrive_send::SendError),
    /// Postgres refused the query or did not answer.
    #[error("the query of the outbox failed")]
    Database(#[source] BoxError),
}

#[cfg(feature = "tokio-postgres")]
impl OutboxError {
    pub(crate) fn database(error: impl Into<BoxError>) -> Self {
        Self::Database(error.into())
    }
}

impl InboxError {
    pub(crate) fn key(fault: &str) -> Self {
        Self::Key(Verdict::reject(format!("the key {fault}")).with_reason("inbox-key"))
    }

    pub(crate) fn busy() -> Self {
        Self::Busy(Verdict::defer(BUSY))
    }

    pub(crate) fn database(error: impl Into<BoxError>) -> Self {
        Self::Database(error.into())
    }
}

#[cfg(test)]
mod tests {
    use redrive::Failure;

    use super::*;

    #[test]
    fn a_busy_key_defers_the_message_and_a_database_that_is_down_retries_it() {
        let failure = Failure::from(InboxError::busy());
        assert!(failure.is_deferral());
        assert_eq!(failure.after(), Some(Duration::from_secs(30)));
        assert_eq!(failure.to_string(), "another transaction is handling the key: deferred: not now");

        let failure = Failure::from(InboxError::database(std::io::Error::other("connection closed")));
        assert!(failure.is_retry() && failure.find::<std::io::Error>().is_some());
        assert_eq!(failure.to_string(), "the query of the inbox failed: connection closed");
    }
}
