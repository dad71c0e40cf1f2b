//! Errors that end a consumer or fail an invocation.

pub(crate) mod event;

use std::error::Error as _;
use std::fmt;

use redrive_sqs::cut_to;

use crate::error::event::Other;
use crate::failure::BoxError;
use crate::settings::InvalidSetting;
use redrive_engine::{ExitReason, InvalidBackoff, MAX_PANICS};
use redrive_executor::MAX_BLOCKED;
use redrive_http::NetworkError;

/// The error of a consumer that did not start, ended, or could not handle a batch. If it is the answer to a batch, the
/// invocation fails, and no message was handled or deleted.
///
/// ```
/// # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// use redrive::Consumer;
///
/// let error = Consumer::new(place).max_receive_count(0).connect().await.unwrap_err();
/// assert_eq!(error.to_string(), "max receive count is 0, allowed: 1 to 1000");
///
/// let event = serde_json::from_str(r#"{"Records": [{"body": "1"}]}"#).unwrap();
/// let error = Consumer::new(place).handle(event, redrive::Invocation::default()).await.unwrap_err();
/// assert_eq!(error.to_string(), "record 0 has no messageId and could not be reported as failed");
/// # });
/// ```
#[derive(thiserror::Error)]
#[error(transparent)]
pub struct Error(pub(crate) Kind);

#[derive(Debug, thiserror::Error)]
pub(crate) enum Kind {
    #[error("{0}")]
    Setting(InvalidSetting),
    #[error("backoff: {0}")]
    Backoff(InvalidBackoff),
    #[error("AWS_REGION is not set; Lambda sets it, elsewhere name a region such as eu-central-1")]
    Region,
    #[error("{0}")]
    Network(NetworkError),
    #[error("the Lambda runtime ended")]
    Runtime(#[source] BoxError),
    #[error("the Lambda runtime panicked; is this running on Lambda, or under `redrive local`?")]
    Died,
    #[error(
        "{} threads are blocked by handlers that do not end: the process ends, so that a fresh one is started",
        MAX_BLOCKED + 1
    )]
    Blocked,
    #[error("{MAX_PANICS} handlers panicked in a row: the process ends, so that a fresh one is started")]
    Panics,
    /// The index of the record, counted from 0. It could not be reported as failed.
    #[error("record {0} has no messageId and could not be reported as failed")]
    MissingMessageId(usize),
    /// The reason why a worker did not start or ended, in one line.
    #[error("{0}")]
    Worker(String),
    /// A worker received a second signal.
    #[error("{0}")]
    AtOnce(String),
    /// The process is neither a Lambda function nor a worker.
    #[error(
        "neither AWS_LAMBDA_RUNTIME_API nor REDRIVE_QUEUE_URL is set: Lambda sets the first; the second makes this process a worker; `redrive local` runs it here"
    )]
    NoHome,
    #[error("expected an SQS event, got {0}")]
    InvalidEvent(Box<Other>),
    /// The failure of [`on_other_event`](crate::Consumer::on_other_event).
    #[error("{}", cut_to(.0, 1_024))]
    OtherEvent(String),
}

impl Error {
    pub(crate) const fn worker(why: String) -> Self {
        Self(Kind::Worker(why))
    }

    /// Returns the `errorType` of the invocation.
    const fn name(&self) -> &'static str {
        match self.0 {
            Kind::Setting(_) | Kind::Backoff(_) | Kind::Region | Kind::Network(_) | Kind::NoHome => {
                "InvalidSetting"
            }
            Kind::Runtime(_)
            | Kind::Died
            | Kind::Blocked
            | Kind::Panics
            | Kind::Worker(_)
            | Kind::AtOnce(_) => "RuntimeEnded",
            Kind::MissingMessageId(_) => "MissingMessageId",
            Kind::InvalidEvent(_) => "InvalidEvent",
            Kind::OtherEvent(_) => "OtherEventFailed",
        }
    }
}

impl From<InvalidSetting> for Error {
    fn from(error: InvalidSetting) -> Self {
        Self(Kind::Setting(error))
    }
}

impl From<Other> for Error {
    fn from(other: Other) -> Self {
        Self(Kind::InvalidEvent(Box::new(other)))
    }
}

impl From<InvalidBackoff> for Error {
    fn from(error: InvalidBackoff) -> Self {
        Self(Kind::Backoff(error))
    }
}

/// Writes readable text with all sources, because `main` prints this if it returns the error.
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

/// Converts the error into the form that lambda_runtime reports to Lambda.
impl From<Error> for lambda_runtime::Diagnostic {
    fn from(error: Error) -> Self {
        Self { error_type: error.name().to_owned(), error_message: error.to_string() }
    }
}

impl From<ExitReason> for Error {
    fn from(why: ExitReason) -> Self {
        Self(match why {
            ExitReason::Panics => Kind::Panics,
            ExitReason::Blocked => Kind::Blocked,
        })
    }
}
