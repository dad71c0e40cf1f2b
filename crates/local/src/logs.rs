//! CloudWatch Logs: the functions' log lines, and the operations that read them.
//!
//! Times are those of the simulated clock, as in SQS. It is never behind the real one, so that a query for the last hour
//! finds the lines of that hour.

pub(crate) mod api;
mod describe;
mod filter_events;
mod group;
mod pattern;
#[cfg(test)]
mod testing;

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use group::Group;

/// The log groups of one account in one region.
#[derive(Debug)]
pub(crate) struct Logs {
    region: String,
    account: String,
    groups: BTreeMap<String, Group>,
}

impl Logs {
    pub(crate) fn new(
        region: &str,
        account: &str,
        groups: impl IntoIterator<Item = String>,
        now: SystemTime,
    ) -> Self {
        let groups = groups.into_iter().map(|name| (name, Group::new(milliseconds(now)))).collect();
        Self { region: region.to_owned(), account: account.to_owned(), groups }
    }

    /// Writes a line to a stream of a group. A line for a missing group is dropped.
    pub(crate) fn write(&mut self, group: &str, stream: &str, line: &str, now: SystemTime) {
        if let Some(group) = self.groups.get_mut(group) {
            // Lambda keeps the newline of each line.
            group.write(stream, format!("{line}\n"), milliseconds(now));
        }
    }

    fn arn(&self, group: &str) -> String {
        format!("arn:aws:logs:{}:{}:log-group:{group}", self.region, self.account)
    }
}

fn milliseconds(at: SystemTime) -> i64 {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as i64
}
