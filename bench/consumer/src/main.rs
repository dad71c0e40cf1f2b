//! The job of the hand-written consumer with redrive, as its README starts it.

use redrive::Failure;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "decoding the fields is the work")]
struct Order {
    order_id: String,
    fail: bool,
    amount_cents: u64,
    currency: String,
    items: Vec<Item>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "decoding the fields is the work")]
struct Item {
    sku: String,
    qty: u32,
}

#[tokio::main]
async fn main() -> Result<(), redrive::Error> {
    redrive::run(take).await
}

async fn take(order: Order) -> Result<(), Failure> {
    if std::hint::black_box(order).fail {
        return Err("poison".into());
    }
    Ok(())
}
