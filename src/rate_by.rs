//! Which messages share a rate, as the user's function says.

use std::fmt;
use std::sync::Arc;

use crate::record::Record;
use redrive_executor::catch;

/// The closure of [`Consumer::rate_by`](crate::Consumer::rate_by).
pub(crate) type RateKeys = Arc<dyn Fn(&Record<'_>) -> Option<String> + Send + Sync>;

/// The same for messages of one queue.
#[derive(Clone, Copy)]
pub(crate) struct RateBy<'a> {
    pub(crate) key: &'a RateKeys,
    /// The queue's ARN.
    pub(crate) source: &'a str,
}

impl RateBy<'_> {
    /// None if the user's function panics.
    pub(crate) fn of(self, record: &Record<'_>) -> Option<String> {
        catch(|| (self.key)(record)).ok().flatten()
    }
}

impl fmt::Debug for RateBy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateBy").field("source", &self.source).finish_non_exhaustive()
    }
}
