//! Payments out of accounts in Postgres with sqlx, each made exactly once.
//!
//! ```sh
//! docker run --detach --publish 127.0.0.1:5432:5432 --env POSTGRES_HOST_AUTH_METHOD=trust postgres:18
//! redrive local --example payments_sqlx --send crates/postgres/examples/payments.jsonl --speed max --until-idle
//! ```
//!
//! It does what the example `payments` does, which uses tokio-postgres. In your `Cargo.toml`, give `redrive-postgres`
//! `default-features = false, features = ["sqlx"]`, and sqlx the features `postgres` and `runtime-tokio`.
//!
//! To use your own database, set `DATABASE_URL`.

#![allow(clippy::disallowed_methods, reason = "it reads the environment")]

use redrive::{BoxError, Consumer, Failure, Handler, Message};
use redrive_postgres::sqlx::Inbox;
use serde::Deserialize;
use sqlx::{Error, PgPool};

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
    pool: PgPool,
    inbox: Inbox,
}

impl Payments {
    async fn open() -> Result<Self, BoxError> {
        let database = std::env::var("DATABASE_URL").unwrap_or_else(|_| DATABASE.to_owned());
        let pool = PgPool::connect(&database).await?;
        Inbox::migrate(&pool).await?;
        sqlx::raw_sql(ACCOUNTS).execute(&pool).await?;
        Ok(Self { pool, inbox: Inbox::new("payments")? })
    }
}

impl Handler<Message<Payment>> for Payments {
    type Error = Failure;

    async fn call(&self, payment: Message<Payment>) -> Result<(), Failure> {
        let Payment { id, account, cents } = &payment.body;
        let mut transaction = self.pool.begin().await?;
        if !self.inbox.first_time_of(&mut transaction, id, &payment).await? {
            tracing::info!(id, "was made before");
            return Ok(());
        }
        let update = sqlx::query("UPDATE accounts SET cents = cents - $2 WHERE name = $1");
        let update = update.bind(account.as_str()).bind(*cents);
        update.execute(&mut *transaction).await.map_err(classify)?;
        Ok(transaction.commit().await?)
    }
}

fn classify(error: Error) -> Failure {
    match error.as_database_error() {
        Some(found) if found.is_check_violation() => Failure::reject(error).with_reason("overdrawn"),
        _ => error.into(),
    }
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    Ok(Consumer::new(Payments::open().await?).run().await?)
}
