//! Errors that end a consumer or fail an invocation.

use std::error::Error as StdError;
use std::fmt;

use redrive_sqs::cut_to;

use crate::BoxError;
use crate::backoff::InvalidBackoff;
use crate::settings::InvalidSetting;

/// Why a consumer did not start, or ended. Only [`run`](crate::run()) and `connect` fail.
///
/// ```
/// # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let error = redrive::Consumer::new(place).concurrency(0).connect().await.unwrap_err();
/// assert_eq!(error.to_string(), "concurrency is 0, allowed: 1 or more");
/// # });
/// ```
pub struct Error(pub(crate) Kind);

pub(crate) enum Kind {
    Setting(InvalidSetting),
    Backoff(InvalidBackoff),
    Region,
    Runtime(BoxError),
    Died,
    Blocked,
    Panics,
}

impl From<InvalidSetting> for Error {
    fn from(error: InvalidSetting) -> Self {
        Self(Kind::Setting(error))
    }
}

impl From<InvalidBackoff> for Error {
    fn from(error: InvalidBackoff) -> Self {
        Self(Kind::Backoff(error))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Setting(error) => error.fmt(f),
            Kind::Backoff(error) => write!(f, "backoff: {error}"),
            Kind::Region => f.write_str(
                "AWS_REGION is not set; Lambda sets it, elsewhere name a region such as eu-central-1",
            ),
            Kind::Runtime(_) => f.write_str("the Lambda runtime ended"),
            Kind::Died => f.write_str(
                "the Lambda runtime panicked; is this running on Lambda, or under `redrive local`?",
            ),
            Kind::Blocked => f.write_str(
                "17 threads are blocked by handlers that do not end: the process ends, so that Lambda starts a fresh one",
            ),
            Kind::Panics => f.write_str(
                "10 handlers panicked in a row: the process ends, so that Lambda starts a fresh one",
            ),
        }
    }
}

/// Readable and with all sources, since `main` prints this if it returns the error.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        let mut source = self.source();
        while let Some(error) = source {
            write!(f, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.0 {
            Kind::Runtime(error) => Some(&**error),
            _ => None,
        }
    }
}

/// A record came without a message id, so it could not be reported as failed; the invocation fails instead, and
/// nothing is deleted.
///
/// ```
/// # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// use redrive::{Consumer, MissingMessageId};
///
/// let event = serde_json::from_str(r#"{"Records": [{"body": "1"}]}"#).unwrap();
/// let result = Consumer::new(place).handle(event, tokio::time::Instant::now()).await;
/// assert!(matches!(result, Err(MissingMessageId { record: 0, .. })));
/// # });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingMessageId {
    /// Which record, counted from 0.
    pub record: usize,
}

impl fmt::Display for MissingMessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {} has no messageId and could not be reported as failed", self.record)
    }
}

impl StdError for MissingMessageId {}

/// How lambda_runtime reports it to Lambda.
impl From<MissingMessageId> for lambda_runtime::Diagnostic {
    fn from(error: MissingMessageId) -> Self {
        Self { error_type: "MissingMessageId".to_owned(), error_message: error.to_string() }
    }
}

/// The payload is not a batch of messages.
#[derive(Debug)]
pub(crate) enum InvalidEvent {
    /// Such as a warm-up call, or a test event of another service.
    NotOfSqs(BoxError),
    MissingMessageId(MissingMessageId),
}

impl InvalidEvent {
    pub(crate) fn not_of_sqs(error: impl Into<BoxError>) -> Self {
        Self::NotOfSqs(error.into())
    }
}

impl From<MissingMessageId> for InvalidEvent {
    fn from(error: MissingMessageId) -> Self {
        Self::MissingMessageId(error)
    }
}

impl From<InvalidEvent> for lambda_runtime::Diagnostic {
    fn from(error: InvalidEvent) -> Self {
        match error {
            InvalidEvent::MissingMessageId(error) => error.into(),
            InvalidEvent::NotOfSqs(error) => Self {
                error_type: "InvalidEvent".to_owned(),
                error_message: format!(
                    "the payload is not an SQS event: {}",
                    cut_to(&error.to_string(), 256)
                ),
            },
        }
    }
}
