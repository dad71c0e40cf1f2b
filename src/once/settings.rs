//! The settings with which a consumer uses its store.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use super::{AnyStore, Store};

/// The time for which records of ended messages are kept: longer than the 7 days of the template's queue and the 14 days of its
/// dead-letter queue together.
const KEEP: Duration = Duration::from_secs(22 * 24 * 3_600);

type KeyOf = dyn Fn(&dyn Any) -> Option<String> + Send + Sync;

/// A store with its settings. `M` is the argument of the handler, or one message of a [`Bulk`](crate::Bulk).
///
/// ```
/// use redrive::once::{Memory, Once};
/// use redrive::{Consumer, Failure};
///
/// #[derive(serde::Deserialize)]
/// struct Order { id: String, cents: u64 }
///
/// async fn place(order: Order) -> Result<(), Failure> {
///     tracing::info!(order.id, order.cents, "placed");
///     Ok(())
/// }
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let once = Once::new(Memory::new()).key(|order: &Order| order.id.clone()).check_payload();
/// let consumer = Consumer::new(place).once(once);
/// # })
/// ```
#[must_use = "it does nothing until a consumer has it"]
pub struct Once<M> {
    pub(crate) rules: Rules,
    message: PhantomData<fn(&M)>,
}

/// A store with its settings, for messages of any type.
#[derive(Clone)]
pub(crate) struct Rules {
    pub(crate) store: Arc<dyn AnyStore>,
    pub(crate) key: Option<Arc<KeyOf>>,
    pub(crate) checks_payload: bool,
    pub(crate) keep: Duration,
}

impl<M: 'static> Once<M> {
    /// Uses this store, with [`Message::key`](crate::Message::key) as the key.
    ///
    /// List the IAM users and roles that run `redrive dlq retry` in
    /// [`Consumer::origin_senders`](crate::Consumer::origin_senders). Without this setting, a message that was sent back
    /// becomes a dead letter again (`origin-sender`), because any sender could claim the key of another message.
    pub fn new(store: impl Store) -> Self {
        let rules = Rules { store: Arc::new(store), key: None, checks_payload: false, keep: KEEP };
        Self { rules, message: PhantomData }
    }

    /// Computes the key from the message, for producers that may send the same job twice. It must be 1 to 1,024 bytes long:
    /// a message with any other key is treated like one whose body cannot be decoded.
    pub fn key(self, key: impl Fn(&M) -> String + Send + Sync + 'static) -> Self {
        let of_any = move |message: &dyn Any| message.downcast_ref().map(&key);
        Self { rules: Rules { key: Some(Arc::new(of_any)), ..self.rules }, ..self }
    }

    /// Dead-letters a message with the reason `key-reused` if another message with the same key had a different body.
    /// Default: bodies are not compared.
    pub fn check_payload(self) -> Self {
        Self { rules: Rules { checks_payload: true, ..self.rules }, ..self }
    }

    /// The time for which the store keeps the record of a message that has ended. Default: 22 days. It must be longer than the
    /// retention of the queue and of its dead-letter queue together, or a message can run again.
    pub fn keep(self, keep: Duration) -> Self {
        Self { rules: Rules { keep, ..self.rules }, ..self }
    }
}

impl<S: Store, M: 'static> From<S> for Once<M> {
    fn from(store: S) -> Self {
        Self::new(store)
    }
}

impl<M> fmt::Debug for Once<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rules { checks_payload, keep, .. } = &self.rules;
        f.debug_struct("Once")
            .field("checks_payload", checks_payload)
            .field("keep", keep)
            .finish_non_exhaustive()
    }
}
