//! A tower layer around the consumer, for work around every batch, such as tracing or a warm cache.
//!
//! ```sh
//! redrive local --example layered --send examples/layered.jsonl --speed max --until-idle --show-output
//! ```
//!
//! The first and the last message are done. The second asks for too much time, fails ten times, and is dead-lettered by the
//! redrive policy. Each batch logs how long it took.
//!
//! `redrive::run` does everything by itself. To add a layer, connect the consumer and run it like any other service.
#![allow(clippy::disallowed_methods, reason = "it measures time")]

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use aws_lambda_events::sqs::SqsEvent;
use lambda_runtime::tower::{Layer, Service};
use lambda_runtime::{Error, LambdaEvent};
use redrive::{Consumer, Failure};

/// Logs how long each batch took.
struct Stopwatch;

impl<S> Layer<S> for Stopwatch {
    type Service = Timed<S>;

    fn layer(&self, inner: S) -> Timed<S> {
        Timed(inner)
    }
}

#[derive(Clone)]
struct Timed<S>(S);

impl<S> Service<LambdaEvent<SqsEvent>> for Timed<S>
where
    S: Service<LambdaEvent<SqsEvent>, Future: Send + 'static>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, event: LambdaEvent<SqsEvent>) -> Self::Future {
        let (request_id, records) = (event.context.request_id.clone(), event.payload.records.len());
        let (began, handled) = (Instant::now(), self.0.call(event));
        Box::pin(async move {
            let response = handled.await;
            tracing::info!(request_id, records, milliseconds = began.elapsed().as_millis(), "timed");
            response
        })
    }
}

/// A message is a number of milliseconds to wait. With a layer, handlers run in the task that calls the service, so none may
/// block its thread.
async fn wait(milliseconds: u64) -> Result<(), Failure> {
    if milliseconds > 10_000 {
        return Err("nobody has that much time".into());
    }
    tokio::time::sleep(std::time::Duration::from_millis(milliseconds)).await;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    tracing_subscriber::fmt().json().init();
    let service = Stopwatch.layer(Consumer::new(wait).connect().await?);
    // Lambda Managed Instances hand several batches to one process at a time, and say how many.
    if std::env::var_os("AWS_LAMBDA_MAX_CONCURRENCY").is_some() {
        lambda_runtime::run_concurrent(service).await
    } else {
        lambda_runtime::run(service).await
    }
}
