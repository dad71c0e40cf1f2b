//! The settings of a consumer, one method each.

use std::collections::BTreeSet;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use redrive_sqs::OriginSenders;
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
use crate::settings::{ChunkBytes, ChunkSize, Metrics, Settings};
use crate::telemetry::message_report::MessageReport;
use crate::tokens::Tokens;
use redrive_engine::{Backoff, LastDelivery, OnFailure, Overrides, Rate};
use redrive_observers::BatchReport;

impl<H, M> Consumer<H, M> {
    /// The queue for messages that cannot succeed. Default: none; such messages are retried with a warning.
    ///
    /// A [worker](Self::work) uses the one in its queue's redrive policy.
    pub fn dead_letter_queue_url(self, url: impl Into<String>) -> Self {
        self.setting(|settings| settings.dead_letter_queue_url = settings.keep(url.into()))
    }

    /// The queue's maxReceiveCount. Default: unknown, so no delivery is treated as the last.
    ///
    /// From 1 to 1,000. A [worker](Self::work) uses the one in its queue's redrive policy.
    pub fn max_receive_count(self, count: u32) -> Self {
        self.setting(|settings| settings.max_receive_count = settings.keep(count))
    }

    /// The queue's visibility timeout. Default: 30 s.
    ///
    /// At most 36,000 s. No delay is longer than 43,200 s minus this. A [worker](Self::work) requests it with each receive;
    /// its default is the queue's own.
    pub fn visibility_timeout(self, timeout: Duration) -> Self {
        self.setting(|settings| settings.visibility_timeout = settings.keep(timeout))
    }

    /// The maximum number of messages of a batch that run at the same time. Default: 10.
    ///
    /// From 1 to 10,000. If a process has several batches, as on Lambda Managed Instances, the limit applies to each. A
    /// [worker](Self::work) handles at most this many messages at a time.
    ///
    /// ```
    /// # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
    /// let consumer = redrive::Consumer::new(place).concurrency(5);
    /// ```
    pub fn concurrency(self, messages: usize) -> Self {
        self.setting(|settings| settings.concurrency = settings.keep(messages))
    }

    /// The time that the handler may take for one message. Default: the time left for the batch.
    ///
    /// At most 5,400 s. In a [worker](Self::work), the default is 12 hours from the receive. The time includes waiting inside
    /// the handler, for example for a permit or a pooled connection.
    pub fn time_limit(self, limit: Duration) -> Self {
        self.setting(|settings| settings.time_limit = settings.keep(limit))
    }

    /// The time before the function's deadline at which redrive cancels handlers, so that it can still delay and dead-letter
    /// messages. Default: 10 % of the time left on arrival, from 500 ms to 5 s.
    ///
    /// The reserve is at least 200 ms, and at most half of the time left.
    pub fn reserve(self, reserve: Duration) -> Self {
        self.setting(|settings| settings.reserve = Some(reserve))
    }

    /// The delays before failed messages are retried. Default: 2^attempt seconds.
    pub fn backoff(self, backoff: Backoff) -> Self {
        self.setting(|settings| settings.backoff = Some(backoff))
    }

    /// Computes the delay of a failed message from the attempt and the failure. [`backoff`](Self::backoff) still applies to
    /// messages whose handler panicked, timed out or did not run.
    pub fn backoff_by(self, delay: impl Fn(u32, &Failure) -> Duration + Send + Sync + 'static) -> Self {
        self.set(|setup| setup.classifier.delay = Some(Arc::new(delay)))
    }

    /// The overrides that senders may set with the message attributes `redrive.backoff` and `redrive.max-attempts`. Default:
    /// fewer attempts and, on a standard queue, longer delays.
    ///
    /// The attempts are fewer than the queue's maxReceiveCount, and the delays longer than the consumer's.
    pub fn overrides(self, allowed: Overrides) -> Self {
        self.setting(|settings| settings.overrides = Some(allowed))
    }

    /// The senders that may set `redrive.origin`, and with it [`Message::key`](crate::Message::key): the unique ids of the IAM
    /// users and roles that run `redrive dlq retry`. Default: everyone who may send to the queue. A role's id covers all its
    /// sessions; anyone who may assume the role chooses the session name.
    ///
    /// An account's 12 digits cover its root user and its federated users. redrive removes the origin that any other sender set,
    /// and the key is then the message id. redrive rejects an empty variable, because it would trust everyone. Set this if the
    /// consumer has a store for [`once`](Self::once) without your own [key](Once::key). Otherwise, messages with an origin become
    /// dead letters (`origin-sender`).
    pub fn origin_senders(self, ids: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.setting(|settings| settings.origin_senders = settings.keep(OriginSenders::new(ids)))
    }

