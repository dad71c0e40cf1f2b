//! Orders whose messages are sent if, and only if, they are committed.
//!
//! ```sh
//! docker run --detach --publish 127.0.0.1:5432:5432 --env POSTGRES_HOST_AUTH_METHOD=trust postgres:18
//! redrive local &
//! export AWS_ENDPOINT_URL=http://127.0.0.1:9324 QUEUE_URL=http://127.0.0.1:9324/000000000000/redrive-orders
//! cargo run -p redrive-postgres --example outbox write &
//! cargo run -p redrive-postgres --example outbox relay
//! ```
//!
//! You can kill either part at any time, and run several of each. Set `DATABASE_URL` to use your own database.

#![allow(clippy::disallowed_methods, reason = "it reads the environment")]

use std::time::Duration;

use redrive_postgres::tokio_postgres::{Client, NoTls, connect};
use redrive_postgres::{Outbox, Relay};

const DATABASE: &str = "postgresql://postgres@127.0.0.1/postgres";

const ORDERS: &str = "
    SELECT pg_advisory_xact_lock(1);
    CREATE TABLE IF NOT EXISTS orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY)";

type BoxError = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let database = std::env::var("DATABASE_URL").unwrap_or_else(|_| DATABASE.to_owned());
    let (client, connection) = connect(&database, NoTls).await?;
    tokio::spawn(connection);
    client.batch_execute(ORDERS).await?;
    Outbox::migrate(&client).await?;
    match std::env::args().nth(1).as_deref() {
        Some("write") => write(client, &std::env::var("QUEUE_URL")?).await,
        Some("relay") => relay(client).await,
        _ => Err("which part? write or relay".into()),
    }
}

/// Writes an order every 2 ms.
async fn write(mut client: Client, queue_url: &str) -> Result<(), BoxError> {
    loop {
        let transaction = client.transaction().await?;
        let order = transaction.query_one("INSERT INTO orders DEFAULT VALUES RETURNING id", &[]).await?;
        Outbox::write(&transaction, queue_url, &order.get::<_, i64>("id")).await?;
        transaction.commit().await?;
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn relay(mut client: Client) -> Result<(), BoxError> {
    let relay = Relay::new(redrive_send::client().await).every(Duration::from_millis(100));
    let stop = async { drop(tokio::signal::ctrl_c().await) };
    Ok(relay.run_until(&mut client, stop).await?)
}
