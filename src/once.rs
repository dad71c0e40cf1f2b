//! Handling each message once: the store that remembers which messages are done, and how a consumer uses it.
//!
//! Give a consumer a store with [`Consumer::once`](crate::Consumer::once). For each message, redrive then
//!
//! 1. claims the message's key in the store, for as long as the message's handler may run. This is the *lease*;
//! 2. runs the handler;
//! 3. records how the message ended, if the key still has this delivery's token.
//!
//! A duplicate of a finished message is deleted without running. A duplicate of a message that another process is working on
//! is deferred until that process's lease ends. If the store cannot be reached, the handler does not run:
//! redrive treats that as an outage of a dependency of all messages.
//!
//! **The limits of a lease.** A process can stop for longer than its lease and then continue. The token keeps it from changing
//! the record of its successor, but nothing keeps it from finishing its call to another service. Pass
//! [`Message::key`](crate::Message::key) to services that accept an idempotency key. If the effect is in your own database,
//! write the key in the same transaction instead; `redrive-postgres` does that.
//!
//! `redrive-dynamodb` keeps records in DynamoDB. [`Memory`] keeps them in the process, for tests. To use another
//! database, implement [`Store`] and let [`Record`] decide.

pub(crate) mod claim;
mod memory;
mod record;
mod settings;

use std::future::Future;
use std::sync::Arc;

pub use self::memory::Memory;
pub use self::record::{Change, Claim, Claimed, End, Record};
pub use self::settings::Once;
pub(crate) use self::settings::Rules;
use crate::erased::erased;
use crate::failure::BoxError;

/// Remembers for each key which delivery is working on it, or how it ended.
///
/// Both methods must be atomic: two claims at the same time must not both be granted, and a change must not apply to the
/// record of another token. [`Record`] has these rules as functions of values:
///
/// ```
/// use redrive::BoxError;
/// use redrive::once::{Change, Claim, Claimed, Record, Store};
/// use std::collections::HashMap;
/// use std::sync::Mutex;
/// use std::time::SystemTime;
///
/// #[derive(Default)]
/// struct Table(Mutex<HashMap<String, Record>>);
///
/// impl Store for Table {
///     async fn claim(&self, claim: &Claim) -> Result<Claimed, BoxError> {
///         let (mut records, now) = (self.0.lock().unwrap(), SystemTime::now());
///         let claimed = Record::claimed(records.get(&claim.key), claim, now);
///         if matches!(claimed, Claimed::Granted) {
///             records.insert(claim.key.clone(), Record::of(claim, now));
///         }
///         Ok(claimed)
///     }
///
///     async fn change(&self, key: &str, token: &str, change: &Change) -> Result<bool, BoxError> {
///         let mut records = self.0.lock().unwrap();
///         Ok(records.get_mut(key).is_some_and(|record| record.change(token, change, SystemTime::now())))
///     }
/// }
/// # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
/// let consumer = redrive::Consumer::new(place).once(Table::default());
/// ```
pub trait Store: Send + Sync + 'static {
    /// Gives the key to the claim's token, unless another token has it or the message has ended.
    ///
    /// If the claim was already granted, it is granted again, because the first answer may have been lost. redrive waits up to
    /// 5 s for the answer.
    ///
    /// # Errors
    /// The store did not answer. redrive tries again for a quarter of the message's time, at most 30 s. Then the message returns to
    /// the queue without running, as in an [outage](crate::Failure::outage).
    fn claim(&self, claim: &Claim) -> impl Future<Output = Result<Claimed, BoxError>> + Send;

    /// Changes the record if it still has this token. Returns true if it has.
    ///
    /// # Errors
    /// The store did not answer. redrive tries to record how a message ended until its time ends, to release a key three times,
    /// and to renew until the lease ends.
    fn change(
        &self,
        key: &str,
        token: &str,
        change: &Change,
    ) -> impl Future<Output = Result<bool, BoxError>> + Send;
}

erased!(AnyStore of Store {
    fn claim(claim: &'a Claim) -> Result<Claimed, BoxError>;
    fn change(key: &'a str, token: &'a str, change: &'a Change) -> Result<bool, BoxError>;
});

/// Two consumers, or a test and a consumer, may share a store.
impl<S: Store> Store for Arc<S> {
    fn claim(&self, claim: &Claim) -> impl Future<Output = Result<Claimed, BoxError>> + Send {
        S::claim(self, claim)
    }

    fn change(
        &self,
        key: &str,
        token: &str,
        change: &Change,
    ) -> impl Future<Output = Result<bool, BoxError>> + Send {
        S::change(self, key, token, change)
    }
}
