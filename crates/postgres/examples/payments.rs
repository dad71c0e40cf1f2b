//! Payments out of accounts in Postgres, each made exactly once.
//!
//! ```sh
//! docker run --detach --publish 127.0.0.1:5432:5432 --env POSTGRES_HOST_AUTH_METHOD=trust postgres:18
//! redrive local --example payments --send crates/postgres/examples/payments.jsonl --speed max --until-idle
//! ```
//!
//! Ada's shop sent her payment twice, as two messages, and it is made once. If both are handled at the same time, one is deferred for
//! 30 s. Bob's second payment breaks a rule of the database and is dead-lettered as `overdrawn`. A second run changes nothing.
//!
//! It reads the address of your own database from `DATABASE_URL`.

#![allow(clippy::disallowed_methods, reason = "it reads the environment")]

use deadpool_postgres::{Manager, Pool};
use redrive::{BoxError, Consumer, Failure, Handler, Message};
use redrive_postgres::Inbox;
use redrive_postgres::tokio_postgres::error::SqlState;
use redrive_postgres::tokio_postgres::{Error, NoTls, Transaction};
use serde::Deserialize;

const DATABASE: &str = "postgresql://postgres@127.0.0.1/postgres";

const ACCOUNTS: &str = "
    CREATE TABLE IF NOT EXISTS accounts (name text PRIMARY KEY, cents bigint NOT NULL CHECK (cents >= 0));
    INSERT INTO accounts VALUES ('ada', 1000), ('bob', 1000) ON CONFLICT DO NOTHING";

#[derive(Deserialize)]
struct Payment {
    /// The same each time that the shop sends the payment, unlike `Message::key`.
    id: String,
    account: String,
    cents: i64,
}

struct Payments {
    pool: Pool,
    inbox: Inbox,
}

impl Payments {
    async fn open() -> Result<Self, BoxError> {
        let database = std::env::var("DATABASE_URL").unwrap_or_else(|_| DATABASE.to_owned());
        let pool = Pool::builder(Manager::new(database.parse()?, NoTls)).build()?;
        let client = pool.get().await?;
        Inbox::migrate(&client).await?;
        client.batch_execute(ACCOUNTS).await?;
        Ok(Self { pool, inbox: Inbox::new("payments")? })
    }
}

impl Handler<Message<Payment>> for Payments {
    type Error = Failure;

    async fn call(&self, payment: Message<Payment>) -> Result<(), Failure> {
        let Payment { id, account, cents } = &payment.body;
        let mut client = self.pool.get().await?;
        let transaction = client.transaction().await?;
        if !self.inbox.first_time_of(&transaction, id, &payment).await? {
            tracing::info!(id, "was made before");
            return Ok(());
        }
        pay(&transaction, account, *cents).await.map_err(classify)?;
        Ok(transaction.commit().await?)
    }
}

async fn pay(transaction: &Transaction<'_>, account: &str, cents: i64) -> Result<(), Error> {
    let update = "UPDATE accounts SET cents = cents - $2 WHERE name = $1";
    transaction.execute(update, &[&account, &cents]).await?;
    Ok(())
}

fn classify(error: Error) -> Failure {
    match error.code() {
        Some(code) if *code == SqlState::CHECK_VIOLATION => Failure::reject(error).with_reason("overdrawn"),
        _ => error.into(),
    }
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    Ok(Consumer::new(Payments::open().await?).run().await?)
}
