//! Matches the ids of `--ids` with letters. Pure.

use std::collections::{BTreeSet, HashMap};

use super::letter::Letter;
use super::tracker::{Folding, Identity};

/// The requested ids. An id selects the letter that has it, else the letters whose message has it. A note can name any message,
/// so the latter are decided only after all letters were looked at.
#[derive(Debug)]
pub(super) struct RequestedIds {
    /// Ids that no letter has had so far.
    pub(super) missing: BTreeSet<String>,
    folding: Folding,
    /// Ids that letters have themselves, with the identity of each letter.
    own: HashMap<String, Identity>,
    /// Letters that were kept back, in the order of receipt.
    waiting: Vec<Letter>,
    /// True once all letters were looked at that could be received while those waited.
    pub(super) is_closed: bool,
}

impl RequestedIds {
    pub(super) fn new(ids: Option<&BTreeSet<String>>, folding: Folding) -> Self {
        let missing = ids.cloned().unwrap_or_default();
        Self { missing, folding, own: HashMap::new(), waiting: vec![], is_closed: false }
    }

    /// Keeps back a letter that only its message id selects, as long as a letter with that id may follow. If order matters, it
    /// also keeps back later letters of its group. Returns any other letter.
    pub(super) fn keep_back(
        &mut self,
        letter: Letter,
        group: impl for<'a> Fn(&'a Letter) -> Option<&'a str>,
    ) -> Option<Letter> {
        if self.missing.contains(&letter.id) {
            self.own.insert(letter.id.clone(), Identity::new(&letter, self.folding));
        }
        let is_early = !self.own.contains_key(&letter.id) && self.missing.contains(letter.message_id());
        let is_behind = |other: &Letter| group(&letter).is_some_and(|id| group(other) == Some(id));
        if self.is_closed || !(is_early || self.waiting.iter().any(is_behind)) {
            return Some(letter);
        }
        if !self.waiting.iter().any(|other| other.id == letter.id) {
            self.waiting.push(letter);
        }
        None
    }

    /// Counts the letters that were kept back so far.
    pub(super) fn kept_back(&self) -> usize {
        self.waiting.len()
    }

    /// Ends the wait after all letters were looked at, and returns the letters that were kept back.
    pub(super) fn close(&mut self) -> Vec<Letter> {
        self.is_closed = true;
        std::mem::take(&mut self.waiting)
    }

    pub(super) fn mark_found(&mut self, letter: &Letter) {
        self.missing.remove(&letter.id);
        self.missing.remove(letter.message_id());
    }

    /// Returns true if another letter has this one's message id, and is not its duplicate or stays.
    pub(super) fn is_taken(&self, letter: &Letter, stays: impl Fn(&str) -> bool) -> bool {
        let (id, identity) = (letter.message_id(), || Identity::new(letter, self.folding));
        let takes = |own: &Identity| stays(id) || *own != identity();
        !self.own.contains_key(&letter.id) && self.own.get(id).is_some_and(takes)
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};

    use super::*;

    fn letter(id: &str, message: Option<&str>, group: &str) -> Letter {
        let group = (MessageSystemAttributeName::MessageGroupId, group.to_owned());
        let mut letter = Letter::new(Message::builder().message_id(id).build());
        letter.system.extend([group]);
        letter.note = message.map(|message| {
            let at = std::time::SystemTime::UNIX_EPOCH;
            redrive_sqs::DeadLetter::new("rejected", at, 1, message, "orders")
        });
        letter
    }

    fn requested_with(folding: Folding, ids: &[&str]) -> RequestedIds {
        RequestedIds::new(Some(&ids.iter().map(|id| (*id).to_owned()).collect()), folding)
    }

    fn requested(ids: &[&str]) -> RequestedIds {
        requested_with(Folding::ByMessage, ids)
    }

    /// Returns the ids of the letters that were not kept back, and of those that were.
    fn order(
        mut requested: RequestedIds,
        letters: &[Letter],
        group: fn(&Letter) -> Option<&str>,
    ) -> [Vec<String>; 2] {
        let mut passed = Vec::new();
        for letter in letters {
            passed.extend(
                requested.keep_back(letter.clone(), group).inspect(|letter| requested.mark_found(letter)),
            );
        }
        let kept = requested.close();
        assert!(kept.iter().all(|letter| requested.keep_back(letter.clone(), group).is_some()));
        [passed, kept].map(|letters| letters.into_iter().map(|letter| letter.id).collect())
    }

    #[test]
    fn a_letter_that_only_its_note_names_waits_until_all_were_looked_at() {
        let letters = [letter("l", Some("m"), "a"), letter("x", None, "a"), letter("m", None, "a")];
        assert_eq!(order(requested(&["m"]), &letters, |_| None), [vec!["x", "m"], vec!["l"]]);
        assert_eq!(order(requested(&["m", "l"]), &letters, |_| None), [vec!["l", "x", "m"], vec![]]);
        assert_eq!(order(requested(&[]), &letters, |_| None), [vec!["l", "x", "m"], vec![]]);
    }

    #[test]
    fn those_behind_it_in_its_group_wait_too() {
        let [early, behind, other] =
            [letter("l", Some("m"), "a"), letter("x", None, "a"), letter("y", None, "b")];
        let letters = [early.clone(), behind, early, other];
        assert_eq!(order(requested(&["m", "x", "y"]), &letters, Letter::group), [vec!["y"], vec!["l", "x"]]);
    }

    #[test]
    fn an_id_that_a_letter_has_itself_is_taken_for_those_that_only_name_it() {
        let duplicate = letter("l", Some("m"), "");
        let another = |id: &str| Letter { body: "another".to_owned(), ..letter(id, Some("m"), "") };
        let [own, of_note, asked_for] = [letter("m", None, ""), another("l1"), another("l2")];
        for (folding, is_duplicate_another) in [(Folding::ByMessage, false), (Folding::ByLetter, true)] {
            let mut requested = requested_with(folding, &["m", "l2"]);
            assert!(!requested.is_taken(&of_note, |_| true));
            for letter in [&own, &asked_for] {
                let kept = requested.keep_back(letter.clone(), |_| None);
                kept.iter().for_each(|letter| requested.mark_found(letter));
            }
            let letters = [&own, &of_note, &asked_for, &duplicate];
            let taken = letters.map(|letter| requested.is_taken(letter, |_| false));
            assert_eq!(taken, [false, true, false, is_duplicate_another]);
            let taken = letters.map(|letter| requested.is_taken(letter, |id| id == "m"));
            assert_eq!(taken, [false, true, false, true]);
            assert!(requested.missing.is_empty());
        }
    }
}
