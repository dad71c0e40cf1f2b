//! [`Consumer`]: a handler and its settings.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the environment")]

mod builder;
mod queue_settings;
mod settings;

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Once};

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tracing::{Instrument, error_span};

use crate::aws::{CloudWatch, Environment, Sqs};
pub use crate::consumer::queue_settings::QueueSettings;
use crate::error::event::Other;
use crate::error::{Error, Kind};
use crate::failure::classifier::FailureClassifier;
use crate::handler::Handler;
use crate::handler::hook::Hooks;
use crate::handler::other_event::{OtherEvent, TakeOther};
use crate::lambda::{FOR_THE_RESPONSE, LambdaShell, Observer, Process, Shutdown, Source, WallClock};
use crate::message::bodies::AnyBodies;
use crate::message::invocation::Invocation;
use crate::message::record_fn::RecordFn;
use crate::message::records::Received;
use crate::once::Rules;
use crate::runners::{AnyHandler, Chunks, Host, Input, TypedHandler};
use crate::settings::{InvalidSetting, Metrics, Settings};
use crate::telemetry::log;
use crate::telemetry::message_report::MessageReport;
use crate::tokens::AnyTokens;
use redrive_executor::Executor;
use redrive_observers::BatchReport;

/// A handler and its settings.
///
/// [`run`](Self::run) reads the settings that you do not set in code from `REDRIVE_*` variables. Settings without
/// a variable have defaults. The same consumer can be a Lambda function ([`run`](Self::run)) or a worker
/// ([`work`](Self::work)).
///
/// In a test, [`handle`](Self::handle) needs no AWS and no environment:
///
/// ```
/// use redrive::{Consumer, Failure, Invocation};
/// use aws_lambda_events::sqs::SqsEvent;
///
/// async fn greet(name: String) -> Result<(), Failure> {
///     if name.is_empty() { Err("nobody to greet")? }
///     Ok(())
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let event: SqsEvent = serde_json::from_str(
///     r#"{"Records": [{"messageId": "a", "body": "\"you\""}, {"messageId": "b", "body": "\"\""}]}"#)?;
/// let response = Consumer::new(greet).handle(event, Invocation::default()).await?;
/// assert_eq!(response.batch_item_failures.len(), 1);
/// assert_eq!(response.batch_item_failures[0].item_identifier, "b");
/// # Ok::<(), redrive::BoxError>(()) }).unwrap();
/// ```
#[must_use = "it handles nothing until it runs"]
pub struct Consumer<H, M> {
    handler: Arc<TypedHandler<H, M>>,
    pub(crate) setup: Setup,
}

/// Everything in a consumer except its handler.
#[derive(Clone, Default)]
pub(crate) struct Setup {
    pub(crate) settings: Settings,
    pub(crate) sqs: Option<Sqs>,
    pub(crate) cloudwatch: Option<CloudWatch>,
    observers: Vec<Observer>,
    classifier: FailureClassifier,
    hooks: Hooks,
    bodies: Option<Arc<dyn AnyBodies>>,
    once: Option<Rules>,
    other: Option<TakeOther>,
    /// The limits of a bulk handler's calls.
    chunks: Chunks,
    host: Host,
    dependencies: Option<RecordFn<Vec<String>>>,
    process: Arc<Process>,
    rate_keys: Option<RecordFn<Option<String>>>,
    pub(crate) tokens: Option<Arc<dyn AnyTokens>>,
    wall_clock: Option<WallClock>,
    source: Arc<Source>,
    /// Warns of missing settings, once, with the first batch. A worker reads them from its queue.
    warning: Option<Arc<Once>>,
    pub(crate) shutdown: Option<Arc<Shutdown>>,
}

impl<H, M> Consumer<H, M>
where
    H: Handler<M>,
    M: Input,
{
    /// Creates a consumer with default settings and without AWS clients.
    ///
    /// Without an SQS client, redrive reports failed messages but neither delays nor dead-letters them.
    pub fn new(handler: H) -> Self {
        Self { handler: Arc::new((Arc::new(handler), PhantomData)), setup: Setup::default() }
    }

    /// Handles one batch and returns before the deadline of its invocation: a `lambda_runtime::Context`, or in a test
    /// [`Invocation::default`].
    ///
    /// ```
    /// # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
    /// use aws_lambda_events::sqs::SqsEvent;
    /// use lambda_runtime::{Error, LambdaEvent, service_fn};
    /// use redrive::Consumer;
    ///
    /// # async fn example() -> Result<(), Error> {
    /// let consumer = Consumer::new(place).connect().await?;
    /// let function = async |event: LambdaEvent<SqsEvent>| consumer.handle(event.payload, event.context).await;
    /// # drop(function);
    /// # Ok(()) }
    /// ```
    ///
    /// Handlers run in the calling task and see its task-locals. A handler that blocks its thread delays the
    /// response. [`workers`](Self::workers) changes both.
    ///
    /// # Errors
    /// A setting is invalid. A record has no message id, or comes from a service other than SQS. The settings are not for the event's
    /// queue, see [`queue`](Self::queue). The dead-letter queue is the queue itself, or only one of them is FIFO.
    /// The runtime of [`workers`](Self::workers) was shut down or has no timers. In all these cases no message was
    /// handled.
    pub async fn handle(
        &self,
        event: SqsEvent,
        invocation: impl Into<Invocation>,
    ) -> Result<SqsBatchResponse, Error> {
        self.handle_batch(Received::Event(event), &invocation.into()).await
    }

    /// Handles a batch, and passes any other event to [`on_other_event`](Self::on_other_event).
    pub(crate) async fn answer(&self, payload: Bytes, invocation: &Invocation) -> Result<Response, Error> {
        let answer = match self.handle_batch(Received::Payload(payload), invocation).await {
            Ok(response) => Ok(Response::Batch(response)),
            Err(Error(Kind::InvalidEvent(other))) => match (&self.setup.other, *other) {
                (Some(take), Other { event: Some(event), .. }) => {
                    self.setup.take_other(take, event, invocation).await.map(Response::Other)
                }
                (_, other) => Err(other.into()),
            },
            Err(error) => Err(error),
        };
        answer.inspect_err(|error| log::refused(error, invocation))
    }

    pub(crate) fn any_handler(&self) -> Arc<dyn AnyHandler> {
        Arc::clone(&self.handler) as Arc<dyn AnyHandler>
    }

    pub(crate) async fn handle_batch(
        &self,
        received: Received,
        invocation: &Invocation,
    ) -> Result<SqsBatchResponse, Error> {
        // Under `run`, no check is needed, because `run` ends together with its runtime.
        if self.setup.shutdown.is_none() {
            self.setup.check_workers()?;
        }
        self.setup.warning.iter().for_each(|once| once.call_once(|| log::settings(&self.setup.settings)));
        self.setup.shell().run(received, invocation, &self.any_handler()).await
    }
}

impl<H, M> Consumer<H, M> {
    /// Reads the missing settings from the environment and creates the missing AWS clients.
    ///
    /// [`run`](Self::run) and [`work`](Self::work) do this for you. Call it before [`work_until`](Self::work_until),
    /// or if you put [`tower`](lambda_runtime::tower) layers around the consumer and run it with
    /// `lambda_runtime::run`.
    ///
    /// # Errors
    /// A setting is invalid, or the runtime of [`workers`](Self::workers) was shut down or has no timers. The error
    /// names the setting, its value and what is allowed.
    ///
    /// A `REDRIVE_` variable whose name is misspelled is a warning in the log.
    pub async fn connect(self) -> Result<Self, Error> {
        let mut connected = self.connected(None).await?;
        connected.setup.warning = Some(Arc::new(Once::new()));
        Ok(connected)
    }

    /// [`connect`](Self::connect) without the warnings about missing settings: a worker logs them once it has read its queue, and a
    /// function with its first batch.
    pub(crate) async fn connected(mut self, queue_url: Option<&str>) -> Result<Self, Error> {
        warn_of_misspelled();
        self.setup.connect(queue_url).await?;
        Ok(self)
    }

    /// The client that delays and dead-letters messages. Default: [`run`](Self::run) and [`connect`](Self::connect)
    /// create one from the environment.
    #[expect(clippy::needless_pass_by_value, reason = "a client is handed over, as everywhere in a builder")]
    pub fn sqs(mut self, client: aws_sdk_sqs::Client) -> Self {
        self.setup.sqs = Some(Sqs::given(&client));
        self
    }

    /// The client that publishes metrics. Default: if metrics go to CloudWatch, [`run`](Self::run) and
    /// [`connect`](Self::connect) create one from the environment.
    pub fn cloudwatch(mut self, client: aws_sdk_cloudwatch::Client) -> Self {
        self.setup.cloudwatch = Some(CloudWatch::given(client));
        self
    }

    /// Runs handlers on redrive's own threads, in the context of this runtime, which also runs the tasks they
    /// spawn, their timers and their I/O. A handler that blocks its thread then cannot delay the response of
    /// `handle`. redrive replaces up to 16 blocked threads. If one more is blocked, redrive starts no message
    /// until one of them returns.
    ///
    /// [`connect`](Self::connect) and [`handle`](Self::handle) return an error if the runtime was shut down or has
    /// no timers (`enable_time`). If it is shut down while a batch runs, redrive retries the messages that still
    /// need it.
    ///
    /// Do not set it in tests on tokio's paused clock, which does not wait for other threads.
    ///
    /// Default: [`run`](Self::run) uses the runtime that it is called on. [`handle`](Self::handle) and the tower
    /// service run handlers in the calling task.
    pub fn workers(mut self, runtime: Handle) -> Self {
        self.setup.host = Host::Threads(Arc::new(Executor::new(runtime)));
        self
    }

    /// Runs handlers on these threads, and ends the process when it can handle no more batches.
    pub(crate) fn hosted_by(mut self, executor: Executor, shutdown: Arc<Shutdown>) -> Self {
        self.setup.host_by(Arc::new(executor), shutdown);
        self
    }

    /// Reads these variables instead of the environment, and this wall clock instead of the machine's.
    pub(crate) fn simulated(
        mut self,
        variable: impl Fn(&str) -> Option<String>,
        wall_clock: WallClock,
    ) -> Result<Self, Error> {
        self.setup.settings = self.setup.settings.or_environment(variable)?;
        self.setup.settings.check()?;
        self.setup.wall_clock = Some(wall_clock);
        Ok(self)
    }
}

/// Warns of variables of this process that redrive does not read, because their names are misspelled.
pub(crate) fn warn_of_misspelled() {
    log::misspelled(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()));
}

