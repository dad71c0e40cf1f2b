//! Counts letters by result. Pure.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::letter_run::Operation;
use super::report::Report;
use super::tracker::LeftReason;
use crate::counted::thousands;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Sent and deleted, or only deleted if the operation is a delete.
    pub(crate) done: u64,
    /// Deleted by an operation that also sends.
    pub(crate) deleted: u64,
    /// Deleted because another letter of the message was sent.
    pub(crate) duplicates: u64,
    /// Deleted because an earlier run had sent them.
    pub(crate) already_sent: u64,
    pub(crate) failed: u64,
    /// Failed ones that may have been sent.
    pub(crate) perhaps_sent: u64,
    /// Sent, but not deleted.
    pub(crate) possible_duplicates: u64,
    /// Possible duplicates that this run sent.
    pub(crate) sent_not_deleted: u64,
    /// Sent and deleted after another consumer may have received them, or an earlier run may have sent them.
    pub(crate) perhaps_taken: u64,
    pub(crate) left: BTreeMap<LeftReason, u64>,
    /// Left ones whose ids were requested.
    pub(crate) named_but_left: u64,
    pub(crate) without_origin: u64,
    /// Chosen by a dry run although an earlier run may have sent them.
    pub(crate) sent_before: u64,
    /// Sent or to be sent with an origin that nobody has checked.
    pub(crate) unchecked_origins: u64,
}

impl Tally {
    /// Counts a result, and returns the number of its kind so far.
    pub(super) fn count(&mut self, what: Report<'_>, operation: Operation) -> u64 {
        self.perhaps_sent += u64::from(matches!(what, Report::PerhapsSent(_)));
        self.perhaps_taken += u64::from(matches!(what, Report::PerhapsTaken(_) | Report::SentAgain { .. }));
        self.sent_not_deleted += u64::from(matches!(what, Report::NotDeleted { by_this_run: true, .. }));
        let count = match what {
            Report::Deleted if operation == Operation::Ask => &mut self.deleted,
            Report::Chosen
            | Report::Sent(_)
            | Report::SentAgain { .. }
            | Report::Deleted
            | Report::PerhapsTaken(_) => &mut self.done,
            Report::Duplicate => &mut self.duplicates,
            Report::AlreadySent(_) => &mut self.already_sent,
            Report::Left(why) => self.left.entry(why).or_default(),
            Report::NamedButLeft(_) => &mut self.named_but_left,
            Report::Failed(_) | Report::PerhapsSent(_) => &mut self.failed,
            Report::NotDeleted { .. } => &mut self.possible_duplicates,
            Report::WithoutOrigin => &mut self.without_origin,
            Report::SentBefore(_) => &mut self.sent_before,
        };
        *count += 1;
        *count
    }

    /// Formats the totals on one line for people.
    pub(crate) fn sum(&self, operation: Operation, dry_run: bool, from: &str, to: &str) -> String {
        let done = thousands(self.done);
        let mut parts = vec![match (operation, dry_run) {
            (Operation::Send | Operation::Ask, false) => format!("{done} sent from {from} to {to}"),
            (Operation::Send | Operation::Ask, true) => format!("{done} would be sent from {from} to {to}"),
            (Operation::Delete, false) => format!("{done} deleted from {from}"),
            (Operation::Delete, true) => format!("{done} would be deleted from {from}"),
        }];
        let mut add = |count: u64, words: &str| {
            if count > 0 {
                parts.push(format!("{} {words}", thousands(count)));
            }
        };
        add(self.deleted, "deleted");
        let duplicates = if self.duplicates == 1 { "duplicate" } else { "duplicates" };
        add(
            self.duplicates,
            &format!("{duplicates} {}", if dry_run { "would be deleted" } else { "deleted" }),
        );
        let deleted = if dry_run { "would be" } else { "were" };
        add(self.already_sent, &format!("sent by an earlier run {deleted} deleted"));
        add(self.possible_duplicates, "sent but not deleted");
        add(self.failed, "failed");
        for (why, count) in &self.left {
            add(*count, &why.to_string());
        }
        add(self.without_origin, "without redrive.origin");
        parts.join(", ")
    }

    pub(crate) fn json(&self) -> Value {
        let left: BTreeMap<String, u64> =
            self.left.iter().map(|(why, count)| (why.to_string(), *count)).collect();
        json!({
            "done": self.done,
            "duplicates": self.duplicates,
            "already_sent": self.already_sent,
            "failed": self.failed,
            "perhaps_sent": self.perhaps_sent,
            "possible_duplicates": self.possible_duplicates + self.perhaps_taken,
            "left": left,
            "without_origin": self.without_origin,
        })
    }

