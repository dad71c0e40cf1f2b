//! Selects letters by condition, id and number. Pure.

use std::collections::BTreeSet;
use std::time::SystemTime;

use super::condition::{ConditionFilter, Conditions, Verdict};
use super::letter::Letter;
use super::run::Foreseen;
use crate::counted::thousands;

#[derive(Debug, Default)]
pub(crate) struct Selection {
    pub(crate) conditions: Conditions,
    /// Ids of letters, or else of their messages.
    pub(crate) ids: Option<BTreeSet<String>>,
    pub(crate) most: Option<u64>,
}

impl Selection {
    /// Returns true if all letters are selected.
    pub(crate) fn is_all(&self) -> bool {
        self.conditions.is_empty() && self.ids.is_none()
    }

    /// Describes the selection from a queue with `count` letters: `up to 5 of the 10 letters in orders-dead`, `the letters with
    /// reason = panic (of 10 in orders-dead)`.
    pub(crate) fn words(&self, count: u64, queue: &str) -> String {
        let letters = if count == 1 { "letter" } else { "letters" };
        let count = thousands(count);
        let of_ids = if self.ids.is_some() { " of --ids" } else { "" };
        let with = if self.conditions.is_empty() { "" } else { " with " };
        let conditions = self.conditions.words();
        match (self.is_all(), self.most) {
            (true, None) => format!("the {count} {letters} in {queue}"),
            (true, Some(most)) => format!("up to {} of the {count} {letters} in {queue}", thousands(most)),
            (false, None) => format!("the letters{of_ids}{with}{conditions} (of {count} in {queue})"),
            (false, Some(most)) => {
                format!("up to {} letters{of_ids}{with}{conditions} (of {count} in {queue})", thousands(most))
            }
        }
    }

    /// Describes a counted selection: `833 of 4,900 letters in orders-dead`, and `, those with reason = panic`.
    pub(crate) fn counted_words(&self, chosen: Foreseen, count: u64, queue: &str) -> [String; 2] {
        let Foreseen { letters: chosen, is_least, .. } = chosen;
        let count = count.max(chosen);
        let least = if is_least { "at least " } else { "" };
        let letters = if count == 1 { "letter" } else { "letters" };
        let of_ids = if self.ids.is_some() { " of --ids" } else { "" };
        let with = if self.conditions.is_empty() { "" } else { " with " };
        [
            format!("{least}{} of {} {letters} in {queue}", thousands(chosen), thousands(count)),
            match self.is_all() {
                true => String::new(),
                false => format!(", those{of_ids}{with}{}", self.conditions.words()),
            },
        ]
    }

    /// Returns true if `--ids` names the letter.
    pub(super) fn names(&self, letter: &Letter) -> bool {
        let is_named = |ids: &BTreeSet<String>| ids.contains(&letter.id) || ids.contains(letter.message_id());
        self.ids.as_ref().is_some_and(is_named)
    }

    /// Judges a letter by its ids, and then by the conditions in `filter`.
    pub(super) fn judge(&self, letter: &Letter, filter: &mut ConditionFilter, now: SystemTime) -> Verdict {
        match self.ids.is_none() || self.names(letter) {
            true => filter.judge(letter, now),
            false => Verdict::Fails,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_names_the_letters_that_are_meant() {
        let words = |ids: Option<BTreeSet<String>>, most, count| {
            Selection { ids, most, ..Selection::default() }.words(count, "dead")
        };
        let ids = || Some(BTreeSet::new());
        assert_eq!(words(None, None, 1), "the 1 letter in dead");
        assert_eq!(words(None, Some(2), 4_900), "up to 2 of the 4,900 letters in dead");
        assert_eq!(words(ids(), None, 10), "the letters of --ids (of 10 in dead)");
        assert_eq!(words(ids(), Some(2), 10), "up to 2 letters of --ids (of 10 in dead)");
    }

    #[test]
    fn a_question_names_the_number_of_letters_that_are_meant() {
        let words = |letters, is_least| {
            let selection = Selection { ids: Some(BTreeSet::new()), ..Selection::default() };
            selection.counted_words(Foreseen { letters, already_sent: 0, is_least }, 4_900, "dead").concat()
        };
        assert_eq!(words(833, false), "833 of 4,900 letters in dead, those of --ids");
        assert_eq!(words(8, true), "at least 8 of 4,900 letters in dead, those of --ids");
        assert_eq!(
            words(5_000, false),
            "5,000 of 5,000 letters in dead, those of --ids",
            "SQS counts approximately"
        );
    }
}
