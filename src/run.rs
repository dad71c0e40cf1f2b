//! The Lambda runtime around a consumer, and the consumer as a [`tower`](lambda_runtime::tower) service.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the environment")]

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use bytes::Bytes;
use lambda_runtime::tower::Service;
use lambda_runtime::tower::layer::layer_fn;
use lambda_runtime::{LambdaEvent, LambdaInvocation, Runtime, service_fn};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::consumer::{Consumer, Response};
use crate::error::{Error, Kind};
use crate::failure::BoxError;
use crate::handler::Handler;
use crate::lambda::Shutdown;
use crate::message::invocation::Invocation;
use crate::message::records::Received;
use crate::runners::Input;
use crate::settings::InvalidSetting;
#[cfg(feature = "worker")]
use crate::settings::{QueueUrl, Value as _};
use crate::telemetry::log;
use redrive_executor::{Executor, front};
use redrive_observers::stdout;

/// Handles each message of a queue with `handler`. If Lambda has set `AWS_LAMBDA_RUNTIME_API`, it runs as a Lambda
/// function. Otherwise it runs as a [worker](Consumer::work) of the queue in `REDRIVE_QUEUE_URL`.
///
/// Most settings have a variable, whose name is `REDRIVE_` and the method of [`Consumer`] in capitals, such as
/// `REDRIVE_MAX_RECEIVE_COUNT`. Methods that take code or a client, such as [`Consumer::backoff_by`], and the sizes of chunks have none.
/// `REDRIVE_QUEUES` has settings for each queue, see [`Consumer::queue`]. Logs go to
/// standard output as JSON lines: one for each batch and each failed message. `REDRIVE_LOG` sets the level
/// (default: `info`). If the program has set up its own `tracing` subscriber, redrive uses that.
///
/// ```no_run
/// use redrive::Failure;
///
/// #[tokio::main]
/// async fn main() -> Result<(), redrive::Error> {
///     redrive::run(greet).await
/// }
///
/// async fn greet(name: String) -> Result<(), Failure> {
///     tracing::info!(name, "hello");
///     Ok(())
/// }
/// ```
///
/// # Errors
/// The errors of [`Consumer::run`].
pub async fn run<H, M>(handler: H) -> Result<(), Error>
where
    H: Handler<M>,
    M: Input,
{
    Consumer::new(handler).run().await
}

impl<H, M> Consumer<H, M>
where
    H: Handler<M>,
    M: Input,
{
    /// Handles batches from Lambda until the process ends. If `AWS_LAMBDA_RUNTIME_API` is not set, it calls
    /// [`work`](Self::work) with the queue in `REDRIVE_QUEUE_URL`.
    ///
    /// Handlers run on redrive's own threads, in the context of the current runtime, which also runs the tasks
    /// they spawn, their timers and their I/O. A handler that blocks its thread delays neither the response nor
    /// other handlers. redrive replaces up to 16 blocked threads. If one more is blocked, or after ten panics in a
    /// row, redrive responds to the current batch and returns an error. Lambda then starts a new process.
    ///
    /// # Errors
    /// A setting is invalid, the Lambda runtime ended, the process cannot handle more batches, neither variable is
    /// set, or an error of [`work`](Self::work) occurred.
    pub async fn run(self) -> Result<(), Error> {
        if std::env::var_os(RUNTIME_API).is_none() {
            let url = std::env::var(QUEUE_URL).ok().filter(|url| !url.is_empty());
            return match url {
                #[cfg(feature = "worker")]
                Some(url) => {
                    QueueUrl::new(QUEUE_URL, url.clone())?;
                    Box::pin(self.work(url)).await
                }
                #[cfg(not(feature = "worker"))]
                Some(_) => Err(Error::worker(format!(
                    "{QUEUE_URL} is set, but this program was built without the feature `worker` of redrive"
                ))),
                None => Err(Error(Kind::NoHome)),
            };
        }
        start_log()?;
        // If several batches run at a time, a handler of one must not block the thread that answers another.
        let inline = !std::env::var(MAX_CONCURRENCY).is_ok_and(|batches| batches.trim() != "1");
        let ended = front(self.setup.context(), inline, |executor| self.poll(executor)).await;
        ended.map_err(|error| Error(Kind::Runtime(error.into())))?.unwrap_or(Err(Error(Kind::Died)))
    }

    /// Handles any event as [`run`](Self::run) does, for your own `main`: SQS events, and others with
    /// [`on_other_event`](Self::on_other_event). For anything else, it returns an error that says what arrived.
    ///
    /// Handlers run in the calling task unless [`workers`](Self::workers) are set.
    ///
    /// ```no_run
    /// # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
    /// use lambda_runtime::{Error, service_fn};
    /// use redrive::Consumer;
    ///
    /// #[tokio::main]
    /// async fn main() -> Result<(), Error> {
    ///     let consumer = Consumer::new(place).connect().await?;
    ///     let service = service_fn(move |event| {
    ///         let consumer = consumer.clone();
    ///         async move { consumer.handle_any(event).await }
    ///     });
    ///     lambda_runtime::run(service).await
    /// }
    /// ```
    ///
    /// # Errors
    /// The event is not from SQS, and `on_other_event` is not set or failed. A record has no message id. No message
    /// is deleted.
    pub async fn handle_any(&self, event: LambdaEvent<Box<RawValue>>) -> Result<Value, Error> {
        let (payload, context) = event.into_parts();
        let payload = Box::<str>::from(payload).into_string();
        let answer = self.answer(payload.into(), &context.into()).await?;
        Ok(serde_json::to_value(answer).expect("it is made of strings and JSON"))
    }

    async fn poll(self, executor: Executor) -> Result<(), Error> {
        let shutdown = Arc::new(Shutdown::default());
        let consumer = self.hosted_by(executor, Arc::clone(&shutdown)).connected(None).await?;
        consumer.setup.settings.check_function()?;
        log::settings(&consumer.setup.settings);
        let service = service_fn(move |event: LambdaEvent<()>| -> Answer<Response> {
            let consumer = consumer.clone();
            Box::pin(async move {
                let Taken { payload, simulated } = TAKEN.get();
                consumer.answer(payload, &Invocation::of(event.context, simulated)).await
            })
        });
        let taking = |inner| TakingPayload { inner, shutdown: Arc::clone(&shutdown) };
        // Boxed, since the compiler cannot prove otherwise that the future is Send.
        let polling: Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send>> =
            Box::pin(Runtime::new(service).layer(layer_fn(taking)).run_concurrent());
        let reached = async {
            let why = shutdown.completed().await;
            // Before the runtime and the user's handler are dropped, which may block.
            exit_in_time(Some(why.to_string()));
            why
        };
        tokio::select! {
            result = polling => result.map_err(|error| Error(Kind::Runtime(error))),
            why = reached => Err(why),
        }
    }
}

