//! The inbox in transactions of tokio-postgres.

use std::time::Duration;

use redrive::Message;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Transaction};

use crate::InboxError;
use crate::last_delivery::wait_for_other;
use crate::names::{InboxName, check_key};
use crate::statements::{FIRST_TIME, IS_MIGRATED, MIGRATE, PRUNE, PRUNED_AT_A_TIME, is_first};

/// Records which messages a consumer has handled, each in the transaction of its effect.
///
/// ```no_run
/// use redrive::{Failure, Message};
/// use redrive_postgres::Inbox;
/// use redrive_postgres::tokio_postgres::Client;
///
/// async fn withdraw(client: &mut Client, inbox: &Inbox, cents: Message<i64>) -> Result<(), Failure> {
///     let transaction = client.transaction().await?;
///     if inbox.first_time_of(&transaction, cents.key(), &cents).await? {
///         transaction.execute("UPDATE accounts SET cents = cents - $1", &[&cents.body]).await?;
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
    /// Creates the inbox of the consumer with this name. Consumers with different names share the table, but not their keys.
    ///
    /// # Errors
    /// The name is empty, has more than 255 bytes, or contains a NUL ([`InboxError::Name`]).
    pub fn new(consumer: impl Into<String>) -> Result<Self, InboxError> {
        InboxName::new(consumer.into()).map(|name| Self { name })
    }

    /// Records the key in your transaction, and returns whether this is the first time.
    ///
    /// - `true`: write the effect in the same transaction, and commit. If the transaction ends in any other way, the key is
    ///   not recorded either.
    /// - `false`: the effect of this key is committed, or was recorded earlier in this transaction. Return `Ok`, in the second
    ///   case after the commit.
    ///
    /// It never waits for another transaction, and takes one round trip.
    ///
    /// # Errors
    /// Another transaction is handling the key ([`InboxError::Busy`]), the key is not allowed ([`InboxError::Key`]), or Postgres
    /// refuses ([`InboxError::Database`]). After the first two you can go on with the transaction.
    pub async fn first_time(&self, transaction: &Transaction<'_>, key: &str) -> Result<bool, InboxError> {
        check_key(key)?;
        let row = transaction
            .query_typed_one(FIRST_TIME, &[(&self.name.as_str(), Type::TEXT), (&key, Type::TEXT)])
            .await
            .map_err(InboxError::database)?;
        is_first(row.get("is_busy"), row.get("is_first"))
    }

    /// Does the same as [`first_time`](Self::first_time) for this message. On its last delivery, it waits for a transaction that
    /// is handling the key, until 2 s before the message's deadline, because a deferral would make the message a dead letter.
    ///
    /// The transaction must be READ COMMITTED, as it is by default. Otherwise, Postgres refuses a key that was recorded
    /// meanwhile (error 40001).
    ///
    /// # Errors
    /// Those of `first_time`. On the last delivery, [`InboxError::Busy`] means that the other transaction has not ended in time.
    pub async fn first_time_of<T>(
        &self,
        transaction: &Transaction<'_>,
        key: &str,
        message: &Message<T>,
    ) -> Result<bool, InboxError> {
        let mut answer = self.first_time(transaction, key).await;
        while matches!(answer, Err(InboxError::Busy(_))) && wait_for_other(message).await {
            answer = self.first_time(transaction, key).await;
        }
        answer
    }

    /// Creates the table and its index unless the table exists, as [`SCHEMA`](crate::SCHEMA) does. Several processes may do so
    /// at once. If the table exists, this needs no rights and takes no locks.
    ///
    /// # Errors
    /// Postgres refuses or does not answer.
    pub async fn migrate(client: &Client) -> Result<(), InboxError> {
        let row = client.query_typed_one(IS_MIGRATED, &[]).await.map_err(InboxError::database)?;
        if row.get(0) {
            return Ok(());
        }
        client.batch_execute(MIGRATE).await.map_err(InboxError::database)
    }

    /// Deletes this consumer's records that are older than `older_than`, 1,000 per transaction, and returns their number.
    ///
    /// A message whose record is gone counts as new. So keep records for longer than a message can return: 18 days if its queue
    /// keeps messages for 4 days (SQS's default) and its dead-letter queue for 14. This time begins again if you send a letter
    /// back to the queue.
    ///
    /// # Errors
    /// Postgres refuses or does not answer. Records that were deleted until then stay deleted.
    pub async fn prune(&self, client: &Client, older_than: Duration) -> Result<u64, InboxError> {
        let (name, seconds) = (self.name.as_str(), older_than.as_secs_f64());
        let mut pruned = 0;
        loop {
            let deleted = client
                .execute_typed(PRUNE, &[(&name, Type::TEXT), (&seconds, Type::FLOAT8)])
                .await
                .map_err(InboxError::database)?;
            pruned += deleted;
            if deleted < PRUNED_AT_A_TIME {
                return Ok(pruned);
            }
        }
    }
}
