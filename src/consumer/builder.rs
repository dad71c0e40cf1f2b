//! The settings of a consumer that have no variable.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::consumer::{Consumer, QueueSettings, Setup};
use crate::failure::{BoxError, Failure};
use crate::handler::Handler;
use crate::handler::bulk::Bulk;
use crate::handler::hook::Hook;
use crate::handler::other_event::{OtherEvent, TakeOther};
use crate::message::FromMessage;
use crate::message::bodies::Bodies;
use crate::message::record::Record;
use crate::once::Once;
use crate::runners::Input;
use crate::settings::{ChunkBytes, ChunkSize, Settings};
use crate::telemetry::message_report::MessageReport;
use crate::tokens::Tokens;
use redrive_engine::Rate;
use redrive_observers::BatchReport;

impl<H, M> Consumer<H, M> {
    /// Computes the delay of a failed message from the attempt and the failure. [`backoff`](Self::backoff) still applies to
    /// messages whose handler panicked, timed out or did not run.
    pub fn backoff_by(self, delay: impl Fn(u32, &Failure) -> Duration + Send + Sync + 'static) -> Self {
        self.set(|setup| setup.classifier.delay = Some(Arc::new(delay)))
    }

    /// Shares the [`rate`](Self::rate) with all workers that have the same bucket, for example in a DynamoDB table. Together
    /// they start as many messages as one worker alone would. Default: each worker has its own bucket. While a worker cannot
    /// reach the bucket, it stops receiving messages.
    ///
    /// ```
    /// # use redrive::tokens::Tokens;
    /// # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
    /// use redrive::{Consumer, Rate};
    ///
    /// # fn example(bucket: impl Tokens) {
    /// let consumer = Consumer::new(place).rate(Rate::per_second(50)).share_rate(bucket);
    /// # }
    /// ```
    pub fn share_rate(self, bucket: impl Tokens) -> Self {
        self.set(|setup| setup.tokens = Some(Arc::new(bucket)))
    }

    /// The maximum number of messages of each key that start per second, minute or hour, for example ten a second for each
    /// customer. `key` returns the key of a message. A message without a key starts at once. Default: no keys.
    ///
    /// The messages of one key do not delay those of other keys. A [worker](Self::work) keeps up to
    /// [concurrency](Self::concurrency) messages waiting for their turn, if it comes within the visibility timeout. Further
    /// messages return to the queue until their turn, which costs each one delivery. A message on its last delivery does not
    /// return: it starts at once if it cannot wait. Each process has its own rates. A Lambda function with a rate ends with an
    /// error.
    ///
    /// redrive calls `key` when it receives a message. Other messages wait meanwhile, so `key` must not block. If it panics,
    /// the message has no key. redrive tracks 10,000 keys, by their hashes. If more are in use, it forgets those whose buckets
    /// are full soonest.
    ///
    /// ```
    /// use redrive::{Attribute, Consumer, Rate};
    ///
    /// # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
    /// let consumer = Consumer::new(place).rate_by(
    ///     |record| record.attributes().get("customer").and_then(Attribute::as_str).map(str::to_owned),
    ///     Rate::per_second(10),
    /// );
    /// ```
    pub fn rate_by<K: Into<Option<String>>>(
        self,
        key: impl Fn(&Record<'_>) -> K + Send + Sync + 'static,
        rate: Rate,
    ) -> Self {
        self.setting(|settings| settings.rate_of_key = settings.keep(rate))
            .set(|setup| setup.rate_keys = Some(Arc::new(move |record| key(record).into())))
    }

    /// Names the dependencies that a message needs. While one of them is down, redrive returns the message to the queue
    /// without running it (see [`Failure::outage`]). Default: all messages need the same dependency, which has no name.
    ///
    /// redrive calls `names` only around an outage. Other messages wait meanwhile, so it must not block. If it panics or
    /// returns nothing, the default applies. redrive tracks 10,000 names, by their hashes. If more have outages, it forgets
    /// those whose last outage is the longest ago.
    ///
    /// ```
    /// use redrive::{Attribute, Consumer};
    ///
    /// # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
    /// let consumer = Consumer::new(place)
    ///     .depends_on(|record| record.attributes().get("tenant").and_then(Attribute::as_str).map(str::to_owned));
    /// ```
    pub fn depends_on<I, S>(self, names: impl Fn(&Record<'_>) -> I + Send + Sync + 'static) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        let names = move |record: &Record<'_>| {
            let names: BTreeSet<String> = names(record).into_iter().map(Into::into).collect();
            names.into_iter().filter(|name| !name.is_empty()).collect()
        };
        self.set(|setup| setup.dependencies = Some(Arc::new(names)))
    }

