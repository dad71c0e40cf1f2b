//! What an error of a call means: what may be sent again, and what may have been sent already.

use aws_sdk_sqs::config::http::HttpResponse;
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use redrive_sqs::Refusal;

use crate::aws::code_of;

/// What an error means for those who call again.
pub(crate) trait Outlook {
    /// Nothing was done, and the next call may go better.
    fn is_refused_for_now(&self) -> bool;
    /// Whether the call may have been carried out.
    fn perhaps_done(&self) -> bool;
    /// Whether nothing was done because of one of the entries: the others may go by themselves.
    fn is_about_an_entry(&self) -> bool;
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
