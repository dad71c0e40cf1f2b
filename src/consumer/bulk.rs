//! Consumers whose handler takes several messages at a time.

use std::num::NonZeroUsize;

use crate::message::FromMessage;
use crate::{Bulk, Consumer, Handler};

impl<H, M> Consumer<H, Bulk<M>>
where
    H: Handler<Bulk<M>>,
    M: FromMessage,
{
    /// A consumer whose handler gets several messages at a time, see [`Bulk`]. Its defaults are those of
    /// [`new`](Self::new).
    ///
    /// [`concurrency`](Self::concurrency) limits how many calls of the handler run at a time (default: 10). Each may
    /// need its own connection. [`time_limit`](Self::time_limit) limits how long one call may take.
    ///
    /// ```
    /// use redrive::{Bulk, Consumer, Failure, Message};
    /// use std::num::NonZeroUsize;
    ///
    /// async fn insert(names: Bulk<Message<String>>) -> Result<(), Failure> {
    ///     tracing::info!(names = names.len(), "inserted");
    ///     Ok(())
    /// }
    /// let consumer = Consumer::bulk(insert).chunk_size(NonZeroUsize::new(25).unwrap()).halve_on_failure();
    /// ```
    pub fn bulk(handler: H) -> Self {
        Self::new(handler)
    }

    /// The maximum number of messages in one call. Default: 100, because many APIs have limits, such as the number
    /// of parameters of an SQL statement. `COPY` and `unnest` accept thousands. A batch has at most 10,000
    /// messages, and 10 on a FIFO queue.
    pub const fn chunk_size(mut self, messages: NonZeroUsize) -> Self {
        self.setup.chunks.messages = messages;
        self
    }

    /// The maximum total size of the bodies in one call, in bytes, as received. A larger message is handled alone.
    /// Default on Lambda: no limit, because a batch has at most 6 MB. Default in a worker: 64 MiB divided by the
    /// concurrency, but at least 1 MiB. Bodies from [`bodies`](Self::bodies) do not count. All bodies of a call
    /// are in memory at the same time, so choose the chunk size for the largest.
    pub const fn chunk_bytes(mut self, bytes: NonZeroUsize) -> Self {
        self.setup.chunks.bytes = bytes.get();
        self
    }

    /// Splits a call that failed as a whole into halves and repeats them, until it finds the messages that fail
    /// alone. Default: all open messages of the call have failed.
    ///
    /// A call fails as a whole if it leaves several messages open and panics, or returns an error or a rejection.
    /// Results that concern all its messages are not repeated: `retry_after`, `defer`, `discard` and a timeout.
    /// Halves run one after the other, with the messages that are still open. They run only while at least as much
    /// time is left as the first call took. Messages of a half that succeeded are done. If time runs out, the
    /// remaining messages are retried. Each call decodes its messages again.
    ///
    /// Return an error or a rejection if one of the messages may be at fault. Return
    /// [`Failure::retry_after`](crate::Failure::retry_after) if none is, for example when the database is down.
    ///
    /// The handler must be a transaction: a call that failed must leave nothing behind.
    pub const fn halve_on_failure(mut self) -> Self {
        self.setup.chunks.halves = true;
        self
    }
}
