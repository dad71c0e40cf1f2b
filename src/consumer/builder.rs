//! The settings of a consumer that have no variable.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::consumer::{Consumer, QueueSettings, Report, Setup};
use crate::failure::{BoxError, Failure};
use crate::handler::bulk::Bulk;
use crate::handler::hook::Hook;
use crate::handler::other_event::{OtherEvent, TakeOther};
use crate::message::FromMessage;
use crate::message::bodies::Bodies;
use crate::message::record::Record;
use crate::once::Once;
use crate::runners::{Chunks, Input};
use crate::settings::{ChunkBytes, ChunkSize, Settings};
use crate::tokens::Tokens;
use redrive_engine::Rate;

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

    /// Calls `observer` with each [`BatchReport`](crate::BatchReport) or each [`MessageReport`](crate::MessageReport), for your own
    /// metrics. Reports of messages come once their whole batch is settled. An observer may take 2 s for a batch, and must end 100 ms
    /// before the function's deadline; the response waits for it. There may be several.
    ///
    /// ```
    /// use redrive::{BatchReport, Consumer, MessageReport};
    ///
    /// # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
    /// let consumer = Consumer::new(place)
    ///     .observe(|batch: &BatchReport| tracing::info!(batch.records, batch.dead_lettered, "batch"))
    ///     .observe(|message: &MessageReport| tracing::info!(message.id, message.attempt, "message"));
    /// ```
    #[expect(private_bounds, reason = "a report is one of the two above")]
    pub fn observe<R: Report>(self, observer: impl Fn(&R) + Send + Sync + 'static) -> Self {
        self.set(|setup| R::observe(setup, observer))
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

impl<H, M: FromMessage> Consumer<H, Bulk<M>> {
    /// The size of the calls of a bulk handler, and whether a call that fails is repeated in halves. Default: at most 100
    /// messages, and no halves.
    ///
    /// ```
    /// use redrive::{Bulk, Chunks, Consumer, Failure, Message};
    ///
    /// async fn insert(names: Bulk<Message<String>>) -> Result<(), Failure> {
    ///     tracing::info!(names = names.len(), "inserted");
    ///     Ok(())
    /// }
    /// let consumer = Consumer::new(insert).chunks(Chunks::of(25).halve_on_failure());
    /// ```
    pub fn chunks(self, chunks: Chunks) -> Self {
        self.set(|setup| {
            setup.settings.keep::<ChunkSize>(chunks.messages);
            if let Some(bytes) = chunks.bytes {
                setup.settings.keep::<ChunkBytes>(bytes);
            }
            setup.chunks = chunks;
        })
    }
}
