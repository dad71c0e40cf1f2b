//! Bodies that are too large for SQS.

use std::future::Future;
use std::pin::Pin;

use redrive_sqs::PayloadPointer;

use crate::message::NewMessage;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Stores bodies that are too large for SQS. `redrive_s3::Uploads` stores them in S3, where consumers with `redrive_s3::Payloads` and
/// the SQS Extended Client read them.
pub trait LargeBodies: Send + Sync + 'static {
    /// The number of bytes of body and attributes above which the body is stored. Default: 262,144, as for the Extended Client.
    fn threshold(&self) -> usize {
        PayloadPointer::THRESHOLD
    }

    /// Stores a body, and returns where it is.
    ///
    /// # Errors
    /// It could not be stored. The message is not sent.
    fn store(&self, body: String) -> impl Future<Output = Result<PayloadPointer, BoxError>> + Send;
}

/// A [`LargeBodies`] of any type.
pub(crate) trait AnyLargeBodies: Send + Sync {
    fn threshold(&self) -> usize;
    fn store(&self, body: String) -> Storing<'_>;
}

impl dyn AnyLargeBodies {
    /// Returns true if the body of this message is to be stored.
    pub(crate) fn takes(&self, message: &NewMessage) -> bool {
        PayloadPointer::is_due(&message.body, &message.attributes, self.threshold())
    }
}

pub(crate) type Storing<'a> = Pin<Box<dyn Future<Output = Result<PayloadPointer, BoxError>> + Send + 'a>>;

impl<L: LargeBodies> AnyLargeBodies for L {
    fn threshold(&self) -> usize {
        LargeBodies::threshold(self)
    }

    fn store(&self, body: String) -> Storing<'_> {
        Box::pin(LargeBodies::store(self, body))
    }
}
