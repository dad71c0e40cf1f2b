//! Errors of reading payloads, and the failures of their messages.

use std::error::Error;

use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::get_object::GetObjectError;
use aws_sdk_s3::primitives::ByteStreamError;
use redrive::Failure;
use redrive_sqs::PayloadPointer;

/// The reason why a payload could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// The message points to a bucket that [`Payloads::new`](crate::Payloads::new) does not name.
    #[error("{0} is in none of the buckets that payloads are read from")]
    Bucket(PayloadPointer),
    /// No bucket can have this name, and no access point this ARN.
    #[error("{0} names a bucket that cannot exist")]
    InvalidBucket(PayloadPointer),
    /// The key is too long for S3, or has a part that a proxy may resolve.
    #[error("the key of {0} {1}")]
    InvalidKey(PayloadPointer, String),
    /// The key does not begin with the [`Payloads::key_prefix`](crate::Payloads::key_prefix).
    #[error("the key of {0} does not begin with {1}")]
    Key(PayloadPointer, String),
    /// The object has more bytes than [`Payloads::max_size`](crate::Payloads::max_size) allows.
    #[error("{0} has more than {1} bytes, which is the limit")]
    Size(PayloadPointer, u64),
    /// There is no such object.
    #[error("{0} does not exist")]
    Missing(PayloadPointer),
    /// The object is not UTF-8.
    #[error("{0} is not text in UTF-8")]
    Text(PayloadPointer),
    /// S3 refused the call or did not answer it.
    #[error("could not read {0}: {said}", said = error_text(.1))]
    Call(PayloadPointer, Box<SdkError<GetObjectError>>),
    /// The answer broke off, or its checksum is wrong.
    #[error("could not read {0} to its end: {cause}", cause = innermost(.1))]
    Body(PayloadPointer, ByteStreamError),
}

impl PayloadError {
    /// Turns the error into a failure of the message.
    pub(crate) fn failure(self) -> Failure {
        let reason = match &self {
            Self::Text(_) => return Failure::malformed(self),
            Self::Call(..) | Self::Body(..) => return self.into(),
            Self::Bucket(_) | Self::InvalidBucket(_) => "payload-bucket",
            Self::Key(..) | Self::InvalidKey(..) => "payload-key",
            Self::Size(..) => "payload-size",
            Self::Missing(_) => "payload-missing",
        };
        Failure::reject(self).with_reason(reason)
    }
}

/// Returns S3's code and message, such as `AccessDenied: Access Denied`. Without a code it returns the status of the answer, and
/// without an answer the innermost cause.
fn error_text(error: &SdkError<GetObjectError>) -> String {
    match (error.code(), error.message()) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        (Some(code), None) => code.to_owned(),
        (None, _) => match error {
            // The SDK's own text is just `Error`.
            SdkError::ServiceError(answer) => {
                format!("HTTP status {} without an error code", answer.raw().status().as_u16())
            }
            _ => innermost(error),
        },
    }
}

/// Returns the innermost cause, without the layers of the SDK around it.
fn innermost(error: &dyn Error) -> String {
    error.source().map_or_else(|| error.to_string(), innermost)
}
