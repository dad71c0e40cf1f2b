//! An outbox: messages that are sent if, and only if, a transaction commits.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::time::Duration;

use aws_sdk_sqs::Client as Sqs;
use futures_util::future::join_all;
use redrive::Origin;
use redrive_send::{NewMessage, SendError, Sender, Sent, ToMessage};
use tokio::time::sleep;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, IsolationLevel, Row, Transaction};

use crate::OutboxError;

/// SQL that creates the outbox's table and index, for your own migrations. [`Outbox::migrate`] runs it too.
///
/// Writers need the right to `INSERT`, and relays to `SELECT`, `UPDATE` and `DELETE`.
pub const OUTBOX_SCHEMA: &str = include_str!("outbox_schema.sql");

const MIGRATE: &str = concat!(
    "SELECT pg_advisory_xact_lock(hashtextextended('redrive_outbox', 0));\n",
    include_str!("outbox_schema.sql")
);
const WRITE: &str = "INSERT INTO redrive_outbox (queue_url, fifo_group, message) VALUES ($1, $2, $3)";
const GROUPS: &str = include_str!("outbox_groups.sql");
const TAKE: &str = include_str!("outbox_take.sql");
const TAKE_GROUPS: &str = include_str!("outbox_take_groups.sql");
const DELETE: &str = "DELETE FROM redrive_outbox WHERE id = ANY ($1)";
const POSTPONE: &str = include_str!("outbox_postpone.sql");

type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

/// The number of messages that [`TAKE`] takes at most. A round with half as many is followed by another one at once.
const AT_A_TIME: usize = 100;

/// The time for which a message is sent again before its row waits. The transaction is open meanwhile.
const PATIENCE: Duration = Duration::from_secs(5);

/// Writes messages in your transactions, for a [`Relay`] to send.
///
/// ```no_run
/// use redrive_postgres::Outbox;
/// use redrive_postgres::tokio_postgres::Client;
///
/// async fn order(client: &mut Client, queue_url: &str, id: i64) -> Result<(), redrive::BoxError> {
///     let transaction = client.transaction().await?;
///     transaction.execute("INSERT INTO orders VALUES ($1)", &[&id]).await?;
///     Outbox::write(&transaction, queue_url, &id).await?;
///     Ok(transaction.commit().await?)
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Outbox;

impl Outbox {
    /// Writes a message in your transaction. It is sent after the commit, and never if the transaction ends in any other way.
    ///
    /// # Errors
    /// SQS would refuse the message ([`OutboxError::Message`]), or Postgres refuses ([`OutboxError::Database`]).
    pub async fn write(
        transaction: &Transaction<'_>,
        queue_url: &str,
        message: impl ToMessage,
    ) -> Result<(), OutboxError> {
        let message = message.to_message().map_err(SendError::from)?;
        // With a key of the usual length.
        with_key(message.clone(), queue_url, &"k".repeat(36)).check(queue_url)?;
        let group = message.fifo_group(queue_url).map(str::to_owned);
        let text = message.to_stored();
        let parameters: [Parameter<'_>; 3] =
            [(&queue_url, Type::TEXT), (&group, Type::TEXT), (&text, Type::TEXT)];
        transaction.execute_typed(WRITE, &parameters).await.map(drop).map_err(OutboxError::database)
    }

    /// Creates the table and its index unless they exist. Several processes may do so at once.
    ///
    /// # Errors
    /// Postgres refuses or does not answer.
    pub async fn migrate(client: &Client) -> Result<(), OutboxError> {
        client.batch_execute(MIGRATE).await.map_err(OutboxError::database)
    }
}

/// Sends the messages of an [`Outbox`], and deletes those that SQS has confirmed. Several relays share the work.
///
/// Each message is sent at least once: if a relay dies between the answer of SQS and its commit, the next one sends the message again.
/// Both copies have the same [`Message::key`](redrive::Message::key), with which the consumer's `once` or inbox recognizes them,
/// and on a FIFO queue the same deduplication id, unless you have set one. The consumer must trust the relay's role with keys
/// ([`Consumer::origin_senders`](redrive::Consumer::origin_senders)). With [`once`](redrive::Consumer::once), it dead-letters the
/// messages otherwise.
///
/// The messages of a FIFO group are sent in the order in which they were written. Transactions that overlap have no order.
///
/// A message that cannot be sent waits for 30 s, then a minute and so on, up to an hour. Its row in `redrive_outbox` has the error, and
/// those behind it in its group wait. A message to a queue that does not exist waits too: delete its row if nobody needs it.
///
/// ```no_run
/// use redrive_postgres::Relay;
/// use redrive_postgres::tokio_postgres::Client;
///
/// # async fn example(sqs: aws_sdk_sqs::Client, mut client: Client) -> Result<(), redrive_postgres::OutboxError> {
/// Relay::new(sqs).run_until(&mut client, async { drop(tokio::signal::ctrl_c().await) }).await
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Relay {
    sqs: Sqs,
    every: Duration,
}

impl Relay {
    /// Creates a relay that sends with this client.
    #[must_use]
    pub const fn new(sqs: Sqs) -> Self {
        Self { sqs, every: Duration::from_secs(1) }
    }

