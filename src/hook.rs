//! Code around each call of a handler, and told of each message's end.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use redrive_sqs::queue_name;

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
///         println!("{} took {:?}", delivery.record().id(), began.elapsed());
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

    /// Is told what became of each message of a batch, once all its messages are settled.
    fn settled(&self, message: &MessageReport) {
        let _ = message;
    }

    /// Runs before a batch is answered, after [`settled`](Self::settled): the time to send what was gathered. It is dropped
    /// at `until`, 100 ms before the deadline; a panic or a timeout is logged, and concerns no other hook.
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
    pub(crate) const fn new(records: &'a [&'a Record<'a>]) -> Self {
        Self { records }
    }

    /// The messages, at least one.
    #[must_use]
    pub const fn records(&self) -> &'a [&'a Record<'a>] {
        self.records
    }

    /// The message, or the first of several.
    #[must_use]
    pub const fn record(&self) -> &'a Record<'a> {
        self.records[0]
    }

    /// The name of the queue that the messages were received from.
    #[must_use]
    pub fn queue(&self) -> &'a str {
        queue_name(self.record().source())
    }

    /// The invocation that brought the messages.
    #[must_use]
    pub fn invocation(&self) -> &'a Invocation {
        self.record().invocation()
    }
}

/// The rest of a message's way: the hooks inside this one, then the body, then the handler.
#[must_use = "the handler is called when this is awaited"]
pub struct Next<'a>(Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>>);

impl<'a> Next<'a> {
    pub(crate) fn new(rest: impl Future<Output = Result<(), Failure>> + Send + 'a) -> Self {
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

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The hooks of a consumer, in the order in which they were added.
#[derive(Clone, Default)]
pub(crate) struct Hooks(Arc<[Arc<dyn AnyHook>]>);

/// A [`Hook`] of any type.
trait AnyHook: Send + Sync {
    fn around<'a>(&'a self, delivery: &'a Delivery<'a>, next: Next<'a>) -> Next<'a>;
    fn settled(&self, message: &MessageReport);
    fn flush(&self, until: Instant) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

impl<H: Hook> AnyHook for H {
    fn around<'a>(&'a self, delivery: &'a Delivery<'a>, next: Next<'a>) -> Next<'a> {
        Next::new(Hook::around(self, delivery, next))
    }

    fn settled(&self, message: &MessageReport) {
        Hook::settled(self, message);
    }

    fn flush(&self, until: Instant) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(Hook::flush(self, until))
    }
}

impl Hooks {
    pub(crate) fn add(&mut self, hook: impl Hook) {
        self.0 = self.0.iter().cloned().chain([Arc::new(hook) as Arc<dyn AnyHook>]).collect();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn around<'a>(&'a self, delivery: &'a Delivery<'a>, call: Next<'a>) -> Next<'a> {
        self.0.iter().rev().fold(call, |next, hook| hook.around(delivery, next))
    }

    /// Tells each hook what became of the messages, and has it flush: apart, so that none suffers from another.
    pub(crate) fn told(&self, messages: Vec<MessageReport>, until: Instant) -> Vec<Task> {
        let messages = Arc::new(messages);
        let told = |hook: &Arc<dyn AnyHook>| -> Task {
            let (hook, messages) = (Arc::clone(hook), Arc::clone(&messages));
            Box::pin(async move {
                messages.iter().for_each(|message| hook.settled(message));
                hook.flush(until).await;
            })
        };
        self.0.iter().map(told).collect()
    }
}

/// A closure that is told what became of each message.
pub(crate) struct MessageObserver<F>(pub(crate) F);

impl<F: Fn(&MessageReport) + Send + Sync + 'static> Hook for MessageObserver<F> {
    fn settled(&self, message: &MessageReport) {
        self.0(message);
    }
}