    /// The settings of one queue by its ARN, for a function with several queues. Default: the consumer's own
    /// settings, for any queue.
    ///
    /// If you name queues, set the dead-letter queue, the max receive count and the visibility timeout for each queue, not for
    /// the consumer. If you do not name queues but set one of these three, they apply to the first queue that sends a batch. In
    /// both cases, redrive refuses batches of other queues: it neither handles nor deletes their messages. The keys in
    /// `REDRIVE_QUEUES` are the names of variables without `REDRIVE_`, in lower case.
    pub fn queue(self, arn: impl Into<String>, settings: QueueSettings) -> Self {
        self.setting(|all| {
            all.queues.insert(arn.into(), settings.0);
        })
    }

    /// Calls `observer` with the report of each batch, for your own metrics. It may take 2 s, and must end 100 ms
    /// before the function's deadline; the response waits for it.
    pub fn observe(self, observer: impl Fn(&BatchReport) + Send + Sync + 'static) -> Self {
        self.set(|setup| setup.observer = Some(Arc::new(observer)))
    }

    /// Calls `observer` with the result of each message, once the whole batch is settled. It has 2 s per batch, like
    /// [`Hook::settled`].
    pub fn observe_messages(self, observer: impl Fn(&MessageReport) + Send + Sync + 'static) -> Self {
        self.set(|setup| setup.hooks.observe(observer))
    }

    /// Adds code around each call of the handler, inside the hooks added before.
    pub fn hook(self, hook: impl Hook) -> Self {
        self.set(|setup| setup.hooks.add(hook))
    }

    /// Fetches bodies that are not in the message itself. Default: the message's own body.
    pub fn bodies(self, source: impl Bodies) -> Self {
        self.set(|setup| setup.bodies = Some(Arc::new(source)))
    }

    /// Handles each message once, as far as a store can ensure that: a duplicate of a finished message is deleted without
    /// running, and a duplicate of a message that another process is working on waits. Takes a [`Store`](crate::once::Store),
    /// or a [`Once`] with its own settings. Default: none, so a message may be handled twice.
    ///
    /// ```
    /// # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let consumer = redrive::Consumer::new(place).once(redrive::once::Memory::new());
    /// # })
    /// ```
    pub fn once(self, once: impl Into<Once<M::Message>>) -> Self
    where
        M: Input,
    {
        self.set(|setup| setup.once = Some(once.into().rules))
    }