/// Set by Lambda.
/// <https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html>
const RUNTIME_API: &str = "AWS_LAMBDA_RUNTIME_API";

/// The URL of a worker's queue.
const QUEUE_URL: &str = "REDRIVE_QUEUE_URL";

/// <https://docs.aws.amazon.com/lambda/latest/dg/lambda-managed-instances-runtimes.html>
const MAX_CONCURRENCY: &str = "AWS_LAMBDA_MAX_CONCURRENCY";

/// The time that `main` has to return when the process must end.
const TO_RETURN: Duration = Duration::from_secs(2);

/// The time for writing the error before the process exits, which blocks if nobody reads it.
const TO_WRITE: Duration = Duration::from_secs(1);

/// Starts the log on standard output, unless the program has its own subscriber.
pub(crate) fn start_log() -> Result<(), Error> {
    let [filter, level] = ["REDRIVE_LOG", "AWS_LAMBDA_LOG_LEVEL"].map(|name| std::env::var(name).ok());
    let started = log::start(filter.as_deref(), level.as_deref());
    started.map_err(|error| InvalidSetting::log(filter.as_deref().unwrap_or_default(), &error).into())
}

/// Ends the process if `main` does not return, with exit code 1 if there is an error: user code may block its threads, or
/// the runtime that it drops.
pub(crate) fn exit_in_time(error: Option<String>) {
    let code = i32::from(error.is_some());
    exit_after(TO_RETURN, code, error.map(|why| format!("Error: {why}\n")));
    exit_after(TO_RETURN + TO_WRITE, code, None);
}

fn exit_after(time: Duration, code: i32, last_words: Option<String>) {
    let _ = std::thread::Builder::new().name("redrive-exit".to_owned()).spawn(move || {
        std::thread::sleep(time);
        if let Some(line) = last_words {
            stdout::write_error(&line);
        }
        std::process::exit(code);
    });
}

/// A service for your own [`tower`](lambda_runtime::tower) layers; run it with `lambda_runtime::run` or
/// `run_concurrent`.
///
/// lambda_runtime reads the event before the service does, and fails an invocation without `Records` itself. If other
/// events can arrive, put the layers around [`Consumer::handle_any`].
impl<H, M> Service<LambdaEvent<SqsEvent>> for Consumer<H, M>
where
    H: Handler<M>,
    M: Input,
{
    type Response = SqsBatchResponse;
    type Error = Error;
    type Future = Answer<SqsBatchResponse>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, event: LambdaEvent<SqsEvent>) -> Self::Future {
        let consumer = self.clone();
        Box::pin(async move {
            let (event, context) = event.into_parts();
            let invocation = context.into();
            let answer = consumer.handle_batch(Received::Event(event), &invocation).await;
            answer.inspect_err(|error| log::refused(error, &invocation))
        })
    }
}

type Answer<R> = Pin<Box<dyn Future<Output = Result<R, Error>> + Send>>;

tokio::task_local! {
    /// The data of the invocation that is being handled.
    static TAKEN: Taken;
}

/// The parts of an invocation that lambda_runtime does not pass on unchanged.
#[derive(Clone)]
struct Taken {
    payload: Bytes,
    /// The time by the clock of `redrive local`.
    simulated: Option<Duration>,
}

/// The header with the time of `redrive local`'s clock, in milliseconds since the epoch. Lambda's Runtime API does not send it,
/// and nobody else can.
const LOCAL_TIME: &str = "redrive-local-time-ms";

/// Takes the payload before lambda_runtime parses it into types that cannot borrow: the consumer parses the bytes itself,
/// once. When the inner service is done, it has answered Lambda.
#[derive(Clone)]
struct TakingPayload<S> {
    inner: S,
    shutdown: Arc<Shutdown>,
}

impl<S> Service<LambdaInvocation> for TakingPayload<S>
where
    S: Service<LambdaInvocation, Response = (), Error = BoxError>,
    S::Future: Send + 'static,
{
    type Response = ();
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut invocation: LambdaInvocation) -> Self::Future {
        let payload = std::mem::replace(&mut invocation.body, Bytes::from_static(b"null"));
        let time = invocation.parts.headers.get(LOCAL_TIME).and_then(|time| time.to_str().ok()?.parse().ok());
        let taken = Taken { payload, simulated: time.map(Duration::from_millis) };
        let answered = TAKEN.scope(taken, self.inner.call(invocation));
        let shutdown = Arc::clone(&self.shutdown);
        shutdown.received();
        Box::pin(async move {
            let result = answered.await;
            shutdown.answered().await;
            result
        })
    }
}
