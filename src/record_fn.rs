//! The user's functions that name something of a record: what it depends on, and which messages it shares a rate with.

use std::fmt;
use std::sync::Arc;

use crate::record::Record;
use redrive_executor::catch;

pub(crate) type RecordFn<T> = Arc<dyn Fn(&Record<'_>) -> T + Send + Sync>;

/// Such a function for messages of one queue.
pub(crate) struct QueueFn<'a, T> {
    pub(crate) call: &'a RecordFn<T>,
    /// The queue's ARN.
    pub(crate) source: &'a str,
}

impl<T> Clone for QueueFn<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for QueueFn<'_, T> {}

impl<T: Default> QueueFn<'_, T> {
    /// Nothing if the user's function panics.
    pub(crate) fn of(self, record: &Record<'_>) -> T {
        catch(|| (self.call)(record)).unwrap_or_default()
    }
}

impl<T> fmt::Debug for QueueFn<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueFn").field("source", &self.source).finish_non_exhaustive()
    }
}
