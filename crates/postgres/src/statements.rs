//! The statements of the inbox, and the meaning of their answers.

use crate::InboxError;

/// SQL that creates the inbox's table and index, for your own migrations. [`Inbox::migrate`](crate::Inbox::migrate) runs it too.
///
/// It does not change an existing table. Handlers need the rights to `SELECT` and `INSERT`, and pruning to `SELECT` and `DELETE`.
pub const SCHEMA: &str = include_str!("schema.sql");

pub(crate) const IS_MIGRATED: &str = "SELECT to_regclass('redrive_inbox') IS NOT NULL";

/// Creates the table in one transaction, because it is sent as one query. `IF NOT EXISTS` alone fails if several processes run it
/// at once.
pub(crate) const MIGRATE: &str = concat!(
    "SELECT pg_advisory_xact_lock(hashtextextended('redrive_inbox', 0));\n",
    include_str!("schema.sql")
);

/// Records a key. Its parameters are the name of the consumer and the key.
pub(crate) const FIRST_TIME: &str = include_str!("first_time.sql");

/// Interprets the answer to [`FIRST_TIME`].
pub(crate) fn is_first(is_busy: bool, is_first: bool) -> Result<bool, InboxError> {
    if is_busy { Err(InboxError::busy()) } else { Ok(is_first) }
}

/// Deletes old records. Its parameters are the name of the consumer and an age in seconds. A step locks few rows, and for a short time.
pub(crate) const PRUNE: &str = include_str!("prune.sql");

/// A step of [`PRUNE`] that deletes less is the last.
pub(crate) const PRUNED_AT_A_TIME: u64 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_is_not_the_last_deletes_as_many_as_its_statement_allows() {
        assert!(PRUNE.contains(&format!("LIMIT {PRUNED_AT_A_TIME}\n")));
    }
}
