//! The inbox in transactions of [sqlx](https://docs.rs/sqlx), with the cargo feature `sqlx`.

use std::time::Duration;

use ::sqlx::{PgPool, PgTransaction, query, query_as, query_scalar, raw_sql};
use redrive::Message;

use crate::InboxError;
use crate::last_delivery::wait_for_other;
use crate::names::{InboxName, check_key};
use crate::statements::{FIRST_TIME, IS_MIGRATED, MIGRATE, PRUNE, PRUNED_AT_A_TIME, is_first};

/// Records which messages a consumer has handled, each in the transaction of its effect.
///
/// ```no_run
/// use redrive::{Failure, Message};
/// use redrive_postgres::sqlx::Inbox;
/// use sqlx::PgPool;
///
/// async fn withdraw(pool: &PgPool, inbox: &Inbox, cents: Message<i64>) -> Result<(), Failure> {
///     let mut transaction = pool.begin().await?;
///     if inbox.first_time_of(&mut transaction, cents.key(), &cents).await? {
///         let update = sqlx::query("UPDATE accounts SET cents = cents - $1").bind(cents.body);
///         update.execute(&mut *transaction).await?;
///         transaction.commit().await?;
///     }
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Inbox {
    name: InboxName,
}

impl Inbox {
    /// Creates the inbox of a consumer, like [`redrive_postgres::Inbox::new`](crate::Inbox::new).
    ///
    /// # Errors
    /// The name is empty, has more than 255 bytes, or contains a NUL ([`InboxError::Name`]).
    pub fn new(consumer: impl Into<String>) -> Result<Self, InboxError> {
        InboxName::new(consumer.into()).map(|name| Self { name })
    }

    /// Records the key in your transaction, and returns whether this is the first time, like
    /// [`redrive_postgres::Inbox::first_time`](crate::Inbox::first_time).
    ///
    /// # Errors
    /// Another transaction is handling the key, the key is not allowed, or Postgres refuses.
    pub async fn first_time(
        &self,
        transaction: &mut PgTransaction<'_>,
        key: &str,
    ) -> Result<bool, InboxError> {
        check_key(key)?;
        let (is_busy, first) = query_as(FIRST_TIME)
            .bind(self.name.as_str())
            .bind(key)
            .fetch_one(&mut **transaction)
            .await
            .map_err(InboxError::database)?;
        is_first(is_busy, first)
    }

    /// Does the same for this message, and may wait on its last delivery, like
    /// [`redrive_postgres::Inbox::first_time_of`](crate::Inbox::first_time_of).
    ///
    /// # Errors
    /// Those of `first_time`.
    pub async fn first_time_of<T>(
        &self,
        transaction: &mut PgTransaction<'_>,
        key: &str,
        message: &Message<T>,
    ) -> Result<bool, InboxError> {
        let mut answer = self.first_time(transaction, key).await;
        while matches!(answer, Err(InboxError::Busy(_))) && wait_for_other(message).await {
            answer = self.first_time(transaction, key).await;
        }
        answer
    }

    /// Creates the table and its index unless the table exists, like [`redrive_postgres::Inbox::migrate`](crate::Inbox::migrate).
    ///
    /// # Errors
    /// Postgres refuses or does not answer.
    pub async fn migrate(pool: &PgPool) -> Result<(), InboxError> {
        let is_migrated = query_scalar(IS_MIGRATED).fetch_one(pool).await;
        if is_migrated.map_err(InboxError::database)? {
            return Ok(());
        }
        raw_sql(MIGRATE).execute(pool).await.map_err(InboxError::database)?;
        Ok(())
    }

    /// Deletes this consumer's records that are older than `older_than`, like [`redrive_postgres::Inbox::prune`](crate::Inbox::prune).
    ///
    /// # Errors
    /// Postgres refuses or does not answer. Records that were deleted until then stay deleted.
    pub async fn prune(&self, pool: &PgPool, older_than: Duration) -> Result<u64, InboxError> {
        let mut pruned = 0;
        loop {
            let step = query(PRUNE).bind(self.name.as_str()).bind(older_than.as_secs_f64()).execute(pool);
            let deleted = step.await.map_err(InboxError::database)?.rows_affected();
            pruned += deleted;
            if deleted < PRUNED_AT_A_TIME {
                return Ok(pruned);
            }
        }
    }
}
