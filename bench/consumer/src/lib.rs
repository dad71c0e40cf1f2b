//! The job of the hand-written consumer with redrive.

use redrive::Failure;
use serde::Deserialize;

/// What is in a body.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "decoding the fields is the work")]
pub struct Order {
    order_id: String,
    fail: bool,
    amount_cents: u64,
    currency: String,
    items: Vec<Item>,
}

#[derive(Deserialize, Debug)]
#[expect(dead_code, reason = "decoding the fields is the work")]
struct Item {
    sku: String,
    qty: u32,
}

/// Handles a message.
///
/// # Errors
/// The order says so.
pub async fn take(order: Order) -> Result<(), Failure> {
    if std::hint::black_box(order).fail {
        return Err("poison".into());
    }
    Ok(())
}