    /// The time between two looks at an outbox that was empty. Default: 1 s.
    #[must_use]
    pub const fn every(mut self, time: Duration) -> Self {
        self.every = time;
        self
    }

    /// Sends messages until `stop` is ready. It ends between two [rounds](Self::round). A round takes up to 15 s if SQS does not
    /// answer, and its transaction is open meanwhile.
    ///
    /// # Errors
    /// Postgres refuses or does not answer. What was sent in the last round may be sent again.
    pub async fn run_until(
        &self,
        client: &mut Client,
        stop: impl Future<Output = ()>,
    ) -> Result<(), OutboxError> {
        let mut stop = std::pin::pin!(stop);
        loop {
            let (taken, _) = self.take_and_send(client).await?;
            let pause = if taken >= AT_A_TIME / 2 { Duration::ZERO } else { self.every };
            tokio::select! {
                biased;
                () = &mut stop => return Ok(()),
                () = sleep(pause) => {}
            }
        }
    }

    /// Sends up to 100 messages of standard queues and 10 of each of 20 FIFO groups. Returns the number of those that SQS has
    /// confirmed.
    ///
    /// # Errors
    /// Postgres refuses or does not answer. What was sent may be sent again.
    pub async fn round(&self, client: &mut Client) -> Result<usize, OutboxError> {
        self.take_and_send(client).await.map(|(_, sent)| sent)
    }

    /// Returns the numbers of the messages that were taken and sent.
    async fn take_and_send(&self, client: &mut Client) -> Result<(usize, usize), OutboxError> {
        // Each statement must see what others have committed, whatever the default is.
        let transaction = client.build_transaction().isolation_level(IsolationLevel::ReadCommitted);
        let transaction = transaction.start().await.map_err(OutboxError::database)?;
        let groups = transaction.query_typed(GROUPS, &[]).await.map_err(OutboxError::database)?;
        let [urls, groups] =
            [0, 1].map(|column| groups.iter().map(|row| row.get::<_, String>(column)).collect::<Vec<_>>());
        let mut rows = transaction.query_typed(TAKE, &[]).await.map_err(OutboxError::database)?;
        if !groups.is_empty() {
            let parameters: [Parameter<'_>; 2] = [(&urls, Type::TEXT_ARRAY), (&groups, Type::TEXT_ARRAY)];
            rows.extend(
                transaction.query_typed(TAKE_GROUPS, &parameters).await.map_err(OutboxError::database)?,
            );
        }
        let (mut sent, mut failed) = (Vec::new(), BTreeSet::new());
        for (row, result) in self.send(&rows).await {
            let id: i64 = row.get("id");
            let Err(error) = result else {
                sent.push(id);
                continue;
            };
            // The others of a group wait for the first one that failed.
            let group: Option<&str> = row.get("fifo_group");
            if group.is_some() && !failed.insert((row.get::<_, &str>("queue_url"), group)) {
                continue;
            }
            let error = error.to_string();
            let parameters: [Parameter<'_>; 2] = [(&id, Type::INT8), (&error, Type::TEXT)];
            transaction.execute_typed(POSTPONE, &parameters).await.map_err(OutboxError::database)?;
        }
        transaction
            .execute_typed(DELETE, &[(&sent, Type::INT8_ARRAY)])
            .await
            .map_err(OutboxError::database)?;
        transaction.commit().await.map_err(OutboxError::database)?;
        Ok((rows.len(), sent.len()))
    }

    /// Sends the messages of rows, and returns the results of those that were tried, in the order of their ids.
    async fn send<'rows>(&self, rows: &'rows [Row]) -> Vec<(&'rows Row, Result<Sent, SendError>)> {
        let mut queues: BTreeMap<&str, (Vec<&Row>, Vec<NewMessage>)> = BTreeMap::new();
        let (mut results, mut behind) = (Vec::new(), BTreeSet::new());
        for row in rows {
            let (url, group): (&str, Option<&str>) = (row.get("queue_url"), row.get("fifo_group"));
            let is_behind = group.is_some() && behind.contains(&(url, group));
            if is_behind || !row.get::<_, bool>("is_due") {
                behind.insert((url, group));
                continue;
            }
            match NewMessage::from_stored(row.get("message")) {
                Ok(message) => {
                    let (rows, messages) = queues.entry(url).or_default();
                    rows.push(row);
                    messages.push(with_key(message, url, row.get("key")));
                }
                Err(error) => {
                    results.push((row, Err(error.into())));
                    behind.insert((url, group));
                }
            }
        }
        // At the same time, so that a queue that does not answer delays no other.
        let sent = queues.into_iter().map(async |(url, (rows, messages))| {
            let sender = Sender::new(self.sqs.clone(), url).patience(PATIENCE);
            rows.into_iter().zip(sender.send_all(messages).await).collect::<Vec<_>>()
        });
        results.extend(join_all(sent).await.into_iter().flatten());
        results.sort_by_key(|(row, _)| row.get::<_, i64>("id"));
        results
    }
}

/// Adds the key by which a consumer recognizes a second copy.
fn with_key(message: NewMessage, queue_url: &str, key: &str) -> NewMessage {
    message.or_key(queue_url, (Origin::ATTRIBUTE, Origin::new(key, 0).into()), key)
}
