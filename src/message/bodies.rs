//! Bodies that have to be fetched or decrypted before they can be decoded.

use std::fmt;
use std::future::Future;

use crate::erased::erased;
use crate::failure::Failure;
use crate::message::record::Record;

/// Fetches bodies that are not in the message itself: from a bucket, a decryption service, or a schema
/// registry.
///
/// [`Consumer::bodies`](crate::Consumer::bodies) calls it for each message, right before decoding.
///
/// ```
/// use redrive::{Attribute, Bodies, Body, Consumer, Failure, Record};
///
/// /// Bodies in a store, by the key in the attribute `body-key`.
/// struct Store;
///
/// impl Bodies for Store {
///     async fn body(&self, record: &Record<'_>) -> Result<Option<Body>, Failure> {
///         let attributes = record.attributes();
///         match attributes.get("body-key").and_then(Attribute::as_str) {
///             Some(key) => Ok(Some(fetch(key).await?.into())),
///             None => Ok(None),
///         }
///     }
/// }
///
/// async fn fetch(key: &str) -> std::io::Result<String> {
///     Ok(format!("\"the body of {key}\""))
/// }
/// # async fn place(order: String) -> Result<(), Failure> { Ok(()) }
/// let consumer = Consumer::new(place).bodies(Store);
/// ```
pub trait Bodies: Send + Sync + 'static {
    /// Returns the body to use instead of the message's own, or `None` to keep the message's own. A dead letter
    /// always keeps the message's own.
    ///
    /// This counts toward the message's time: at the time limit and at the end of the batch, redrive drops the
    /// future and retries the message.
    ///
    /// # Errors
    /// A plain error is retried like an error of the handler; a [`Failure`] can decide otherwise.
    fn body(&self, record: &Record<'_>) -> impl Future<Output = Result<Option<Body>, Failure>> + Send;
}

/// A body from [`Bodies`], used instead of the one in the message.
///
/// ```
/// let body = redrive::Body::from("[1, 2]");
/// assert_eq!(body.as_str(), "[1, 2]");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Body(String);

impl Body {
    /// The text to decode.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Body {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

/// Omits the body.
impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Body")
    }
}

erased!(AnyBodies of Bodies {
    fn body(record: &'a Record<'a>) -> Result<Option<Body>, Failure>;
});