    /// Handles events that are not from SQS, such as a schedule's pings. The result of `take` is the response of the
    /// invocation. `take` runs where handlers run, until 100 ms before the function's deadline. An error, a panic or a
    /// timeout fails the invocation. It never gets an event that contains SQS messages, because Lambda would delete them
    /// after any response but redrive's. Default: such an event fails the invocation with the error type `InvalidEvent`.
    ///
    /// [`run`](Self::run) and [`handle_any`](Self::handle_any) call it. The tower service cannot, because
    /// lambda_runtime refuses such events first.
    ///
    /// ```
    /// use redrive::{BoxError, Consumer, Failure, OtherEvent};
    /// use serde_json::{Value, json};
    ///
    /// async fn ping(event: OtherEvent) -> Result<Value, BoxError> {
    ///     match event.value()["detail-type"].as_str() {
    ///         Some("Scheduled Event") => Ok(json!("warm")),
    ///         _ => Err("neither SQS nor the schedule sent this".into()),
    ///     }
    /// }
    /// # async fn place(order: String) -> Result<(), Failure> { Ok(()) }
    /// let consumer = Consumer::new(place).on_other_event(ping);
    /// ```
    pub fn on_other_event<R, E>(self, take: impl Fn(OtherEvent) -> R + Send + Sync + 'static) -> Self
    where
        R: Future<Output = Result<Value, E>> + Send + 'static,
        E: Into<BoxError>,
    {
        self.set(|setup| setup.other = Some(TakeOther::new(take)))
    }

    /// Classifies the errors of handlers that do not use redrive's types.
    ///
    /// It is not called for a [`Failure`] made by one of its constructors, for a [`Verdict`](crate::Verdict), or for
    /// a body that could not be decoded.
    ///
    /// ```
    /// use redrive::{Consumer, Failure};
    /// # async fn place(order: String) -> Result<(), Failure> { Ok(()) }
    /// let consumer = Consumer::new(place).classify(|failure| {
    ///     match failure.find::<std::io::Error>().map(std::io::Error::kind) {
    ///         Some(std::io::ErrorKind::InvalidData) => Failure::reject(failure),
    ///         _ => failure,
    ///     }
    /// });
    /// ```
    pub fn classify(self, classify: impl Fn(Failure) -> Failure + Send + Sync + 'static) -> Self {
        self.set(|setup| setup.classifier.classify = Some(Arc::new(classify)))
    }

    pub(crate) fn outlives_handlers(self) -> Self {
        self.setting(|settings| settings.outlives_handlers = true)
    }

    fn set(mut self, set: impl FnOnce(&mut Setup)) -> Self {
        set(&mut self.setup);
        self
    }

    pub(crate) fn setting(self, set: impl FnOnce(&mut Settings)) -> Self {
        self.set(|setup| set(&mut setup.settings))
    }
}

/// Settings of bulk handlers, which take several messages at a time.
impl<H, M> Consumer<H, Bulk<M>>
where
    H: Handler<Bulk<M>>,
    M: FromMessage,
{
    /// Creates a consumer whose handler gets several messages at a time, see [`Bulk`]. Its defaults are those of
    /// [`new`](Self::new).
    ///
    /// [`concurrency`](Self::concurrency) limits the number of calls that run at the same time (default: 10). Each may need its
    /// own connection. [`time_limit`](Self::time_limit) limits the time of one call.
    ///
    /// ```
    /// use redrive::{Bulk, Consumer, Failure, Message};
    ///
    /// async fn insert(names: Bulk<Message<String>>) -> Result<(), Failure> {
    ///     tracing::info!(names = names.len(), "inserted");
    ///     Ok(())
    /// }
    /// let consumer = Consumer::bulk(insert).chunk_size(25).halve_on_failure();
    /// ```
    pub fn bulk(handler: H) -> Self {
        Self::new(handler)
    }

    /// The maximum number of messages in one call, 1 to 10,000. Default: 100, because many APIs have limits, such as the number
    /// of parameters of an SQL statement. `COPY` and `unnest` accept thousands. A batch has at most 10,000
    /// messages, and 10 on a FIFO queue.
    pub fn chunk_size(self, messages: usize) -> Self {
        self.set(|setup| {
            if let Some(messages) = setup.settings.keep::<ChunkSize>(messages) {
                setup.chunks.messages = *messages;
            }
        })
    }

    /// The maximum total size of the bodies in one call, in bytes, 1 to 4,294,967,295, as received. A larger message is handled alone.
    /// Default on Lambda: no limit, because a batch has at most 6 MB. Default in a worker: 64 MiB divided by the
    /// concurrency, but at least 1 MiB. Bodies from [`bodies`](Self::bodies) do not count. All bodies of a call
    /// are in memory at the same time, so choose the chunk size for the largest.
    pub fn chunk_bytes(self, bytes: usize) -> Self {
        self.set(|setup| {
            if let Some(bytes) = setup.settings.keep::<ChunkBytes>(bytes) {
                setup.chunks.bytes = *bytes;
            }
        })
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
    /// [`Failure::retry_after`](crate::Failure::retry_after) if no message is, for example when the database is down.
    ///
    /// The handler must be a transaction: a call that failed must leave nothing behind.
    pub const fn halve_on_failure(mut self) -> Self {
        self.setup.chunks.halves = true;
        self
    }
}
