//! What an error of a call means: what may be sent again, and what may have been sent already.

use aws_sdk_sqs::config::http::HttpResponse;
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use redrive_sqs::Refusal;
use redrive_sqs::batch::{Next, Reply};

use crate::aws::code_of;

/// What an error means for those who call again.
pub(crate) trait Outlook {
    /// What follows for each entry of a call with so many.
    fn next(&self, entries: usize) -> Next;
    /// Whether it may go better in a while, for calls that do no harm if they are carried out twice. What was waited for in
    /// vain as long as --timeout allows is not waited for again.
    fn may_pass(&self) -> bool;
    /// Whether the call was sent, and the wait for its answer had an end.
    fn is_unanswered(&self) -> bool;
}

impl<E> Outlook for SdkError<E, HttpResponse>
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    fn next(&self, entries: usize) -> Next {
        match self {
            Self::ConstructionFailure(_) => Next::Denied,
            Self::ServiceError(error) => {
                let status = error.raw().status().as_u16();
                let reply = Reply::Refused { status, code: code_of(self), entries };
                match reply.next() {
                    // A code that is not known here may be about all: it is not found out for thousands one by one.
                    Next::Alone | Next::Bad if refusal(self) == Some(Refusal::Unknown) => Next::Denied,
                    next => next,
                }
            }
            _ if never_connected(self) => Next::Again,
            _ => Next::Unclear,
        }
    }

    fn may_pass(&self) -> bool {
        match self {
            Self::ServiceError(error) => {
                error.raw().status().is_server_error() || refusal(self).is_some_and(Refusal::may_pass)
            }
            Self::DispatchFailure(_) => true,
            _ => false,
        }
    }

    fn is_unanswered(&self) -> bool {
        matches!(self, Self::TimeoutError(_))
    }
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
