//! The Lambda runtime around a consumer, and the consumer as a [`tower`](lambda_runtime::tower) service.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use lambda_runtime::tower::{Layer, Service};
use lambda_runtime::{LambdaEvent, LambdaInvocation, Runtime};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::error::{Error, MissingMessageId};
use crate::flow::Invocation;
use crate::message::FromMessage;
use crate::records::Records;
use crate::settings::InvalidSetting;
use crate::{BoxError, Consumer, Handler, log};

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
/// A setting cannot be kept, or the Lambda runtime ended.
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
    /// Handlers run on the runtime this is called from; everything else has a thread of its own, so that a handler
    /// which blocks cannot keep a response from being sent in time.
    ///
    /// # Errors
    /// A setting cannot be kept, or the Lambda runtime ended.
    pub async fn run(self) -> Result<(), Error> {
        let filter = std::env::var("REDRIVE_LOG").ok();
        log::start(filter.as_deref())
            .map_err(|error| InvalidSetting::log(filter.as_deref().unwrap_or_default(), &error))?;
        let consumer = if self.has_workers() { self } else { self.workers(Handle::current()) };
        let (ended, end) = oneshot::channel();
        let polling = std::thread::Builder::new().name("redrive".to_owned()).spawn(move || {
            let result = match Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime.block_on(consumer.poll()),
                Err(error) => Err(Error::runtime(error.into())),
            };
            // Nobody listens any more if the caller has dropped this future.
            let _ = ended.send(result);
        });
        polling.map_err(|error| Error::runtime(error.into()))?;
        end.await.unwrap_or_else(|_dropped| Err(Error::died()))
    }

    async fn poll(self) -> Result<(), Error> {
        let service = Unread(self.connect().await?);
        Runtime::new(service).layer(SetAside).run_concurrent().await.map_err(Error::runtime)
    }
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
/// the bytes itself, once.
#[derive(Clone)]
struct SetAside;

#[derive(Clone)]
struct SettingAside<S>(S);

impl<S> Layer<S> for SetAside {
    type Service = SettingAside<S>;

    fn layer(&self, inner: S) -> Self::Service {
        SettingAside(inner)
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
        self.0.poll_ready(context)
    }

    fn call(&mut self, mut invocation: LambdaInvocation) -> Self::Future {
        let payload = std::mem::replace(&mut invocation.body, bytes::Bytes::from_static(b"null"));
        Box::pin(PAYLOAD.scope(payload, self.0.call(invocation)))
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
    type Error = BoxError;
    type Future = Answer<BoxError>;

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
