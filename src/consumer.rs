//! [`Consumer`]: a handler and its settings.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::error::{Error, MissingMessageId};
use crate::event::Event;
use crate::flow::{Flow, Invocation};
use crate::message::FromMessage;
use crate::metrics::Sink;
use crate::settings::{LastDelivery, Metrics, OnFailure, Pace, Settings};
use crate::{Backoff, BatchReport, Failure, Handler, log};

/// Looks at every report.
pub(crate) type Observer = Arc<dyn Fn(&BatchReport) + Send + Sync>;
/// Has the last word on every failure of a handler.
pub(crate) type Classify = Arc<dyn Fn(Failure) -> Failure + Send + Sync>;

/// A handler and everything there is to say about how its batches are treated.
///
/// What the code leaves unsaid is read from `REDRIVE_*` variables when it [`run`](Self::run)s, and else has a
/// default.
///
/// In a test, [`handle`](Self::handle) needs no AWS and no environment:
///
/// ```
/// use redrive::{Consumer, Failure};
/// use aws_lambda_events::sqs::SqsEvent;
/// use std::time::Duration;
/// use tokio::time::Instant;
///
/// async fn greet(name: String) -> Result<(), Failure> {
///     if name.is_empty() { Err("nobody to greet")? }
///     Ok(())
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let event: SqsEvent = serde_json::from_str(
///     r#"{"Records": [{"messageId": "a", "body": "\"you\""}, {"messageId": "b", "body": "\"\""}]}"#)?;
/// let deadline = Instant::now() + Duration::from_secs(10);
/// let response = Consumer::new(greet).handle(event, deadline).await?;
/// assert_eq!(response.batch_item_failures.len(), 1);
/// assert_eq!(response.batch_item_failures[0].item_identifier, "b");
/// # Ok::<(), redrive::BoxError>(()) }).unwrap();
/// ```
pub struct Consumer<H, M> {
    handler: Arc<H>,
    settings: Settings,
    sqs: Option<aws_sdk_sqs::Client>,
    sink: Sink,
    observer: Option<Observer>,
    classify: Option<Classify>,
    workers: Option<Handle>,
    message: PhantomData<fn(M)>,
}

impl<H, M> Consumer<H, M>
where
    H: Handler<M>,
    M: FromMessage,
{
    /// A consumer with nothing but defaults and without AWS clients.
    ///
    /// Without an SQS client failed messages are reported, but neither delayed nor dead-lettered.
    pub fn new(handler: H) -> Self {
        Self {
            handler: Arc::new(handler),
            settings: Settings::default(),
            sqs: None,
            sink: Sink::Off,
            observer: None,
            classify: None,
            workers: None,
            message: PhantomData,
        }
    }

    /// Where messages go that cannot succeed. Default: none, and they are retried with a warning.
    #[must_use]
    pub fn dead_letter_queue_url(mut self, url: impl Into<String>) -> Self {
        self.settings.dead_letter_queue_url = Some(url.into());
        self
    }

    /// The queue's maxReceiveCount, 1 to 1,000. Default: not known, and no delivery is treated as the last.
    #[must_use]
    pub fn max_receive_count(mut self, count: u32) -> Self {
        self.settings.max_receive_count = Some(count);
        self
    }

    /// The queue's visibility timeout, at most 36,000 s. Default: 30 s. No delay goes above 43,200 s less this.
    #[must_use]
    pub fn visibility_timeout(mut self, timeout: Duration) -> Self {
        self.settings.visibility_timeout = Some(timeout);
        self
    }

    /// How many messages of a batch run at a time, at least 1. Default: 10.
    #[must_use]
    pub fn concurrency(mut self, messages: usize) -> Self {
        self.settings.concurrency = Some(messages);
        self
    }

    /// How long one message may take. Default: as long as the batch has.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.settings.time_limit = Some(limit);
        self
    }

    /// How long before the function's deadline handlers are cancelled, so that their messages can be settled.
    /// Default: 10 % of the time left on arrival, from 500 ms to 5 s; never more than half of it.
    #[must_use]
    pub fn reserve(mut self, reserve: Duration) -> Self {
        self.settings.reserve = Some(reserve);
        self
    }

    /// How long failed messages wait. Default: 2^attempt seconds.
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.settings.pace = Some(Pace::Backoff(backoff));
        self
    }

    /// How long failed messages wait, as a function of the attempt and the failure. Called for each of them.
    #[must_use]
    pub fn backoff_by(mut self, delay: impl Fn(u32, &Failure) -> Duration + Send + Sync + 'static) -> Self {
        self.settings.pace = Some(Pace::Custom(Arc::new(delay)));
        self
    }

    /// What becomes of a message whose handler panicked. Default: the dead-letter queue, since a panic is a bug;
    /// choose [`OnFailure::Retry`] where handlers unwrap I/O errors.
    #[must_use]
    pub fn on_panic(mut self, choice: OnFailure) -> Self {
        self.settings.on_panic = Some(choice);
        self
    }

    /// What becomes of a message whose body cannot be decoded. Default: the dead-letter queue.
    #[must_use]
    pub fn on_malformed(mut self, choice: OnFailure) -> Self {
        self.settings.on_malformed = Some(choice);
        self
    }

    /// Who dead-letters a message that failed on its last delivery. Default: the redrive policy; on a FIFO queue
    /// redrive, so that the group goes on.
    #[must_use]
    pub fn last_delivery(mut self, choice: LastDelivery) -> Self {
        self.settings.last_delivery = Some(choice);
        self
    }

    /// Where metrics go. Default: `PutMetricData`.
    #[must_use]
    pub fn metrics(mut self, metrics: Metrics) -> Self {
        self.settings.metrics = Some(metrics);
        self
    }

    /// The namespace of the metrics. Default: `Redrive`.
    #[must_use]
    pub fn metrics_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.settings.metrics_namespace = Some(namespace.into());
        self
    }

    /// Shows every batch's report to `observer`, for metrics of your own. It has until the function's deadline.
    #[must_use]
    pub fn observe(mut self, observer: impl Fn(&BatchReport) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Rules on the failures of handlers by what they are, for errors that know nothing of redrive.
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
    #[must_use]
    pub fn classify(mut self, classify: impl Fn(Failure) -> Failure + Send + Sync + 'static) -> Self {
        self.classify = Some(Arc::new(classify));
        self
    }

    /// The client that delays and dead-letters messages. Default: one is made from the environment by
    /// [`run`](Self::run) and [`connect`](Self::connect).
    #[must_use]
    pub fn sqs(mut self, client: aws_sdk_sqs::Client) -> Self {
        self.sqs = Some(client);
        self
    }

    /// Publishes metrics with this client. Default: one is made from the environment by [`run`](Self::run) and
    /// [`connect`](Self::connect), if metrics go to CloudWatch.
    #[must_use]
    pub fn cloudwatch(mut self, client: aws_sdk_cloudwatch::Client) -> Self {
        let namespace = self.settings.namespace();
        self.sink = Sink::CloudWatch { client, namespace };
        self
    }

    /// The runtime that handlers run on. Default: the one that [`run`](Self::run) or [`handle`](Self::handle) is
    /// called on.
    ///
    /// With a runtime of their own, handlers that block their threads cannot keep `handle` from answering in time;
    /// `run` sees to that by itself.
    #[must_use]
    pub fn workers(mut self, runtime: Handle) -> Self {
        self.workers = Some(runtime);
        self
    }

    /// Fills in what the code left unsaid: settings from the environment, and the AWS clients.
    ///
    /// [`run`](Self::run) does this by itself; it is for those who put [`tower`](lambda_runtime::tower) layers
    /// around the consumer and run it with `lambda_runtime::run`.
    ///
    /// # Errors
    /// A setting cannot be kept; the error names it, its value and what is allowed.
    pub async fn connect(mut self) -> Result<Self, Error> {
        self.settings = self.settings.or_environment(|name| std::env::var(name).ok())?;
        self.settings.check()?;
        let metrics = self.settings.metrics.unwrap_or_default();
        let wants_cloudwatch =
            metrics == Metrics::CloudWatch && !matches!(self.sink, Sink::CloudWatch { .. });
        if self.sqs.is_none() || wants_cloudwatch {
            let config = crate::aws::config().await;
            if config.region().is_none() {
                return Err(Error::region());
            }
            let namespace = self.settings.namespace();
            self.sqs.get_or_insert_with(|| aws_sdk_sqs::Client::new(&config));
            if wants_cloudwatch {
                self.sink = Sink::CloudWatch { client: aws_sdk_cloudwatch::Client::new(&config), namespace };
            }
        }
        match metrics {
            Metrics::CloudWatch => {}
            Metrics::Emf => self.sink = Sink::Emf { namespace: self.settings.namespace() },
            Metrics::Off => self.sink = Sink::Off,
        }
        log::settings(&self.settings);
        Ok(self)
    }

    /// Handles one batch, and answers before `deadline`.
    ///
    /// # Errors
    /// A record has no message id and so could not be reported as failed: nothing of the batch was handled.
    pub async fn handle(
        &self,
        event: SqsEvent,
        deadline: Instant,
    ) -> Result<SqsBatchResponse, MissingMessageId> {
        let invocation = Invocation { deadline, request_id: "", function: "" };
        self.handle_event(Event::from(&event), &invocation).await
    }

    pub(crate) const fn has_workers(&self) -> bool {
        self.workers.is_some()
    }

    pub(crate) async fn handle_event(
        &self,
        event: Event<'_>,
        invocation: &Invocation<'_>,
    ) -> Result<SqsBatchResponse, MissingMessageId> {
        let flow = Flow {
            settings: &self.settings,
            sqs: self.sqs.as_ref(),
            sink: &self.sink,
            observer: self.observer.as_ref(),
            classify: self.classify.as_ref(),
            workers: &self.workers.clone().unwrap_or_else(Handle::current),
        };
        flow.run(event, invocation, &self.handler).await
    }
}

impl<H, M> Clone for Consumer<H, M> {
    fn clone(&self) -> Self {
        Self {
            handler: Arc::clone(&self.handler),
            settings: self.settings.clone(),
            sqs: self.sqs.clone(),
            sink: self.sink.clone(),
            observer: self.observer.clone(),
            classify: self.classify.clone(),
            workers: self.workers.clone(),
            message: PhantomData,
        }
    }
}

impl<H, M> fmt::Debug for Consumer<H, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("settings", &self.settings).finish_non_exhaustive()
    }
}