impl Setup {
    /// Reads the missing settings from the environment and creates the missing AWS clients.
    pub(crate) async fn connect(&mut self, queue_url: Option<&str>) -> Result<(), Error> {
        self.settings = std::mem::take(&mut self.settings).or_environment(|name| std::env::var(name).ok())?;
        self.settings.check()?;
        self.check_workers()?;
        let metrics = self.settings.metrics.unwrap_or_default();
        let wants_cloudwatch = metrics == Metrics::CloudWatch && self.cloudwatch.is_none();
        if self.sqs.is_none() || wants_cloudwatch {
            let environment = Environment::load(queue_url).await.map_err(Error)?;
            self.sqs.get_or_insert_with(|| environment.sqs());
            if wants_cloudwatch {
                self.cloudwatch = Some(environment.cloudwatch());
            }
        }
        Ok(())
    }

    /// Runs handlers on these threads, and ends the process when it can handle no more batches.
    pub(crate) fn host_by(&mut self, executor: Arc<Executor>, shutdown: Arc<Shutdown>) {
        self.host = Host::Threads(executor);
        self.shutdown = Some(shutdown);
    }

    /// Returns true if the user has chosen the runtime of the handlers.
    pub(crate) const fn has_workers(&self) -> bool {
        matches!(self.host, Host::Threads(_))
    }

