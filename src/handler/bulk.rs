//! Several messages that a handler takes in one call.

mod rulings;

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

pub use self::rulings::Rulings;
use crate::failure::Failure;

/// Several messages in one call: the argument of a bulk handler. Messages of a FIFO group are in order; otherwise
/// messages with more attempts come first.
///
/// Settle a message through its [`Item`]: [`done`](Item::done) or [`fail`](Item::fail). A message that you leave open
/// is done if the handler returns `Ok`, and fails with its error otherwise. A panic, the time limit and the end of
/// the batch fail open messages only. Messages that cannot be decoded are not in the bulk.
///
/// ```
/// use redrive::{Bulk, Failure, Message};
///
/// #[derive(serde::Deserialize)]
/// struct Order { id: u32, cents: u64 }
///
/// async fn insert(orders: Bulk<Message<Order>>) -> Result<(), Failure> {
///     let mut rows = Vec::new();
///     for order in orders {
///         if order.body.cents == 0 {
///             order.fail(Failure::reject("an order must cost something"));
///         } else {
///             rows.push((order.body.id, order.body.cents));
///         }
///     }
///     tracing::info!(?rows, "inserting");
///     Ok(())
/// }
/// let consumer = redrive::Consumer::new(insert);
/// ```
///
/// To test a handler, create a `Bulk`:
///
/// ```
/// use redrive::{Bulk, Failure};
///
/// async fn insert(numbers: Bulk<u32>) -> Result<(), Failure> {
///     for number in numbers {
///         if *number == 13 {
///             number.fail(Failure::reject("bad luck"));
///         }
///     }
///     Ok(())
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let (numbers, rulings) = Bulk::with_rulings([7, 13]);
/// assert!(insert(numbers).await.is_ok());
/// let rulings = rulings.take();
/// assert!(rulings[0].is_none(), "left open, so it is done");
/// assert_eq!(rulings[1].as_ref().unwrap().as_ref().unwrap_err().to_string(), "bad luck");
/// # });
/// ```
pub struct Bulk<M> {
    items: Vec<Item<M>>,
}

/// A message of a [`Bulk`]; settle it here.
///
/// You can move it to other tasks and threads. A result counts only if it is set before the handler returns or is
/// canceled. A dropped item stays open.
pub struct Item<M> {
    message: M,
    at: usize,
    sheet: Arc<dyn Rule>,
}

/// Receives the results that the handler sets.
pub(crate) trait Rule: Send + Sync {
    /// Sets the result of the message at this place in the bulk.
    fn rule(&self, at: usize, disposition: Result<(), Failure>);
}

impl<M> Bulk<M> {
    /// Creates a bulk of these messages, for a test that checks only the handler's result.
    pub fn new(messages: impl IntoIterator<Item = M>) -> Self {
        Self::with_rulings(messages).0
    }

    /// Creates a bulk of these messages, and the [`Rulings`] with the results that the handler sets.
    pub fn with_rulings(messages: impl IntoIterator<Item = M>) -> (Self, Rulings) {
        let messages: Vec<_> = messages.into_iter().collect();
        let (rulings, sheet) = Rulings::of(messages.len());
        (Self::on(&sheet, messages.into_iter().enumerate()), rulings)
    }

    pub(crate) fn on(sheet: &Arc<dyn Rule>, messages: impl Iterator<Item = (usize, M)>) -> Self {
        let items = messages.map(|(at, message)| Item { message, at, sheet: Arc::clone(sheet) });
        Self { items: items.collect() }
    }

    /// Returns the number of messages. In a call by redrive, there is at least one.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns true if there are no messages.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns the messages in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Item<M>> {
        self.items.iter()
    }

    /// Returns the messages in order, to be changed.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, Item<M>> {
        self.items.iter_mut()
    }
}

impl<M> Item<M> {
    /// Marks the message as done, whatever happens to the others.
    pub fn done(self) {
        self.sheet.rule(self.at, Ok(()));
    }

    /// Fails the message, and decides what happens to it. On a FIFO queue, open messages behind it in its group then
    /// count as not handled, whatever the handler returns.
    pub fn fail(self, failure: impl Into<Failure>) {
        self.sheet.rule(self.at, Err(failure.into()));
    }

    /// Returns the message alone. It stays open, and you cannot settle it any more.
    pub fn into_inner(self) -> M {
        self.message
    }
}

impl<M> Deref for Item<M> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.message
    }
}

impl<M> DerefMut for Item<M> {
    fn deref_mut(&mut self) -> &mut M {
        &mut self.message
    }
}

impl<M> IntoIterator for Bulk<M> {
    type Item = Item<M>;
    type IntoIter = std::vec::IntoIter<Item<M>>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a, M> IntoIterator for &'a Bulk<M> {
    type Item = &'a Item<M>;
    type IntoIter = std::slice::Iter<'a, Item<M>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, M> IntoIterator for &'a mut Bulk<M> {
    type Item = &'a mut Item<M>;
    type IntoIter = std::slice::IterMut<'a, Item<M>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<M: fmt::Debug> fmt::Debug for Bulk<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.items).finish()
    }
}

impl<M: fmt::Debug> fmt::Debug for Item<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message.fmt(f)
    }
}
