//! The user's functions that map a record to its dependencies, or to the key of its rate.

use std::fmt;
use std::sync::Arc;

use crate::record::Record;
use redrive_executor::catch;

pub(crate) type RecordFn<T> = Arc<dyn Fn(&Record<'_>) -> T + Send + Sync>;

/// A function of the user that the engine calls.
pub(crate) struct UserFn<'a, T>(pub(crate) &'a RecordFn<T>);

impl<T> Clone for UserFn<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for UserFn<'_, T> {}

impl<T: Default> UserFn<'_, T> {
    /// Calls the function. Returns the default if it panics.
    pub(crate) fn of(self, record: &Record<'_>) -> T {
        catch(|| (self.0)(record)).unwrap_or_default()
    }
}

impl<T> fmt::Debug for UserFn<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserFn").finish_non_exhaustive()
    }
}
