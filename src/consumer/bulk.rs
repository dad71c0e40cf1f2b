//! Consumers whose handler takes several messages at a time.

use std::num::NonZeroUsize;

use crate::message::FromMessage;
use crate::{Bulk, Consumer, Handler};

impl<H, M> Consumer<H, Bulk<M>>
where
    H: Handler<Bulk<M>>,
    M: FromMessage,
{
    /// A consumer whose handler takes several messages at a time, see [`Bulk`]. It has the defaults of [`new`](Self::new).
    ///
    /// [`concurrency`](Self::concurrency) says how many calls of the handler run at a time, each of which may need a connection
    /// of its own (default: 10), and
    /// [`time_limit`](Self::time_limit) how long one may take.
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

    /// How many messages one call takes at most. Default: 100, since what takes many rows or records at once has limits, such
    /// as the number of parameters of an SQL statement; `COPY` and `unnest` take thousands. A batch has at most 10,000 messages, on a FIFO queue 10.
    #[must_use]
    pub const fn chunk_size(mut self, messages: NonZeroUsize) -> Self {
        self.chunks.messages = messages;
        self
    }

    /// How many bytes the bodies of one call have together at most, as they were received. A larger message is handled
    /// alone. Default: no limit, since all bodies of a batch have at most 6 MB; in a worker 64 MiB divided by the concurrency,
    /// and 1 MiB at least. Bodies from [`bodies`](Self::bodies) are not counted,
    /// and all of a call are in memory at a time: choose the chunk size for the largest.
    #[must_use]
    pub const fn chunk_bytes(mut self, bytes: NonZeroUsize) -> Self {
        self.chunks.bytes = bytes.get();
        self
    }

    /// Tries a call that fails as a whole again in halves, until the messages that fail alone are found. Default: all its
    /// open messages have failed.
    ///
    /// A call fails as a whole if it leaves several messages open and panics, or returns an error or a rejection. What
    /// speaks of all its messages is not tried again: `retry_after`, `defer` and `discard`, nor is a time limit. Halves run
    /// one after the other, each with what is still open, while there is as much time as the call before took. A half that
    /// succeeded stays done, and what there was no time for is retried. Messages are decoded anew for each call.
    ///
    /// So return an error, or a rejection, if one of the messages may be to blame, and
    /// [`Failure::retry_after`](crate::Failure::retry_after) if none is, as when the database is down.
    ///
    /// The handler has to be a transaction: of a call that failed, nothing may be left.
    #[must_use]
    pub const fn halve_on_failure(mut self) -> Self {
        self.chunks.halves = true;
        self
    }
}
