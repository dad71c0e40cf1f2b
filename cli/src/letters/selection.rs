//! The letters that are meant. Pure.

use std::collections::BTreeSet;
use std::time::SystemTime;

use super::condition::Conditions;
use super::letter::Letter;

#[derive(Debug, Default)]
pub(crate) struct Selection {
    pub(crate) conditions: Conditions,
    /// Those of letters, or else of their messages.
    pub(crate) ids: Option<BTreeSet<String>>,
    pub(crate) most: Option<u64>,
}

impl Selection {
    /// Whether all letters are meant.
    pub(crate) fn is_all(&self) -> bool {
        self.conditions.is_empty() && self.ids.is_none()
    }

    /// Which part of the letters is meant, in words for people: `up to 5 of the chosen ones of the`.
    pub(crate) fn share(&self) -> String {
        let most = self.most.map(|most| format!("up to {most} of ")).unwrap_or_default();
        most + if self.is_all() { "the" } else { "the chosen ones of the" }
    }

    /// Whether a letter is meant by its id, and not only by what it is like.
    pub(super) fn names(&self, letter: &Letter) -> bool {
        let is_named = |ids: &BTreeSet<String>| ids.contains(&letter.id) || ids.contains(letter.message_id());
        self.ids.as_ref().is_some_and(is_named)
    }

    pub(super) fn wants(&self, letter: &Letter, now: SystemTime) -> bool {
        (self.ids.is_none() || self.names(letter)) && self.conditions.holds(letter, now)
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_sqs::types::Message;

    use super::*;

    #[test]
    fn a_letter_is_meant_by_its_id_where_ids_are_given() {
        let letter = |id: &str| Letter::new(Message::builder().message_id(id).build());
        let ids = Some(BTreeSet::from(["a".to_owned()]));
        let selection = Selection { ids, ..Selection::default() };
        let wants = |selection: &Selection, id| selection.wants(&letter(id), SystemTime::UNIX_EPOCH);
        assert_eq!([wants(&selection, "a"), wants(&selection, "b")], [true, false]);
        assert!(wants(&Selection::default(), "b") && Selection::default().is_all() && !selection.is_all());
    }
}
