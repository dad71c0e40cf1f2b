//! A store in the memory of the process.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock")]

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tokio::time::Instant;

use super::{Change, Claim, Claimed, Record, Store};
use crate::failure::BoxError;

/// A store for tests, which lasts as long as the process. It uses tokio's clock, so a test can skip the time until a
/// lease ends.
///
/// ```
/// use redrive::once::Memory;
/// use std::sync::Arc;
///
/// # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let store = Arc::new(Memory::new());
/// let consumer = redrive::Consumer::new(place).once(Arc::clone(&store));
/// assert_eq!(store.record("order-7"), None);
/// # })
/// ```
#[derive(Debug)]
pub struct Memory {
    began: (SystemTime, Instant),
    records: Mutex<HashMap<String, Record>>,
}

impl Default for Memory {
    fn default() -> Self {
        Self { began: (SystemTime::now(), Instant::now()), records: Mutex::default() }
    }
}

impl Memory {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the record of a key, if there is one.
    #[must_use]
    pub fn record(&self, key: &str) -> Option<Record> {
        self.records().get(key).cloned()
    }

    fn records(&self) -> MutexGuard<'_, HashMap<String, Record>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> SystemTime {
        let (wall, began) = self.began;
        wall + began.elapsed()
    }
}

impl Store for Memory {
    async fn claim(&self, claim: &Claim) -> Result<Claimed, BoxError> {
        let (mut records, now) = (self.records(), self.now());
        let claimed = Record::claimed(records.get(&claim.key), claim, now);
        if claimed == Claimed::Granted {
            records.insert(claim.key.clone(), Record::of(claim, now));
        }
        Ok(claimed)
    }

    async fn change(&self, key: &str, token: &str, change: &Change) -> Result<bool, BoxError> {
        let now = self.now();
        Ok(self.records().get_mut(key).is_some_and(|record| record.change(token, change, now)))
    }
}
