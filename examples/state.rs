//! State that all messages share: a handler that is a struct, here with a pool of database connections.
//!
//! ```sh
//! redrive local --example state --send examples/state.jsonl --speed max --until-idle
//! ```
//!
//! Ada's and Bob's orders are done. An order for nothing breaks a rule of the database and is dead-lettered at once as
//! `constraint`. An order of an unknown customer is retried until that customer exists, which never happens. After ten attempts
//! in 17 minutes, the redrive policy dead-letters it.

use deadpool_sqlite::rusqlite::{Connection, Error as SqlError, ErrorCode, ffi};
use deadpool_sqlite::{Config, Pool, Runtime};
use redrive::{BoxError, Consumer, Failure, Handler, Message};
use serde::Deserialize;

/// A database in the memory of this process, the same for all connections of the pool. Use your own instead.
const DATABASE: &str = "file:/shop?vfs=memdb";

const SCHEMA: &str = "
    CREATE TABLE customers (name TEXT PRIMARY KEY) STRICT;
    INSERT INTO customers VALUES ('ada'), ('bob');
    CREATE TABLE orders (
        key TEXT PRIMARY KEY,
        customer TEXT NOT NULL REFERENCES customers,
        cents INTEGER NOT NULL CHECK (cents > 0)
    ) STRICT;";

#[derive(Deserialize)]
struct Order {
    customer: String,
    cents: i64,
}

struct Shop {
    pool: Pool,
}

impl Shop {
    async fn open() -> Result<Self, BoxError> {
        let pool = Config::new(DATABASE).create_pool(Runtime::Tokio1)?;
        let create = |database: &mut Connection| database.execute_batch(SCHEMA);
        pool.get().await?.interact(create).await.map_err(|error| error.to_string())??;
        Ok(Self { pool })
    }
}

impl Handler<Message<Order>> for Shop {
    type Error = Failure;

    async fn call(&self, order: Message<Order>) -> Result<(), Failure> {
        let database = self.pool.get().await?;
        // It runs on a thread that may block, because SQLite blocks.
        let stored = database.interact(move |database| store(database, &order)).await;
        stored.map_err(|error| error.to_string())?.map_err(classify)
    }
}

/// Stores an order. A message can arrive twice: its key is the same each time, so the second one changes nothing.
fn store(database: &Connection, order: &Message<Order>) -> Result<(), SqlError> {
    let Order { customer, cents } = &order.body;
    let insert = "INSERT INTO orders VALUES (?1, ?2, ?3) ON CONFLICT (key) DO NOTHING";
    database.execute(insert, (order.key(), customer, cents))?;
    Ok(())
}

/// Rejects an order that breaks a rule of the database. Retries others: the customer may exist later, and a lock ends.
fn classify(error: SqlError) -> Failure {
    match error.sqlite_error() {
        Some(found) if found.extended_code == ffi::SQLITE_CONSTRAINT_FOREIGNKEY => error.into(),
        Some(found) if found.code == ErrorCode::ConstraintViolation => {
            Failure::reject(error).with_reason("constraint")
        }
        _ => error.into(),
    }
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    Ok(Consumer::new(Shop::open().await?).run().await?)
}
