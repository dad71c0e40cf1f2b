//! The consumer that a Rust team writes by hand, with which redrive is compared. It reads a typed event, handles one body after
//! the other, and reports failures.

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use lambda_runtime::{Error, LambdaEvent};
use service::Order;

/// Handles a batch.
///
/// # Errors
/// Never. The runtime requires the type.
pub async fn handle(event: LambdaEvent<SqsEvent>) -> Result<SqsBatchResponse, Error> {
    let mut response = SqsBatchResponse::default();
    for message in event.payload.records {
        if !succeeds(message.body.as_deref().unwrap_or_default()) {
            response.add_failure(message.message_id.unwrap_or_default());
        }
    }
    Ok(response)
}

/// Returns true if a body is an order that should not fail.
#[must_use]
pub fn succeeds(body: &str) -> bool {
    serde_json::from_str::<Order>(body).is_ok_and(|order| !std::hint::black_box(order).fail)
}