    /// The runtime in whose context handlers run.
    pub(crate) fn context(&self) -> Handle {
        match &self.host {
            Host::Caller => Handle::current(),
            Host::Threads(executor) => executor.context().clone(),
        }
    }

    pub(crate) fn check_workers(&self) -> Result<(), Error> {
        // Under `run`, redrive itself has set the workers.
        let name = if self.shutdown.is_some() { "the runtime of Consumer::run" } else { "workers" };
        let allowed = "one that is running and has timers (enable_time or enable_all)";
        self.host.fault().map_or(Ok(()), |fault| Err(InvalidSetting::new(name, fault, allowed).into()))
    }

    /// Returns the URL of the ECS agent if task protection is on. Warns if it is on and there is no agent.
    pub(crate) fn agent_of_task(&self) -> Option<String> {
        let is_wanted = self.settings.task_protection.unwrap_or_default();
        let agent = std::env::var("ECS_AGENT_URI").ok().filter(|_| is_wanted);
        if is_wanted && agent.is_none() {
            tracing::warn!(
                "REDRIVE_TASK_PROTECTION is on, but ECS_AGENT_URI is not set: the task is not protected"
            );
        }
        agent
    }

    /// Runs the user's closure for an event where handlers run, until it ends or the time is up.
    async fn take_other(
        &self,
        take: &TakeOther,
        event: Value,
        invocation: &Invocation,
    ) -> Result<Value, Error> {
        let deadline = Instant::from_std(invocation.deadline());
        let until = deadline.checked_sub(FOR_THE_RESPONSE).unwrap_or(deadline);
        let (answer, answered) = oneshot::channel();
        let (take, event) = (take.clone(), OtherEvent::of(event, invocation.clone(), until.into_std()));
        let code = async move {
            let taken = take.call(event).await;
            // The error's `Display` is user code, so it runs here as well.
            let _ = answer.send(taken.map_err(|error| error.to_string()));
        };
        let code = code.instrument(error_span!("event", request_id = invocation.request_id()));
        let failed = |why: String| Error(Kind::OtherEvent(why));
        match self.host.run(code, until).await {
            Ok(()) => answered.await.expect("it has ended").map_err(failed),
            Err(problem) => Err(failed(format!("the closure of on_other_event {problem}"))),
        }
    }

