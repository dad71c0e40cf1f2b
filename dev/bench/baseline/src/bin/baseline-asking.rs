//! The hand-written consumer whose handlers ask a service, all at once as `join_all` does it.

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use futures_util::future::join_all;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use service::Service;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let service = &Service::from_env()?;
    lambda_runtime::run(service_fn(|event| handle(service, event))).await
}

async fn handle(service: &Service, event: LambdaEvent<SqsEvent>) -> Result<SqsBatchResponse, Error> {
    let handled = join_all(event.payload.records.into_iter().map(|message| take(service, message))).await;
    let mut response = SqsBatchResponse::default();
    for failed in handled.into_iter().filter_map(Result::err) {
        response.add_failure(failed);
    }
    Ok(response)
}

/// Fails with the id of the message.
async fn take(service: &Service, message: SqsMessage) -> Result<(), String> {
    let succeeded = baseline::succeeds(message.body.as_deref().unwrap_or_default());
    if !succeeded || service.ask().await.is_err() {
        return Err(message.message_id.unwrap_or_default());
    }
    Ok(())
}
