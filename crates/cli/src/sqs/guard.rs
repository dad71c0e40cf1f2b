//! Keeps the order of FIFO groups: nothing overtakes a message that was not sent. Pure.

use std::collections::BTreeMap;

/// FIFO groups with a message that was not sent.
#[derive(Debug, Default)]
pub(crate) struct FifoGuard(BTreeMap<String, Behind>);

/// Numbers of a message that was not sent, and of those behind it in its group.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Behind {
    pub(crate) failed: usize,
    pub(crate) behind: Vec<usize>,
}

impl FifoGuard {
    /// Stops a group at a failed message. Here and below, `group` is none unless order matters.
    pub(crate) fn stop(&mut self, group: Option<&str>, failed: usize) {
        if let Some(group) = group {
            self.0.entry(group.to_owned()).or_insert(Behind { failed, behind: vec![] });
        }
    }

    /// Returns true if the message may go. Otherwise it counts as behind.
    pub(crate) fn lets_pass(&mut self, group: Option<&str>, number: usize) -> bool {
        let stopped = group.and_then(|group| self.0.get_mut(group));
        let may_go = stopped.is_none();
        stopped.into_iter().for_each(|stopped| stopped.behind.push(number));
        may_go
    }

    /// Returns the groups with messages behind the failed one.
    pub(crate) fn held_up(&self) -> impl Iterator<Item = (&str, &Behind)> {
        self.0
            .iter()
            .filter(|(_, stopped)| !stopped.behind.is_empty())
            .map(|(group, stopped)| (group.as_str(), stopped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_behind_a_failed_one_of_their_group_do_not_pass() {
        let mut guard = FifoGuard::default();
        guard.stop(Some("a"), 1);
        guard.stop(Some("a"), 2);
        guard.stop(None, 3);
        let passes = [(Some("a"), 4), (Some("b"), 5), (None, 6), (Some("a"), 7)]
            .map(|(group, number)| guard.lets_pass(group, number));
        assert_eq!(passes, [false, true, true, false]);
        let expected = Behind { failed: 1, behind: vec![4, 7] };
        assert_eq!(guard.held_up().collect::<Vec<_>>(), [("a", &expected)]);
    }
}
