//! Charges each payment once, even if the queue delivers it twice: a table in DynamoDB remembers which payments are done.
//!
//! ```sh
//! AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:4567 REDRIVE_IDEMPOTENCY_TABLE=idempotency \
//!   redrive local --example charges --send crates/dynamodb/examples/charges.jsonl --until-idle
//! ```
//!
//! The key is the id of the payment, so one that a producer sends twice is charged once too. The table also records that a
//! payment without an amount is rejected. `dev/emulators/test_once.py` runs this program with the tables of emulators.

use redrive::once::Once;
use redrive::{BoxError, Consumer, Failure, Message};
use redrive_dynamodb::{DynamoDb, client};
use serde::Deserialize;

#[derive(Deserialize)]
struct Payment {
    id: String,
    cents: u64,
}

async fn charge(payment: Message<Payment>) -> Result<(), Failure> {
    let Payment { id, cents } = &payment.body;
    if *cents == 0 {
        return Err(Failure::reject("a payment must have an amount").with_reason("no-amount"));
    }
    // If the gateway takes an idempotency key, pass the id to it too: no table can undo a charge.
    tracing::info!(id, cents, "charged");
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let store = DynamoDb::from_env(client().await)?.prefix("payments");
    let once = Once::new(store).key(|payment: &Message<Payment>| payment.body.id.clone()).check_payload();
    Ok(Consumer::new(charge).once(once).run().await?)
}
