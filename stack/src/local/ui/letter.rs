//! Dead letters: what is written beside them, and the way back. Pure but for the last.

use std::collections::BTreeMap;

use redrive::{DeadLetter, Origin};
use redrive_local::{AttributeValue, Control, MessageAttribute, NewMessage, ResendError, SentMessage};

type Attributes = BTreeMap<String, MessageAttribute>;

/// The note that says why a message is a dead letter.
pub(super) fn note(attributes: &Attributes) -> Option<DeadLetter> {
    serde_json::from_str(text(attributes, DeadLetter::ATTRIBUTE)?).ok()
}

/// Where a message began that was a dead letter before.
pub(super) fn origin(attributes: &Attributes) -> Option<Origin> {
    serde_json::from_str(text(attributes, Origin::ATTRIBUTE)?).ok()
}

pub(super) fn text<'a>(attributes: &'a Attributes, name: &str) -> Option<&'a str> {
    match &attributes.get(name)?.value {
        AttributeValue::Text(text) => Some(text),
        AttributeValue::Binary(_) => None,
    }
}

/// Whether a message of a dead-letter queue is the letter of this one: SQS keeps the id of what it moves, and what a
/// function writes has a note.
pub(super) fn is_letter_of(message_id: &str, id: &str, attributes: &Attributes) -> bool {
    id == message_id || note(attributes).is_some_and(|note| note.message_id == message_id)
}

/// The letter of a message as the function wrote it.
pub(super) fn written_for(message_id: &str, control: &Control) -> Option<SentMessage> {
    control.find_message(|_, sent| {
        note(&sent.message.attributes).is_some_and(|note| note.message_id == message_id)
    })
}

/// Makes of a letter what its queue is sent: without the note, with the origin. The deduplication id is a new one, since
/// the queue may still remember the old one.
pub(super) fn send_back(id: &str, letter: &mut NewMessage) {
    let note = note(&letter.attributes);
    let message_id = note.as_ref().map_or(id, |note| &note.message_id);
    let origin = Origin::of_letter(message_id, origin(&letter.attributes).as_ref());
    letter.attributes.remove(DeadLetter::ATTRIBUTE);
    let json = serde_json::to_string(&origin).expect("an origin is a map with text keys");
    letter.attributes.insert(Origin::ATTRIBUTE.to_owned(), MessageAttribute::text(&json));
    if letter.deduplication_id.is_some() {
        letter.deduplication_id = Some(format!("{}-{}", origin.message_id, origin.redrives));
    }
}

/// Sends the letter of a message back to its queue, and returns the id that it has there.
pub(super) fn retry(
    control: &Control,
    dead_letter_queue: &str,
    queue: &str,
    message_id: &str,
) -> Result<String, ResendError> {
    control.resend(
        dead_letter_queue,
        queue,
        |id, attributes| is_letter_of(message_id, id, attributes),
        send_back,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTE: &str = r#"{"reason":"rejected","error":"no","exception":"E","failed_at":"2026-11-21T07:50:00.000Z",
        "attempts":1,"message_id":"first","source":"arn:aws:sqs:eu-central-1:123456789012:orders"}"#;

    fn letter(attributes: &[(&str, &str)]) -> NewMessage {
        let attribute = |(name, value): &(&str, &str)| ((*name).to_owned(), MessageAttribute::text(value));
        NewMessage { attributes: attributes.iter().map(attribute).collect(), ..NewMessage::default() }
    }

    #[test]
    fn a_letter_goes_back_with_its_origin_instead_of_its_note() {
        let mut sent = letter(&[(DeadLetter::ATTRIBUTE, NOTE), ("channel", "web")]);
        assert!(is_letter_of("first", "letter", &sent.attributes));
        assert!(!is_letter_of("second", "letter", &sent.attributes));
        send_back("letter", &mut sent);
        let names: Vec<&str> = sent.attributes.keys().map(String::as_str).collect();
        assert_eq!(names, ["channel", Origin::ATTRIBUTE]);
        let origin = origin(&sent.attributes).unwrap();
        assert_eq!((origin.message_id.as_str(), origin.redrives), ("first", 1));
    }

    #[test]
    fn a_letter_that_sqs_moved_keeps_its_first_id_through_all_lives() {
        let mut sent = letter(&[(Origin::ATTRIBUTE, r#"{"message_id":"first","redrives":1}"#)]);
        sent.deduplication_id = Some("a".to_owned());
        assert!(is_letter_of("second", "second", &sent.attributes));
        send_back("second", &mut sent);
        let origin = origin(&sent.attributes).unwrap();
        assert_eq!((origin.message_id.as_str(), origin.redrives), ("first", 2));
        assert_eq!(sent.deduplication_id.as_deref(), Some("first-2"));
    }
}
