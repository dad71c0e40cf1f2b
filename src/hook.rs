//! Code around each call of a handler, and told of each message's end.

mod list;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use redrive_sqs::queue_name;

pub(crate) use self::list::Hooks;
use crate::message_report::MessageReport;
use crate::record::Record;
use crate::{Failure, Invocation};

/// Code around each call of a handler: timing, tracing, a rate limit, a value for the handler to find in a task-local.
///
/// Every method has a default that does nothing. [`Consumer::hook`](crate::Consumer::hook) adds a hook; the first is the
/// outermost.
///
/// ```
/// use std::future::Future;
/// use std::time::Instant;
/// use redrive::{Consumer, Delivery, Failure, Hook, Next};
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
/// A hook runs where the handler runs, within its time limit, and its panics and delays count as the handler's.
pub trait Hook: Send + Sync + 'static {
    /// Runs around one call of the handler. `next` fetches and decodes the body and calls the handler; without it the handler
    /// is not called. What this returns becomes the handler's result.
    ///
    /// At a time limit and at the end of the batch the future is dropped.
    fn around<'a>(
        &'a self,
        delivery: &'a Delivery<'a>,
        next: Next<'a>,
    ) -> impl Future<Output = Result<(), Failure>> + Send + 'a {
        let _ = delivery;
        next
    }

    /// Is told what became of each message of a batch, once all its messages are settled. A hook has 2 s for that and
    /// [`flush`](Self::flush) together, and none after the last 100 ms before the deadline began: of the messages that are
    /// left then it is not told, and a line of the log says how many there are.
    fn settled(&self, message: &MessageReport) {
        let _ = message;
    }

    /// Runs before a batch is answered, after [`settled`](Self::settled): the time to send what was gathered. It is dropped
    /// at `until`: 2 s after the hook was first told of a message of the batch, or 100 ms before the deadline if that is
    /// earlier. A panic or a timeout is logged, and concerns no other hook. A [worker](crate::Consumer::work) calls it a second
    /// after a message was settled, for all that were meanwhile, and at its end.
    ///
    /// `until` is a time of tokio's clock. Where a test has paused that, `std::time::Instant::now()` is another time: compare
    /// `tokio::time::Instant::from_std(until)` with `tokio::time::Instant::now()`.
    fn flush(&self, until: Instant) -> impl Future<Output = ()> + Send {
        let _ = until;
        std::future::ready(())
    }
}

/// What a handler is called with: one message, or several at a time.
#[derive(Debug)]
pub struct Delivery<'a> {
    records: &'a [&'a Record<'a>],
}

impl<'a> Delivery<'a> {
    /// A delivery for the test of a hook; see [`Next::new`].
    ///
    /// # Panics
    /// There are no records.
    #[must_use]
    pub const fn new(records: &'a [&'a Record<'a>]) -> Self {
        assert!(!records.is_empty(), "a delivery has at least one message");
        Self { records }
    }

    /// The messages, at least one.
    #[must_use]
    pub const fn records(&self) -> &'a [&'a Record<'a>] {
        self.records
    }

    /// The message, if it is the only one: what is true of one of several messages need not be true of the others.
    #[must_use]
    pub const fn record(&self) -> Option<&'a Record<'a>> {
        match self.records {
            [record] => Some(record),
            _ => None,
        }
    }

    /// The name of the queue that the messages were received from.
    #[must_use]
    pub fn queue(&self) -> &'a str {
        queue_name(self.records[0].source())
    }

    /// The invocation that brought the messages.
    #[must_use]
    pub fn invocation(&self) -> &'a Invocation {
        self.records[0].invocation()
    }
}

/// The rest of a message's way: the hooks inside this one, then the body, then the handler.
#[must_use = "the handler is called when this is awaited"]
pub struct Next<'a>(Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>>);

impl<'a> Next<'a> {
    /// What a test has a hook find inside it, in the place of the handler.
    ///
    /// ```
    /// use redrive::{Delivery, Failure, Hook, Next, Record};
    ///
    /// /// Only messages of a group are handled.
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
