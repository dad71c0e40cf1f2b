//! Errors that end a consumer or fail an invocation.

use std::error::Error as StdError;
use std::fmt;

use redrive_sqs::cut_to;

use crate::BoxError;
use crate::backoff::InvalidBackoff;
use crate::engine::{MAX_PANICS, Why};
use crate::event::Other;
use crate::executor::MAX_BLOCKED;
use crate::settings::InvalidSetting;

/// Why a consumer did not start, ended, or could not handle a batch. If it is the answer to a batch, the invocation
/// fails and no message was handled or deleted.
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
/// let error = Consumer::new(place).handle(event, tokio::time::Instant::now()).await.unwrap_err();
/// assert_eq!(error.to_string(), "record 0 has no messageId and could not be reported as failed");
/// # });
/// ```
pub struct Error(pub(crate) Kind);

pub(crate) enum Kind {
    Setting(InvalidSetting),
    Backoff(InvalidBackoff),
    Region,
    Runtime(BoxError),
    Died,
    /// The process can handle no more batches.
    Ended(Why),
    /// Of this record, counted from 0, which could not be reported as failed.
    MissingMessageId(usize),
    /// Why a worker did not start or ended, in one line.
    Worker(String),
    /// A worker was told twice to end.
    AtOnce(String),
    /// Neither on Lambda nor a worker.
    NoHome,
    InvalidEvent(Box<Other>),
    /// What became of an event for [`on_other_event`](crate::Consumer::on_other_event).
    OtherEvent(String),
}

impl Error {
    pub(crate) const fn worker(why: String) -> Self {
        Self(Kind::Worker(why))
    }

    /// The `errorType` of the invocation.
    const fn name(&self) -> &'static str {
        match self.0 {
            Kind::Setting(_) | Kind::Backoff(_) | Kind::Region | Kind::NoHome => "InvalidSetting",
            Kind::Runtime(_) | Kind::Died | Kind::Ended(_) | Kind::Worker(_) | Kind::AtOnce(_) => {
                "RuntimeEnded"
            }
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
            Kind::Ended(Why::Blocked) => write!(
                f,
                "{} threads are blocked by handlers that do not end: the process ends, so that a fresh one is started",
                MAX_BLOCKED + 1
            ),
            Kind::Ended(Why::Panics) => write!(
                f,
                "{MAX_PANICS} handlers panicked in a row: the process ends, so that a fresh one is started"
            ),
            Kind::Worker(why) | Kind::AtOnce(why) => f.write_str(why),
            Kind::NoHome => f.write_str(
                "neither AWS_LAMBDA_RUNTIME_API nor REDRIVE_QUEUE_URL is set: Lambda sets the first; the second makes this process a worker; `redrive local` runs it here",
            ),
            Kind::MissingMessageId(at) => {
                write!(f, "record {at} has no messageId and could not be reported as failed")
            }
            Kind::InvalidEvent(other) => {
                write!(f, "expected an SQS event, got {}", other.what)?;
                if other.taker.is_empty() { Ok(()) } else { write!(f, "; {}", other.taker) }
            }
            Kind::OtherEvent(error) => f.write_str(&cut_to(error, 1_024)),
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

/// How lambda_runtime reports it to Lambda.
impl From<Error> for lambda_runtime::Diagnostic {
    fn from(error: Error) -> Self {
        Self { error_type: error.name().to_owned(), error_message: error.to_string() }
    }
}

impl From<Why> for Error {
    fn from(why: Why) -> Self {
        Self(Kind::Ended(why))
    }
}
