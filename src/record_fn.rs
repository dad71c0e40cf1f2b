//! The user's functions that name something of a record: what it depends on, and which messages it shares a rate with.

use std::fmt;
use std::sync::Arc;

use crate::record::Record;
use redrive_executor::catch;

pub(crate) type RecordFn<T> = Arc<dyn Fn(&Record<'_>) -> T + Send + Sync>;

/// Such a function, as the engine has it.
pub(crate) struct UserFn<'a, T>(pub(crate) &'a RecordFn<T>);

impl<T> Clone for UserFn<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for UserFn<'_, T> {}

impl<T: Default> UserFn<'_, T> {
    /// Nothing if the user's function panics.
    pub(crate) fn of(self, record: &Record<'_>) -> T {
        catch(|| (self.0)(record)).unwrap_or_default()
    }
}

impl<T> fmt::Debug for UserFn<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserFn").finish_non_exhaustive()
    }
}