    pub(crate) fn shell(&self) -> LambdaShell<'_> {
        LambdaShell {
            settings: &self.settings,
            sqs: self.sqs.as_ref(),
            cloudwatch: self.cloudwatch.as_ref(),
            observers: &self.observers,
            classifier: &self.classifier,
            hooks: &self.hooks,
            bodies: self.bodies.as_ref(),
            once: self.once.as_ref(),
            chunks: self.chunks,
            host: &self.host,
            process: &self.process,
            dependencies: self.dependencies.as_ref(),
            rate_keys: self.rate_keys.as_ref(),
            wall_clock: self.wall_clock.as_ref(),
            source: &self.source,
            shutdown: self.shutdown.as_deref(),
            is_console_test: false,
        }
    }
}

/// Reports that [`Consumer::observe`] passes on.
pub(crate) trait Report: Sized {
    fn observe(setup: &mut Setup, observer: impl Fn(&Self) + Send + Sync + 'static);
}

impl Report for BatchReport {
    fn observe(setup: &mut Setup, observer: impl Fn(&Self) + Send + Sync + 'static) {
        setup.observers.push(Arc::new(observer));
    }
}

impl Report for MessageReport {
    fn observe(setup: &mut Setup, observer: impl Fn(&Self) + Send + Sync + 'static) {
        setup.hooks.observe(observer);
    }
}

/// The response to Lambda.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Response {
    Batch(SqsBatchResponse),
    Other(Value),
}

impl<H, M> Clone for Consumer<H, M> {
    fn clone(&self) -> Self {
        Self { handler: Arc::clone(&self.handler), setup: self.setup.clone() }
    }
}

impl<H, M> fmt::Debug for Consumer<H, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("settings", &self.setup.settings).finish_non_exhaustive()
    }
}
