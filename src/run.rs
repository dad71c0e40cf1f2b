//! The Lambda runtime around a consumer, and the consumer as a [`tower`](lambda_runtime::tower) service.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use lambda_runtime::tower::{Layer, Service};
use lambda_runtime::{LambdaEvent, LambdaInvocation, Runtime};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::error::{Error, InvalidEvent, MissingMessageId};
use crate::executor::{Executor, front};
use crate::flow::{Ending, Invocation};
use crate::message::FromMessage;
use crate::records::Records;
use crate::settings::InvalidSetting;
use crate::{BoxError, Consumer, Handler, log, stdout};

/// Runs a Lambda function that handles each message of its queue with `handler`: all it takes in a `main`.
///
/// Settings come from `REDRIVE_*` variables, logs go to standard output as JSON. For more, see [`Consumer`].
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
///     println!("hello, {name}");
///     Ok(())
/// }
/// ```
///
/// # Errors
/// A setting cannot be kept, the Lambda runtime ended, or the process can handle no more batches.
pub async fn run<H, M>(handler: H) -> Result<(), Error>
where
    H: Handler<M>,
    M: FromMessage,
{
    Consumer::new(handler).run().await
}

impl<H, M> Consumer<H, M>
where
    H: Handler<M>,
    M: FromMessage,
{
    /// Polls Lambda for batches until the process ends.
    ///
    /// Handlers are polled on threads of redrive's own, inside the context of the runtime that this is called on: what
    /// they spawn, and their timers and I/O, go there. A handler that blocks its thread keeps neither the response nor
    /// other handlers. Up to 16 threads that do not come back are replaced; after one more, and after ten
    /// panics in a row, the batch in hand is answered and this returns an error, so that Lambda starts a fresh process.
    ///
    /// # Errors
    /// A setting cannot be kept, the Lambda runtime ended, or the process can handle no more batches.
    pub async fn run(self) -> Result<(), Error> {
        let filter = std::env::var("REDRIVE_LOG").ok();
        log::start(filter.as_deref())
            .map_err(|error| InvalidSetting::log(filter.as_deref().unwrap_or_default(), &error))?;
        // Where several batches are in hand at a time, the thread that answers one may not be kept by another.
        let in_line = !std::env::var(MAX_CONCURRENCY).is_ok_and(|batches| batches.trim() != "1");
        let (ended, end) = oneshot::channel();
        let closing = front(self.context(), in_line, |executor| async move {
            // Nobody listens any more if the caller has dropped this future.
            let _ = ended.send(self.poll(executor).await);
        });
        let _closing = closing.map_err(|error| Error::runtime(error.into()))?;
        end.await.unwrap_or_else(|_dropped| Err(Error::died()))
    }

    async fn poll(self, executor: Executor) -> Result<(), Error> {
        let ending = Arc::new(Ending::default());
        let service = Unread(self.connect().await?.at_home(executor, Arc::clone(&ending)));
        // In a box, since the compiler cannot tell that the future is Send otherwise.
        let polling: Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send>> =
            Box::pin(Runtime::new(service).layer(SetAside(Arc::clone(&ending))).run_concurrent());
        let reached = async {
            let why = ending.reached().await;
            // Before what polls is dropped, and the user's handler with it.
            exit_in_time(why.to_string());
            why
        };
        tokio::select! {
            result = polling => result.map_err(Error::runtime),
            why = reached => Err(why),
        }
    }
}

/// <https://docs.aws.amazon.com/lambda/latest/dg/lambda-managed-instances-runtimes.html>
const MAX_CONCURRENCY: &str = "AWS_LAMBDA_MAX_CONCURRENCY";

/// How long `main` may take to return when the process is to end.
const TO_RETURN: Duration = Duration::from_secs(2);

/// Ends the process if `main` does not: code of the user's may block its threads too, or the runtime that it drops.
fn exit_in_time(why: String) {
    let _ = std::thread::Builder::new().name("redrive-exit".to_owned()).spawn(move || {
        std::thread::sleep(TO_RETURN);
        stdout::complain(&format!("Error: {why}\n"));
        std::process::exit(1);
    });
}

/// For [`tower`](lambda_runtime::tower) layers of your own; run it with `lambda_runtime::run` or `run_concurrent`.
impl<H, M> Service<LambdaEvent<SqsEvent>> for Consumer<H, M>
where
    H: Handler<M>,
    M: FromMessage,
{
    type Response = SqsBatchResponse;
    type Error = MissingMessageId;
    type Future = Answer<MissingMessageId>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, event: LambdaEvent<SqsEvent>) -> Self::Future {
        let consumer = self.clone();
        Box::pin(async move {
            let (event, context) = event.into_parts();
            consumer.handle_batch(|limits| Records::of(event, limits), &invocation(&context)).await
        })
    }
}

type Answer<E> = Pin<Box<dyn Future<Output = Result<SqsBatchResponse, E>> + Send>>;

/// Some stand-ins for Lambda send a deadline that is decades past. That is none: Lambda's longest is used.
const NO_DEADLINE: Duration = Duration::from_secs(900);

fn invocation(context: &lambda_runtime::Context) -> Invocation<'_> {
    let left = match context.deadline().duration_since(SystemTime::now()) {
        Ok(left) => left,
        Err(past) if past.duration() > Duration::from_secs(86_400) => NO_DEADLINE,
        Err(_) => Duration::ZERO,
    };
    Invocation {
        deadline: Instant::now() + left,
        request_id: &context.request_id,
        function: &context.env_config.function_name,
    }
}

tokio::task_local! {
    /// The payload of the invocation that is being handled.
    static PAYLOAD: bytes::Bytes;
}

/// Sets the payload aside before lambda_runtime reads it, since what it reads into cannot borrow: the consumer reads
/// the bytes itself, once. What it is around has answered Lambda when it is done.
#[derive(Clone)]
struct SetAside(Arc<Ending>);

#[derive(Clone)]
struct SettingAside<S> {
    inner: S,
    ending: Arc<Ending>,
}

impl<S> Layer<S> for SetAside {
    type Service = SettingAside<S>;

    fn layer(&self, inner: S) -> Self::Service {
        SettingAside { inner, ending: Arc::clone(&self.0) }
    }
}

impl<S> Service<LambdaInvocation> for SettingAside<S>
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
        let payload = std::mem::replace(&mut invocation.body, bytes::Bytes::from_static(b"null"));
        let answered = PAYLOAD.scope(payload, self.inner.call(invocation));
        let ending = Arc::clone(&self.ending);
        ending.received();
        Box::pin(async move {
            let result = answered.await;
            ending.answered().await;
            result
        })
    }
}

/// The consumer behind [`SetAside`].
struct Unread<H, M>(Consumer<H, M>);

impl<H, M> Clone for Unread<H, M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<H, M> Service<LambdaEvent<()>> for Unread<H, M>
where
    H: Handler<M>,
    M: FromMessage,
{
    type Response = SqsBatchResponse;
    type Error = InvalidEvent;
    type Future = Answer<InvalidEvent>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, event: LambdaEvent<()>) -> Self::Future {
        let Self(consumer) = self.clone();
        Box::pin(async move {
            let context = event.context;
            let payload = PAYLOAD.get();
            consumer.handle_batch(|limits| Records::read(payload, limits), &invocation(&context)).await
        })
    }
}
