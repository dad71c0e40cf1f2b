//! The bucket of a rate that workers share.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock, and random numbers")]

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::types::AttributeValue;
use redrive::reexports::tokio::time::{Instant, sleep};
use redrive::tokens::{self, Bucket, Lease};
use redrive::{BoxError, Rate};

use crate::DynamoDb;
use crate::expression::{Update, values};
use crate::item::{Item, number, whole_in};
use crate::store::WriteResult;
use crate::view::BucketView;

/// Most attempts at a lease while other workers change the bucket.
const TRIES: u32 = 5;
/// Longest pause after the second conflict. It grows with each further one.
const PAUSE: Duration = Duration::from_millis(20);
/// Latest time of a bucket, in milliseconds. No bucket is that old.
const LATEST: u64 = u64::MAX / 2;

/// The bucket of a [shared rate](redrive::Consumer::share_rate): one item of a table of DynamoDB.
///
/// ```no_run
/// # async fn charge(order: String) -> Result<(), redrive::Failure> { Ok(()) }
/// # async fn run() -> Result<(), redrive::BoxError> {
/// use redrive::{Consumer, Rate};
/// use redrive_dynamodb::{DynamoDb, client};
///
/// let bank = DynamoDb::new(client().await, "idempotency").tokens("rate-of-the-bank");
/// Consumer::new(charge).rate(Rate::per_second(50)).share_rate(bank).run().await?;
/// # Ok(())
/// # }
/// ```
///
/// A lease is one `UpdateItem`, on the condition that no other worker was first. If one was, redrive tries again, up to five
/// times in all. Workers need no common clock. While none runs, the bucket gains no tokens.
///
/// | attribute | | |
/// | --- | --- | --- |
/// | `id` | S | the prefix and the key |
/// | `level` | N | billionths of a token in the bucket; below zero, tokens were leased in advance |
/// | `at` | N | the time of that level, in milliseconds since the first lease |
#[derive(Debug)]
pub struct Tokens {
    store: DynamoDb,
    id: String,
    started: Instant,
    view: Mutex<BucketView>,
}

impl DynamoDb {
    /// Returns the bucket with this key, for [`Consumer::share_rate`](redrive::Consumer::share_rate). Its id is the prefix and the key,
    /// and must differ from the ids of records. Its client does not retry: after a failed call, the worker leases again a second later.
    #[must_use]
    pub fn tokens(mut self, key: &str) -> Tokens {
        let id = self.id(key);
        // If an answer was lost, a retry would find its own write, mistake it for another worker's, and lease again.
        let config = self.client.config().to_builder().retry_config(RetryConfig::disabled());
        self.client = Client::from_conf(config.build());
        Tokens { store: self, id, started: Instant::now(), view: Mutex::default() }
    }
}

impl tokens::Tokens for Tokens {
    async fn lease(&self, most: u32, rate: &Rate) -> Result<Lease, BoxError> {
        for conflicts in 0..TRIES {
            let view = self.view();
            let mut bucket = view.bucket.unwrap_or_else(|| Bucket::full(rate));
            let lease = bucket.lease(most, rate, view.now(self.started.elapsed()));
            if lease.tokens() == 0 {
                return Ok(lease);
            }
            match self.store.update(&self.id, update(view.bucket, bucket)).await? {
                WriteResult::Yes => {
                    self.observe(Some(bucket));
                    return Ok(lease);
                }
                WriteResult::No(item) => {
                    let item = self.store.item(&self.id, item).await?;
                    let found = item.as_ref().map(bucket_of).transpose();
                    self.observe(found.map_err(|fault| self.store.fault(&self.id, fault))?);
                }
            }
            if conflicts > 0 {
                sleep(PAUSE.mul_f64(f64::from(conflicts) * fastrand::f64())).await;
            }
        }
        // The worker asks again soon, if there are tokens.
        let view = self.view();
        let mut bucket = view.bucket.unwrap_or_else(|| Bucket::full(rate));
        Ok(bucket.lease(0, rate, view.now(self.started.elapsed())))
    }
}

impl Tokens {
    fn view(&self) -> BucketView {
        *self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn observe(&self, bucket: Option<Bucket>) {
        let steady = self.started.elapsed();
        self.view.lock().unwrap_or_else(PoisonError::into_inner).observe(bucket, steady);
    }
}

/// Returns the update that writes a bucket, if the item is still the one that was read.
fn update(read: Option<Bucket>, bucket: Bucket) -> Update {
    let mut named = vec![("level", level(bucket)), ("at", at(bucket))];
    named.extend(read.into_iter().flat_map(|read| [("read_level", level(read)), ("read_at", at(read))]));
    let condition =
        if read.is_some() { "#level = :read_level AND #at = :read_at" } else { "attribute_not_exists(#id)" };
    Update { expression: "SET #level = :level, #at = :at".to_owned(), condition, values: values(named) }
}

fn bucket_of(item: &Item) -> Result<Bucket, String> {
    let (level, at) = (whole_in(item, "level")?, whole_in(item, "at")?);
    // Beyond the maximum, the bucket would gain no more tokens.
    if at > LATEST {
        return Err(format!("at {at}, allowed: at most {LATEST}"));
    }
    Ok(Bucket { level, at: Duration::from_millis(at) })
}

fn level(bucket: Bucket) -> AttributeValue {
    AttributeValue::N(bucket.level.to_string())
}

fn at(bucket: Bucket) -> AttributeValue {
    number(bucket.at.as_millis())
}