    /// Describes the problems, if there were any.
    pub(crate) fn problem(&self, operation: Operation) -> Option<String> {
        let mut parts = Vec::new();
        let mut add = |count: u64, one: &str, more: &str| {
            if count > 0 {
                parts.push(format!("{} {}", thousands(count), if count == 1 { one } else { more }));
            }
        };
        match operation {
            Operation::Send => add(self.failed, "letter was not sent", "letters were not sent"),
            Operation::Delete => add(self.failed, "letter was not deleted", "letters were not deleted"),
            Operation::Ask => add(
                self.failed,
                "letter was neither sent nor deleted",
                "letters were neither sent nor deleted",
            ),
        }
        let again = self.left.get(&LeftReason::CameBack).copied().unwrap_or_default();
        add(again, "letter failed again", "letters failed again");
        add(self.named_but_left, "letter of --ids stays", "letters of --ids stay");
        let behind = self.left.get(&LeftReason::BehindInGroup).filter(|_| operation != Operation::Ask);
        add(
            behind.copied().unwrap_or_default().saturating_sub(self.named_but_left),
            "selected letter stays behind another of its group",
            "selected letters stay behind others of their groups",
        );
        let twice = self.possible_duplicates + self.perhaps_sent + self.perhaps_taken;
        add(twice, "message may arrive twice", "messages may arrive twice");
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// Returns true if no letter was selected.
    pub(crate) fn has_no_match(&self) -> bool {
        let selected = Self { left: BTreeMap::new(), ..self.clone() };
        selected == Self::default()
            && self.left.keys().all(|why| matches!(why, LeftReason::NotWanted | LeftReason::NoNote))
    }

    pub(super) fn sent_and_deleted(&self, operation: Operation) -> (u64, u64) {
        match operation {
            Operation::Send | Operation::Ask => {
                (self.done + self.sent_not_deleted, self.deleted + self.already_sent + self.duplicates)
            }
            Operation::Delete => (0, self.done),
        }
    }

    /// Describes what was done before the run ended early, unless it is a dry run.
    pub(crate) fn so_far(&self, operation: Operation, dry_run: bool) -> Option<String> {
        let (sent, deleted) = self.sent_and_deleted(operation);
        let letters =
            |count: u64| if count == 1 { "1 letter was".to_owned() } else { format!("{count} letters were") };
        let done = match (operation, sent, deleted) {
            _ if dry_run => return None,
            (Operation::Delete, _, 0) => "nothing was deleted".to_owned(),
            (Operation::Delete, _, deleted) => format!("{} deleted before", letters(deleted)),
            (_, 0, 0) => "nothing was sent".to_owned(),
            (_, 0, deleted) => format!("{} deleted and none sent before", letters(deleted)),
            (_, sent, 0) => format!("{} sent before", letters(sent)),
            (_, sent, deleted) => format!("{} sent and {deleted} deleted before", letters(sent)),
        };
        Some(format!("{done}; run it again for the rest"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_early_end_is_reported_with_the_counts_and_the_next_step() {
        let so_far = |deed, done, deleted| {
            let tally = Tally { done, deleted, ..Tally::default() };
            let so_far = tally.so_far(deed, false).unwrap();
            so_far.strip_suffix("; run it again for the rest").unwrap().to_owned()
        };
        assert_eq!(so_far(Operation::Send, 0, 0), "nothing was sent");
        assert_eq!(so_far(Operation::Send, 1, 0), "1 letter was sent before");
        assert_eq!(so_far(Operation::Ask, 0, 2), "2 letters were deleted and none sent before");
        assert_eq!(so_far(Operation::Ask, 3, 2), "3 letters were sent and 2 deleted before");
        assert_eq!(so_far(Operation::Delete, 0, 0), "nothing was deleted");
        assert_eq!(so_far(Operation::Delete, 20, 0), "20 letters were deleted before");
        let not_deleted = Tally { possible_duplicates: 10, sent_not_deleted: 10, ..Tally::default() };
        assert!(
            not_deleted.so_far(Operation::Send, false).unwrap().starts_with("10 letters were sent before")
        );
        assert_eq!(Tally::default().so_far(Operation::Send, true), None);
    }

    #[test]
    fn programs_read_each_count_and_people_what_was_not_done() {
        let tally = Tally {
            done: 1,
            duplicates: 2,
            already_sent: 9,
            failed: 3,
            perhaps_sent: 4,
            possible_duplicates: 5,
            perhaps_taken: 6,
            left: BTreeMap::from([(LeftReason::NotWanted, 7)]),
            without_origin: 8,
            ..Tally::default()
        };
        let expected = json!({
            "done": 1, "duplicates": 2, "already_sent": 9, "failed": 3, "perhaps_sent": 4, "possible_duplicates": 11,
            "left": { "not selected": 7 }, "without_origin": 8,
        });
        assert_eq!(tally.json(), expected);
    }
}
