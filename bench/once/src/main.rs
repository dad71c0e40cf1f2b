//! The job of the hand-written consumer, each message once.

use redrive::{BoxError, Consumer, Failure};
use redrive_dynamodb::{DynamoDb, client};
use service::Order;

async fn take(order: Order) -> Result<(), Failure> {
    if std::hint::black_box(order).fail {
        return Err("poison".into());
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let store = DynamoDb::new(client().await, "idempotency");
    Ok(Consumer::new(take).once(store).run().await?)
}
