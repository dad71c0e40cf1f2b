//! What messages need, as the user's function names it.

use std::fmt;
use std::sync::Arc;

use crate::record::Record;
use redrive_executor::catch;

/// The closure of [`Consumer::depends_on`](crate::Consumer::depends_on).
pub(crate) type Dependencies = Arc<dyn Fn(&Record<'_>) -> Vec<String> + Send + Sync>;

/// The same for messages of one queue.
#[derive(Clone, Copy)]
pub(crate) struct DependsOn<'a> {
    pub(crate) names: &'a Dependencies,
    /// The queue's ARN.
    pub(crate) source: &'a str,
}

impl DependsOn<'_> {
    /// None if the user's function panics.
    pub(crate) fn of(self, record: &Record<'_>) -> Vec<String> {
        let mut names = catch(|| (self.names)(record)).unwrap_or_default();
        names.retain(|name| !name.is_empty());
        names.sort_unstable();
        names.dedup();
        names
    }
}

impl fmt::Debug for DependsOn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DependsOn").field("source", &self.source).finish_non_exhaustive()
    }
}
