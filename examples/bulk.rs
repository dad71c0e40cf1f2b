//! Many messages at once: one INSERT for a whole batch, in a transaction.
//!
//! ```sh
//! redrive local --example bulk --send examples/bulk.jsonl --speed max --until-idle
//! ```
//!
//! Three orders are done. One costs nothing and is rejected by itself, as `free-order`. The address of another has a NUL
//! character, so the database refuses the whole statement. redrive calls the handler with halves until that order is alone, and
//! dead-letters it as `refused`.

use redrive::{Bulk, Chunks, Consumer, Failure, Message};
use serde::Deserialize;

#[derive(Deserialize)]
struct Order {
    cents: u64,
    address: String,
}

async fn insert(orders: Bulk<Message<Order>>) -> Result<(), Failure> {
    let mut rows = Vec::with_capacity(orders.len());
    for order in orders {
        if order.body.cents == 0 {
            order.fail(Failure::reject("an order must cost something").with_reason("free-order"));
        } else {
            // The key is unique in the table, so that a second delivery changes nothing.
            rows.push((order.key().to_owned(), order.body.cents, order.body.address.clone()));
        }
    }
    // The database inserts all rows or none. An error counts for every order that has no outcome yet.
    execute("INSERT INTO orders (key, cents, address) VALUES ... ON CONFLICT (key) DO NOTHING", &rows)
}

/// Stands for a database.
fn execute(statement: &str, rows: &[(String, u64, String)]) -> Result<(), Failure> {
    if rows.iter().any(|(_, _, address)| address.contains('\0')) {
        return Err(
            Failure::reject("invalid byte sequence for encoding \"UTF8\": 0x00").with_reason("refused")
        );
    }
    tracing::info!(statement, rows = rows.len(), "inserted");
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), redrive::Error> {
    // A row has three parameters, and the database takes 65,535 in a statement.
    let rows = 5_000;
    Consumer::new(insert).chunks(Chunks::of(rows).halve_on_failure()).run().await
}
