//! One topic, many queues: this function's queue is subscribed to an SNS topic.
//!
//! ```sh
//! redrive local --example fanout --send examples/fanout.jsonl --speed max --until-idle
//! ```
//!
//! [`Sns`] opens the envelope, or takes the message as it is if the subscription has raw message delivery. The first two messages
//! are done. The third is for a tenant that has left, and is deleted on purpose. The confirmation of a subscription is not a
//! notification, and is dead-lettered as `malformed`.

use redrive::envelope::Sns;
use redrive::{Attribute, Failure, Message};
use serde::Deserialize;

#[derive(Deserialize)]
struct Order {
    id: String,
    cents: u64,
}

async fn invoice(order: Message<Sns<Order>>) -> Result<(), Failure> {
    if tenant(&order) == Some("gone") {
        return Err(Failure::discard("the tenant has left"));
    }
    // SNS may deliver twice, too. Its own id is the same in every queue and at every delivery.
    let key = order.body.notification.as_ref().map_or(order.key(), |notification| &notification.message_id);
    let Order { id, cents } = &order.body.message;
    tracing::info!(order_id = id, cents, key, "invoiced");
    Ok(())
}

/// Returns the tenant. The publisher's attributes are in the envelope, or, with raw message delivery, on the message itself.
fn tenant(order: &Message<Sns<Order>>) -> Option<&str> {
    let notification = order.body.notification.as_ref();
    let attributes = notification.map_or(&order.attributes, |notification| &notification.attributes);
    attributes.get("tenant").and_then(Attribute::as_str)
}

#[tokio::main]
async fn main() -> Result<(), redrive::Error> {
    redrive::run(invoice).await
}
