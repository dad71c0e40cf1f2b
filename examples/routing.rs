//! Several kinds of message on one queue, distinguished by a message attribute and typed as an enum.
//!
//! ```sh
//! redrive local --example routing --send examples/routing.jsonl --speed max --until-idle
//! ```
//!
//! The first three messages are done. The others are dead-lettered at once: one of an unknown kind as `unknown-kind`, one without
//! a kind and one whose body does not fit its kind as `malformed`.

use redrive::{Attribute, BoxError, Failure, FromMessage, Record, Verdict};
use serde::Deserialize;

/// The values of the attribute `kind`, each with its own body.
enum Event {
    Placed(Placed),
    Canceled(Canceled),
}

#[derive(Deserialize)]
struct Placed {
    order_id: String,
    cents: u64,
}

#[derive(Deserialize)]
struct Canceled {
    order_id: String,
    by: String,
}

impl FromMessage for Event {
    fn from_message(record: &Record<'_>) -> Result<Self, BoxError> {
        let attributes = record.attributes();
        let kind = attributes.get("kind").and_then(Attribute::as_str).ok_or("no attribute says the kind")?;
        match kind {
            "placed" => Placed::from_message(record).map(Self::Placed),
            "canceled" => Canceled::from_message(record).map(Self::Canceled),
            // An error here means malformed. A verdict can mean something else.
            _ => Err(Verdict::reject(format!("no such kind: {kind}")).with_reason("unknown-kind").into()),
        }
    }
}

async fn handle(event: Event) -> Result<(), Failure> {
    match event {
        Event::Placed(order) => place(order).await,
        Event::Canceled(order) => cancel(order).await,
    }
}

async fn place(Placed { order_id, cents }: Placed) -> Result<(), Failure> {
    tracing::info!(order_id, cents, "placed");
    Ok(())
}

async fn cancel(Canceled { order_id, by }: Canceled) -> Result<(), Failure> {
    tracing::info!(order_id, by, "canceled");
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), redrive::Error> {
    redrive::run(handle).await
}
