//! Interprets the error of a call: whether to repeat it, and whether it may have been carried out.

use aws_sdk_sqs::config::http::HttpResponse;
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use redrive_sqs::Refusal;
use redrive_sqs::batch::{Next, Reply};

use crate::aws::code_of;

/// The meaning of an error for repeated calls.
pub(crate) trait Outlook {
    /// Returns the next step for each entry of a call with this many.
    fn next(&self, entries: usize) -> Next;
    /// Returns true if a later call may succeed, for calls that do no harm if they are carried out twice. False if the call had no
    /// answer within --timeout.
    fn may_pass(&self) -> bool;
    /// Returns true if the call was sent and its answer did not arrive in time.
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
                    // An unknown code may concern all entries, so the call is not repeated for each of thousands.
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

/// Returns true if there was no connection for the request. If the client changes its words for that, the request counts as
/// sent.
fn never_connected(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    causes.any(|cause| cause.to_string() == "client error (Connect)")
}