    /// Dead-letters or retries a message whose handler panicked. Default: the dead-letter queue.
    ///
    /// A panic is a bug; choose [`OnFailure::Retry`] if handlers unwrap I/O errors. After the first panic, redrive retries
    /// further panics until a message succeeds. Under [`run`](Self::run), ten in a row end the process.
    pub fn on_panic(self, choice: OnFailure) -> Self {
        self.setting(|settings| settings.on_panic = Some(choice))
    }

    /// Dead-letters or retries a message whose body cannot be decoded. Default: the dead-letter queue.
    pub fn on_malformed(self, choice: OnFailure) -> Self {
        self.setting(|settings| settings.on_malformed = Some(choice))
    }

    /// Chooses who dead-letters a message that failed on its last delivery: the queue's redrive policy, or redrive. Default:
    /// the redrive policy; on FIFO queues, redrive.
    ///
    /// On a FIFO queue, the group continues as soon as redrive has dead-lettered the message.
    pub fn last_delivery(self, choice: LastDelivery) -> Self {
        self.setting(|settings| settings.last_delivery = Some(choice))
    }

    /// The time for which redrive retries a message while a dependency is down, as far as the queue's maxReceiveCount allows.
    /// The queue must retain messages for longer. Default: 14,400 s (4 h), counted from the first receive.
    ///
    /// See [`Failure::outage`]. At most 1,209,600 s, the longest that [SQS retains a
    /// message](https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html).
    pub fn outage_horizon(self, horizon: Duration) -> Self {
        self.setting(|settings| settings.outage_horizon = settings.keep(horizon))
    }

    /// The maximum number of messages that a worker starts per second, minute or hour. Default: as many as the concurrency
    /// allows. A Lambda function with a rate ends with an error.
    ///
    /// On Lambda, set `MaximumConcurrency` and `BatchSize` of the event source mapping instead. A [worker](Self::work) receives
    /// only as many messages as it may start. The others wait in the queue without using up deliveries. Each process has its own
    /// rate, unless workers [share](Self::share_rate) it.
    ///
    /// ```
    /// # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
    /// use redrive::{Consumer, Rate};
    ///
    /// let consumer = Consumer::new(place).rate(Rate::per_second(50));
    /// ```
    pub fn rate(self, rate: Rate) -> Self {
        self.setting(|settings| settings.rate = settings.keep(rate))
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

    /// The destination of the metrics. Default: `PutMetricData`, if there is a client for it.
    pub fn metrics(self, metrics: Metrics) -> Self {
        self.setting(|settings| settings.metrics = Some(metrics))
    }

    /// The namespace of the metrics. Default: `Redrive`.
    pub fn metrics_namespace(self, namespace: impl Into<String>) -> Self {
        self.setting(|settings| settings.metrics_namespace = settings.keep(namespace.into()))
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

    fn setting(self, set: impl FnOnce(&mut Settings)) -> Self {
        self.set(|setup| set(&mut setup.settings))
    }
}

/// The settings of a worker.
impl<H, M> Consumer<H, M> {
    /// The time that a worker's handlers have to finish after shutdown begins. Default: 25 s. The platform must wait 5 s longer
    /// before it kills the process.
    ///
    /// At most 3,600 s. The platform's time is `stopTimeout` on ECS and `terminationGracePeriodSeconds` on Kubernetes, both 30 s
    /// by default.
    pub fn drain(self, limit: Duration) -> Self {
        self.setting(|settings| settings.drain = settings.keep(limit))
    }

    /// The address at which a worker serves `/livez`, `/readyz` and `/metrics` over HTTP. Default: none.
    ///
    /// In the variable, `:8080` without a host means all interfaces.
    pub fn health(self, address: SocketAddr) -> Self {
        self.setting(|settings| settings.health = Some(address))
    }

    /// Protects the ECS task of a worker from scale-in and deployments while it handles messages. Default: off.
    ///
    /// Outside ECS, redrive only logs a warning.
    /// <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-scale-in-protection.html>
    pub fn task_protection(self, protects: bool) -> Self {
        self.setting(|settings| settings.task_protection = Some(protects))
    }

    /// Lets a worker handle fewer messages at a time while handlers take longer than this on average. Default: off.
    ///
    /// At most 5,400 s. On Lambda it has no effect. The worker starts with one message at a time, and doubles that up to the
    /// [`concurrency`](Self::concurrency) as long as handlers are faster. If they are slower, or more than one in ten has an
    /// outage or a timeout, it continues with 70 %, and then adds one at a time.
    pub fn adaptive_concurrency(self, slow: Duration) -> Self {
        self.setting(|settings| settings.adaptive_concurrency = settings.keep(slow))
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
