//! A token bucket that several workers share, so that together they start no more messages than a rate allows.
//!
//! Give each worker the same [`Rate`] and the same bucket with [`Consumer::share_rate`](crate::Consumer::share_rate). A worker
//! *leases* tokens: as many as the messages that it can start in about a second, including some that have not arrived yet. A
//! token is lost if no receive asks for it within a second of its arrival. An idle worker keeps one.
//!
//! `redrive-dynamodb` keeps a bucket in DynamoDB. To use another database, implement [`Tokens`] and let [`Bucket`] decide.

use std::future::Future;
use std::sync::Arc;

pub use redrive_engine::{Bucket, Lease};

use crate::erased::erased;
use crate::failure::BoxError;
use redrive_engine::Rate;

/// A bucket that several workers take tokens from.
///
/// ```
/// use redrive::tokens::{Bucket, Lease, Tokens};
/// use redrive::{BoxError, Consumer, Rate};
/// use std::sync::Mutex;
/// use std::time::Instant;
///
/// /// For the workers of one process.
/// struct Shared(Instant, Mutex<Option<Bucket>>);
///
/// impl Tokens for Shared {
///     async fn lease(&self, most: u32, rate: &Rate) -> Result<Lease, BoxError> {
///         let mut bucket = self.1.lock().unwrap();
///         Ok(bucket.get_or_insert_with(|| Bucket::full(rate)).lease(most, rate, self.0.elapsed()))
///     }
/// }
/// # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
/// let shared = Shared(Instant::now(), Mutex::default());
/// let consumer = Consumer::new(place).rate(Rate::per_second(50)).share_rate(shared);
/// ```
pub trait Tokens: Send + Sync + 'static {
    /// Takes up to `most` tokens. Two leases must not take the same token.
    ///
    /// redrive calls it at most ten times a second, in the task that polls: it must not block. redrive waits up to 3 s for the
    /// answer.
    ///
    /// # Errors
    /// The bucket cannot be reached. The worker then receives no more messages, and asks again each second.
    fn lease(&self, most: u32, rate: &Rate) -> impl Future<Output = Result<Lease, BoxError>> + Send;
}

/// Several consumers of a process, or a test and a consumer, may share a bucket.
impl<T: Tokens> Tokens for Arc<T> {
    fn lease(&self, most: u32, rate: &Rate) -> impl Future<Output = Result<Lease, BoxError>> + Send {
        T::lease(self, most, rate)
    }
}

erased!(AnyTokens of Tokens {
    fn lease(most: u32, rate: &'a Rate) -> Result<Lease, BoxError>;
});
