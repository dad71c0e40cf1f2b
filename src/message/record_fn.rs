//! The user's functions that map a record to its dependencies, or to the key of its rate.

use std::sync::Arc;

use redrive_executor::catch;

use crate::message::record::Record;

pub(crate) type RecordFn<T> = Arc<dyn Fn(&Record<'_>) -> T + Send + Sync>;

/// Returns what the user's function names, or nothing if it panics.
pub(crate) fn named<T: Default>(function: &RecordFn<T>, record: &Record<'_>) -> T {
    catch(|| function(record)).unwrap_or_default()
}
