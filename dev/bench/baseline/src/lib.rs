//! The consumer that a Rust team writes by hand, as redrive is measured against it: a typed event, one body after the
//! other, failures reported.

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use lambda_runtime::{Error, LambdaEvent};
use service::Order;

/// Handles a batch.
///
/// # Errors
/// None; the runtime asks for the type.
pub async fn handle(event: LambdaEvent<SqsEvent>) -> Result<SqsBatchResponse, Error> {
    let mut response = SqsBatchResponse::default();
    for message in event.payload.records {
        if !succeeds(message.body.as_deref().unwrap_or_default()) {
            response.add_failure(message.message_id.unwrap_or_default());
        }
    }
    Ok(response)
}

/// Whether a body is an order that does not say it fails.
#[must_use]
pub fn succeeds(body: &str) -> bool {
    serde_json::from_str::<Order>(body).is_ok_and(|order| !std::hint::black_box(order).fail)
}
