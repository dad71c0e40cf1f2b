//! Sending a batch, and not twice: what may be sent again, and what may have been sent already.

use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::http::HttpResponse;
use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::operation::send_message_batch::{SendMessageBatchError, SendMessageBatchOutput};
use aws_sdk_sqs::types::{BatchResultErrorEntry, SendMessageBatchRequestEntry};
use redrive_sqs::{Refusal, is_fifo};

use super::said::code_of;

/// How often a call or an entry is tried that may go better.
pub(crate) const TRIES: u32 = 4;
/// Doubled each time.
pub(crate) const FIRST_PAUSE: Duration = Duration::from_millis(500);

type Answer = Result<SendMessageBatchOutput, SdkError<SendMessageBatchError, HttpResponse>>;

/// One call. A FIFO queue knows by its deduplication ids what it has already; elsewhere the SDK would send all of it again
/// if only the answer was lost.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-exactly-once-processing.html>
pub(crate) async fn send_once(sqs: &Client, url: &str, entries: Vec<SendMessageBatchRequestEntry>) -> Answer {
    let call = sqs.send_message_batch().queue_url(url).set_entries(Some(entries));
    if is_fifo(url) {
        return call.send().await;
    }
    let once = aws_sdk_sqs::config::Builder::new().retry_config(RetryConfig::disabled());
    call.customize().config_override(once).send().await
}

/// Calls again while nothing was sent and the next call may go better.
pub(crate) async fn send_batch(
    sqs: &Client,
    url: &str,
    entries: Vec<SendMessageBatchRequestEntry>,
) -> Answer {
    let mut pause = FIRST_PAUSE;
    for _ in 1..TRIES {
        match send_once(sqs, url, entries.clone()).await {
            Err(error) if error.is_refused_for_now() => (),
            answer => return answer,
        }
        tokio::time::sleep(pause).await;
        pause *= 2;
    }
    send_once(sqs, url, entries).await
}

/// What an error means for those who call again.
pub(crate) trait Outlook {
    /// Nothing was done, and the next call may go better.
    fn is_refused_for_now(&self) -> bool;
    /// Whether the call may have been carried out.
    fn perhaps_done(&self) -> bool;
    /// Whether nothing was done because of one of the entries: the others may go by themselves.
    fn is_about_an_entry(&self) -> bool;
    /// Whether it may go better in a while, for calls that do no harm if they are carried out twice.
    fn may_pass(&self) -> bool;
}

impl<E> Outlook for SdkError<E, HttpResponse>
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    fn is_refused_for_now(&self) -> bool {
        refusal(self) == Some(Refusal::Throttled) || never_connected(self)
    }

    fn perhaps_done(&self) -> bool {
        match self {
            Self::ConstructionFailure(_) => false,
            Self::ServiceError(error) => error.raw().status().is_server_error() || code_of(self).is_none(),
            _ => !never_connected(self),
        }
    }

    fn is_about_an_entry(&self) -> bool {
        !self.perhaps_done() && refusal(self) == Some(Refusal::OfTheEntry)
    }

    fn may_pass(&self) -> bool {
        match self {
            Self::ServiceError(error) => {
                error.raw().status().is_server_error() || refusal(self).is_some_and(Refusal::may_pass)
            }
            Self::TimeoutError(_) | Self::DispatchFailure(_) => true,
            _ => false,
        }
    }
}

/// Whether an entry that failed may go better by itself.
pub(crate) fn may_go_better(entry: &BatchResultErrorEntry) -> bool {
    redrive_sqs::may_go_better(&entry.code, entry.sender_fault)
}

fn refusal<E: ProvideErrorMetadata, R>(error: &SdkError<E, R>) -> Option<Refusal> {
    code_of(error).map(Refusal::of)
}

/// Whether there was no connection over which a request could have gone. If the client words this differently one day,
/// the request is taken to have gone.
fn never_connected(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    causes.any(|cause| cause.to_string() == "client error (Connect)")
}
