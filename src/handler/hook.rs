//! Hooks: code around each call of a handler, which also gets the result of each message.

mod list;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use redrive_sqs::queue_name;

pub(crate) use self::list::Hooks;
use crate::failure::Failure;
use crate::message::invocation::Invocation;
use crate::message::record::Record;
use crate::telemetry::message_report::MessageReport;

/// Code around each call of a handler, for example timing, tracing, a rate limit, or a value in a task-local.
///
/// Every method has a default that does nothing. [`Consumer::hook`](crate::Consumer::hook) adds a hook. The first
/// hook is the outermost.
///
/// ```
/// use std::future::Future;
/// use std::time::Instant;
/// use redrive::hook::{Delivery, Hook, Next};
/// use redrive::{Consumer, Failure};
///
/// struct Stopwatch;
///
/// impl Hook for Stopwatch {
///     async fn around<'a>(&'a self, delivery: &'a Delivery<'a>, next: Next<'a>) -> Result<(), Failure> {
///         let began = Instant::now();
///         let result = next.await;
///         tracing::info!(messages = delivery.records().len(), took = ?began.elapsed(), "timed");
///         result
///     }
/// }
/// # async fn place(order: String) -> Result<(), Failure> { Ok(()) }
/// let consumer = Consumer::new(place).hook(Stopwatch);
/// ```
///
/// A hook runs where the handler runs and within its time limit. redrive treats its panics and delays as the
/// handler's.
pub trait Hook: Send + Sync + 'static {
    /// Runs around one call of the handler. `next` fetches and decodes the body and calls the handler. If you do not
    /// await it, the handler is not called. The hook's result becomes the handler's result.
    ///
    /// redrive drops the future at the time limit and at the end of the batch.
    fn around<'a>(
        &'a self,
        delivery: &'a Delivery<'a>,
        next: Next<'a>,
    ) -> impl Future<Output = Result<(), Failure>> + Send + 'a {
        let _ = delivery;
        next
    }

    /// Gets the result of each message, once all messages of its batch are settled. A hook has 2 s for this and
    /// [`flush`](Self::flush) together, and must end 100 ms before the deadline. redrive skips the results that
    /// remain then, and logs how many there were.
    fn settled(&self, message: &MessageReport) {
        let _ = message;
    }

    /// Runs after [`settled`](Self::settled) and before the batch is answered, to send what the hook collected.
    /// redrive drops it at `until`: 2 s after the first call of `settled`, or 100 ms before the deadline if that is
    /// earlier. A panic or a timeout is logged and does not affect other hooks. In a [worker](crate::Consumer::work)
    /// it runs one second after a message was settled, and at shutdown.
    ///
    /// `until` is a time of tokio's clock. If a test has paused that clock, compare
    /// `tokio::time::Instant::from_std(until)` with `tokio::time::Instant::now()`, not with
    /// `std::time::Instant::now()`.
    fn flush(&self, until: Instant) -> impl Future<Output = ()> + Send {
        let _ = until;
        std::future::ready(())
    }
}

/// The argument of a handler call: one message, or several.
#[derive(Debug)]
pub struct Delivery<'a> {
    records: &'a [&'a Record<'a>],
}

impl<'a> Delivery<'a> {
    /// Creates a delivery for the test of a hook, see [`Next::new`].
    ///
    /// # Panics
    /// There are no records.
    #[must_use]
    pub const fn new(records: &'a [&'a Record<'a>]) -> Self {
        assert!(!records.is_empty(), "a delivery has at least one message");
        Self { records }
    }

    /// Returns the messages, at least one.
    #[must_use]
    pub const fn records(&self) -> &'a [&'a Record<'a>] {
        self.records
    }

    /// Returns the message if it is the only one. A property of one of several messages need not hold for the others.
    #[must_use]
    pub const fn record(&self) -> Option<&'a Record<'a>> {
        match self.records {
            [record] => Some(record),
            _ => None,
        }
    }

    /// Returns the name of the queue that the messages were received from.
    #[must_use]
    pub fn queue(&self) -> &'a str {
        queue_name(self.records[0].source())
    }

    /// Returns the invocation that delivered the messages.
    #[must_use]
    pub fn invocation(&self) -> &'a Invocation {
        self.records[0].invocation()
    }
}

/// The rest of the call: the hooks inside this one, then fetching the body, then the handler.
#[must_use = "the handler is called when this is awaited"]
pub struct Next<'a>(Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>>);

impl<'a> Next<'a> {
    /// Creates a `Next` for the test of a hook, in place of the handler.
    ///
    /// ```
    /// use redrive::hook::{Delivery, Hook, Next};
    /// use redrive::{Failure, Record};
    ///
    /// /// Rejects messages without a group.
    /// struct Grouped;
    ///
    /// impl Hook for Grouped {
    ///     async fn around<'a>(&'a self, delivery: &'a Delivery<'a>, next: Next<'a>) -> Result<(), Failure> {
    ///         if delivery.records().iter().any(|record| record.group().is_none()) {
    ///             return Err(Failure::reject("the message is in no group"));
    ///         }
    ///         next.await
    ///     }
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let record = Record::builder().build();
    /// let result = Grouped.around(&Delivery::new(&[&record]), Next::new(async { Ok(()) })).await;
    /// assert!(result.unwrap_err().is_rejection());
    /// # });
    /// ```
    pub fn new(rest: impl Future<Output = Result<(), Failure>> + Send + 'a) -> Self {
        Self(Box::pin(rest))
    }
}

impl Future for Next<'_> {
    type Output = Result<(), Failure>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(context)
    }
}

impl fmt::Debug for Next<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Next")
    }
}
