//! A consumer as a worker: a process that polls the queue itself.

mod calls;
mod clock;
mod consumers;
mod worker_loop;
mod exit;
mod member;
mod places;
mod queue;
mod signals;

pub use self::consumers::{Consumers, Monitor};
use crate::consumer::Consumer;
use crate::error::Error;
use crate::handler::Handler;
use crate::runners::Input;

impl<H, M> Consumer<H, M>
where
    H: Handler<M>,
    M: Input,
{
    /// Polls a queue in a process outside Lambda, until SIGTERM or SIGINT.
    ///
    /// Handlers run as under [`run`](Self::run), with the same results. While a handler runs, redrive extends the
    /// message's visibility timeout, up to SQS's 12 hours. At most [`concurrency`](Self::concurrency) messages are
    /// handled at a time.
    ///
    /// If you do not set the visibility timeout, the max receive count or the dead-letter queue, redrive reads them
    /// from the queue.
    ///
    /// A handler that blocks its thread delays leases, receives and other handlers by at most 40 ms. Then redrive replaces the
    /// thread, up to 16 of them. If one more is blocked for 10 s, or after ten panics in a row, the worker ends.
    ///
    /// After a signal, the worker starts only messages on their last delivery. Handlers have the [`drain`](Self::drain) time to
    /// end, and then redrive cancels them. Messages that did not end, or were not started, return to the queue. A second signal
    /// ends the process at once.
    ///
    /// ```no_run
    /// use redrive::{Consumer, Failure};
    ///
    /// #[tokio::main]
    /// async fn main() -> Result<(), redrive::Error> {
    ///     Consumer::new(greet).work("https://sqs.eu-central-1.amazonaws.com/123456789012/names").await
    /// }
    ///
    /// async fn greet(name: String) -> Result<(), Failure> {
    ///     tracing::info!(name, "hello");
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// A setting is invalid. The queue does not exist or cannot be read. SQS did not confirm the delete or the delay of each
    /// message in time. A second signal arrived. The process cannot handle more messages.
    pub async fn work(self, queue_url: impl Into<String>) -> Result<(), Error> {
        Consumers::new().add(queue_url, self).work().await
    }

    /// Works like [`work`](Self::work), but receives messages only after `is_ready` has ended.
    pub(crate) async fn work_when(
        self,
        is_ready: impl Future<Output = Result<(), String>> + Send + 'static,
        url: String,
    ) -> Result<(), Error> {
        Consumers::new().add(url, self).work_when(is_ready).await
    }

    /// Polls a queue in the calling task until `stop` is ready, and then shuts down as [`work`](Self::work) does. Use
    /// it in tests or in your own `main`. It handles no signals and sets up no log.
    ///
    /// Handlers run in the calling task unless [`workers`](Self::workers) are set. A handler that blocks the task
    /// blocks everything.
    ///
    /// ```no_run
    /// # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
    /// # async fn example(stop: impl Future<Output = ()> + Send) -> Result<(), redrive::Error> {
    /// let consumer = redrive::Consumer::new(place).connect().await?;
    /// consumer.work_until("https://sqs.eu-central-1.amazonaws.com/123456789012/orders", stop).await
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`work`](Self::work), or there is no SQS client, see [`connect`](Self::connect).
    pub async fn work_until(
        &self,
        queue_url: impl Into<String>,
        stop: impl Future<Output = ()> + Send,
    ) -> Result<(), Error> {
        Consumers::new().add(queue_url, self.clone()).work_until(stop).await
    }
}
