//! Sends an order that is tried at most twice, and reads the result.
//!
//! ```sh
//! redrive local --port 9324 &
//! export AWS_ENDPOINT_URL=http://127.0.0.1:9324 AWS_REGION=eu-central-1 AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local
//! export QUEUE_URL=http://127.0.0.1:9324/000000000000/redrive-orders
//! cargo run -p redrive-send --example sending
//! ```

#![allow(clippy::disallowed_methods, reason = "it reads the environment")]

use std::time::Duration;

use redrive_send::{Backoff, NewMessage, Sender};
use serde::Serialize;

#[derive(Serialize)]
struct Order {
    order_id: &'static str,
    lines: Vec<u32>,
    gateway: &'static str,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sender = Sender::new(redrive_send::client().await, std::env::var("QUEUE_URL")?);
    let order = Order { order_id: "A-1", lines: Vec::new(), gateway: "down" };
    let message = NewMessage::json(&order)?
        .max_attempts(2)
        .backoff(&Backoff::fixed(Duration::from_secs(3))?)
        .attribute("channel", "web");
    let sent = sender.send(message).await?;
    println!("sent as {}", sent.message_id);
    Ok(())
}
