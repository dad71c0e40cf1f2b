//! Tracks letters that were sent back, and recognizes those that failed again. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::SystemTime;

use redrive_sqs::Origin;

use super::kinds::is_same_error;
use super::letter::Letter;

/// The letters that were sent. One that failed again has the id under which it was sent: SQS keeps it when it moves a message,
/// and redrive writes it into the note. A consumer that sends another message in its place may keep `redrive.origin`. Without
/// either, nobody can recognize it.
#[derive(Debug, Default)]
pub(crate) struct SentBack {
    /// Start of the first stage.
    pub(crate) began: Option<SystemTime>,
    /// Sent letters by the ids of the new messages.
    letters: HashMap<String, SentLetter>,
    /// Ids of the new messages by their origins.
    origins: BTreeMap<(String, u32), String>,
    /// New errors by the ids of messages that failed again.
    returns: BTreeMap<String, NewError>,
}

#[derive(Debug)]
struct SentLetter {
    /// Ids that select it with `--ids`.
    ids: [String; 2],
    reason: String,
    error: String,
}

/// The error of a letter that failed again, compared with its former one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NewError {
    Same,
    Other,
    /// SQS moved it without a note.
    Unknown,
}

/// Counts of letters that failed again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Returned {
    pub(crate) same_error: usize,
    pub(crate) other_error: usize,
    pub(crate) unknown_error: usize,
}

impl SentBack {
    /// Adds a letter that was sent under this id.
    pub(crate) fn sent(&mut self, letter: &Letter, sent_as: &str) {
        let Origin { message_id, redrives, .. } = letter.next_origin();
        self.origins.insert((message_id, redrives), sent_as.to_owned());
        let sent = SentLetter {
            ids: [letter.id.clone(), letter.message_id().to_owned()],
            reason: letter.reason().to_owned(),
            error: letter.error().to_owned(),
        };
        self.letters.insert(sent_as.to_owned(), sent);
    }

    /// Returns true if a letter is one that failed again, and records its error.
    pub(crate) fn note_return(&mut self, letter: &Letter) -> bool {
        // Another user may have sent it back again, which raises the number.
        let of_origin = |origin: &Origin| {
            let [first, last] = [0, origin.redrives].map(|redrives| (origin.message_id.clone(), redrives));
            self.origins.range(first..=last).next_back().map(|(_, id)| id.as_str())
        };
        let by_origin = letter.origin.as_ref().and_then(of_origin);
        let mut ids = [letter.message_id(), &letter.id].into_iter().chain(by_origin);
        let Some((id, sent)) = ids.find_map(|id| self.letters.get_key_value(id)) else { return false };
        self.returns.insert(id.clone(), sent.compare(letter));
        true
    }

    pub(crate) fn len(&self) -> usize {
        self.letters.len()
    }

    pub(crate) fn has_returns(&self) -> bool {
        !self.returns.is_empty()
    }

    pub(crate) fn returned(&self) -> Returned {
        let count = |kind| self.returns.values().filter(|other| **other == kind).count();
        Returned {
            same_error: count(NewError::Same),
            other_error: count(NewError::Other),
            unknown_error: count(NewError::Unknown),
        }
    }

    /// Removes the letters that were sent from the requested ids.
    pub(crate) fn remove_from(&self, ids: &mut BTreeSet<String>) {
        self.letters.values().flat_map(|sent| &sent.ids).for_each(|id| _ = ids.remove(id));
    }
}

impl SentLetter {
    fn compare(&self, letter: &Letter) -> NewError {
        match &letter.note {
            None => NewError::Unknown,
            Some(note) if note.reason == self.reason && is_same_error(&note.error, &self.error) => {
                NewError::Same
            }
            Some(_) => NewError::Other,
        }
    }
}

impl Returned {
    pub(crate) fn count(self) -> usize {
        self.same_error + self.other_error + self.unknown_error
    }

    /// Formats the counts as `7 of 10 letters came back: 6 with the same error, 1 with another error`.
    pub(crate) fn words(self, sent: usize) -> String {
        let came_back = format!("{} of {} came back", self.count(), crate::tell::letters(sent));
        let kinds = [
            (self.same_error, "with the same error"),
            (self.other_error, "with another error"),
            (self.unknown_error, "without a note (dlq list --logs looks for their errors)"),
        ];
        let kinds: Vec<String> = kinds
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, how)| format!("{count} {how}"))
            .collect();
        if kinds.is_empty() { came_back } else { format!("{came_back}: {}", kinds.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_sqs::types::{Message, MessageAttributeValue};
    use serde_json::json;

    use super::*;

    fn letter(id: &str, attributes: &[(&str, serde_json::Value)]) -> Letter {
        let message = attributes.iter().fold(Message::builder().message_id(id), |message, (name, value)| {
            let value = MessageAttributeValue::builder().data_type("String").string_value(value.to_string());
            message.message_attributes(*name, value.build().unwrap())
        });
        Letter::new(message.build())
    }

    fn note(message_id: &str, reason: &str, error: &str) -> (&'static str, serde_json::Value) {
        let note = json!({
            "reason": reason, "error": error, "exception": "", "failed_at": "2026-11-21T07:50:00.000Z",
            "attempts": 3, "message_id": message_id, "source": "arn:aws:sqs:eu-west-1:123456789012:orders",
        });
        ("redrive.dead-letter", note)
    }

    #[test]
    fn a_letter_that_came_back_is_known_by_its_note_its_id_or_its_origin() {
        let origin = |redrives: u32| ("redrive.origin", json!({ "message_id": "m1", "redrives": redrives }));
        let same = |same_error| Returned { same_error, ..Returned::default() };
        let unknown = Returned { unknown_error: 1, ..Returned::default() };
        for (back, expected) in [
            (letter("l2", &[note("new", "panic", "no card 8")]), same(1)),
            (letter("l2", &[note("new", "panic", "no bank")]), Returned { other_error: 1, ..same(0) }),
            (letter("l2", &[note("new", "timeout", "no card 7")]), Returned { other_error: 1, ..same(0) }),
            (letter("new", &[]), unknown),
            (letter("l2", &[origin(1)]), unknown),
            (letter("l2", &[origin(2)]), unknown),
            (letter("l2", &[origin(0)]), same(0)),
            (letter("l3", &[note("newer", "panic", "no card 9"), origin(2)]), same(1)),
            (letter("l1", &[note("m1", "panic", "no card 7")]), same(0)),
        ] {
            let mut sent_back = SentBack::default();
            sent_back.sent(&letter("l1", &[note("m1", "panic", "no card 7")]), "new");
            assert_eq!(sent_back.note_return(&back), expected.count() == 1, "{back:?}");
            sent_back.note_return(&back);
            assert_eq!(sent_back.returned(), expected, "{back:?}");
        }
        assert_eq!(Returned::default().words(1), "0 of 1 letter came back");
        let all = Returned { same_error: 6, other_error: 2, unknown_error: 1 };
        assert_eq!(
            all.words(10),
            "9 of 10 letters came back: 6 with the same error, 2 with another error, 1 without a note (dlq list --logs \
             looks for their errors)"
        );
    }
}
