//! Reads the notes of dead letters, and sends letters back. Only `retry` is not pure.

use std::collections::BTreeMap;

use redrive_sqs::origin_of_letter;
use redrive_sqs::{DeadLetter, Origin};

use crate::{AttributeValue, Control, Letter, MessageAttribute, NewMessage, ResendError, SentMessage};

type Attributes = BTreeMap<String, MessageAttribute>;

/// Returns the origin of a message that was a dead letter before.
pub(super) fn origin(attributes: &Attributes) -> Option<Origin> {
    serde_json::from_str(text(attributes, Origin::ATTRIBUTE)?).ok()
}

pub(super) fn text<'a>(attributes: &'a Attributes, name: &str) -> Option<&'a str> {
    match &attributes.get(name)?.value {
        AttributeValue::Text(text) => Some(text),
        AttributeValue::Binary(_) => None,
    }
}

/// Returns true if a letter's note names this message.
fn is_written_for(message_id: &str, letter: &Letter<'_>) -> bool {
    note(letter).is_some_and(|note| note.message_id == message_id)
}

fn note(letter: &Letter<'_>) -> Option<DeadLetter> {
    DeadLetter::read(text(letter.attributes, DeadLetter::ATTRIBUTE)?, letter.moved_from)
}

/// Returns the note of the letter that the function sent to the dead-letter queue for a message. Notes in other queues may
/// say anything.
pub(super) fn note_for(message_id: &str, dead_letter_queue: &str, control: &Control) -> Option<DeadLetter> {
    let note = |sent: &SentMessage| {
        let text = text(&sent.message.attributes, DeadLetter::ATTRIBUTE)?;
        DeadLetter::read(text, None).filter(|note| note.message_id == message_id)
    };
    let found = control.find_message(|_, sent| sent.queue == dead_letter_queue && note(sent).is_some());
    found.as_ref().and_then(note)
}

/// Prepares a letter for its queue: removes the note, and adds the origin. It gets a new deduplication id, since the queue
/// may still remember the old one.
fn send_back(letter: &Letter<'_>, message: &mut NewMessage) {
    let note = note(letter);
    let message_id = note.as_ref().map_or(letter.id, |note| &note.message_id);
    let origin = origin_of_letter(message_id, origin(letter.attributes).as_ref());
    message.attributes.remove(DeadLetter::ATTRIBUTE);
    let json = serde_json::to_string(&origin).expect("an origin is a map with text keys");
    message.attributes.insert(Origin::ATTRIBUTE.to_owned(), MessageAttribute::text(&json));
    if message.deduplication_id.is_some() {
        // A sender can invent an origin, so the letter's own id keeps this id unique.
        message.deduplication_id = Some(format!("{}-{}", letter.id, origin.redrives));
    }
}

/// Sends the letter of a message back to its queue, and returns its new id. SQS keeps the id of messages that it moves. A
/// note can name any message, so it is checked second.
pub(super) fn retry(
    control: &Control,
    dead_letter_queue: &str,
    queue: &str,
    message_id: &str,
) -> Result<String, ResendError> {
    let moved = control.resend(dead_letter_queue, queue, |letter| letter.id == message_id, send_back);
    match moved {
        Err(ResendError::NotThere(_)) => {
            let is_it = |letter: &Letter<'_>| is_written_for(message_id, letter);
            control.resend(dead_letter_queue, queue, is_it, send_back)
        }
        sent_or_refused => sent_or_refused,
    }
}

#[cfg(test)]
mod tests {
    use crate::{Config, Local, QueueConfig};

    use super::*;

    const NOTE: &str = r#"{"reason":"rejected","error":"no","exception":"E","failed_at":"2026-11-21T07:50:00.000Z",
        "attempts":1,"message_id":"first","source":"arn:aws:sqs:eu-central-1:123456789012:orders"}"#;

    fn message(attributes: &[(&str, &str)]) -> NewMessage {
        let attribute = |(name, value): &(&str, &str)| ((*name).to_owned(), MessageAttribute::text(value));
        let attributes = attributes.iter().map(attribute).collect();
        NewMessage { body: "b".to_owned(), attributes, ..NewMessage::default() }
    }

    /// Returns the message that is sent for a letter, and its origin.
    fn sent_back(id: &str, moved_from: Option<&str>, message: &NewMessage) -> (NewMessage, Origin) {
        let mut sent = message.clone();
        send_back(&Letter { id, moved_from, attributes: &message.attributes }, &mut sent);
        let origin = origin(&sent.attributes).unwrap();
        (sent, origin)
    }

    #[test]
    fn a_letter_goes_back_with_its_origin_instead_of_its_note() {
        let letter = message(&[(DeadLetter::ATTRIBUTE, NOTE), ("channel", "web")]);
        let (sent, origin) = sent_back("letter", None, &letter);
        let names: Vec<&str> = sent.attributes.keys().map(String::as_str).collect();
        assert_eq!(names, ["channel", Origin::ATTRIBUTE]);
        assert_eq!((origin.message_id.as_str(), origin.redrives), ("first", 1));
    }

    #[test]
    fn a_letter_that_sqs_moved_keeps_its_own_id_as_origin() {
        let forged = message(&[(DeadLetter::ATTRIBUTE, NOTE)]);
        let (sent, origin) = sent_back("own", Some("arn:aws:sqs:eu-central-1:123456789012:orders"), &forged);
        assert_eq!((origin.message_id.as_str(), sent.attributes.len()), ("own", 1));
    }

    #[test]
    fn a_letter_that_sqs_moved_keeps_its_first_id_through_all_lives() {
        let mut letter = message(&[(Origin::ATTRIBUTE, r#"{"message_id":"first","redrives":1}"#)]);
        letter.deduplication_id = Some("a".to_owned());
        let (sent, origin) = sent_back("second", Some("arn"), &letter);
        assert_eq!((origin.message_id.as_str(), origin.redrives), ("first", 2));
        assert_eq!(sent.deduplication_id.as_deref(), Some("second-2"));
    }

    #[tokio::test]
    async fn a_letter_with_the_id_goes_before_one_whose_note_names_it() {
        let queue = |name: &str| QueueConfig { name: name.to_owned(), attributes: BTreeMap::new() };
        let queues = vec![queue("orders"), queue("dead")];
        let local = Local::start(Config { queues, ..Config::default() }).await.unwrap();
        let control = local.control();
        control.keep_messages(1 << 20);
        let note = |id: &str| NOTE.replace("first", id);
        let forge = |id: &str| message(&[(DeadLetter::ATTRIBUTE, &note(id))]);
        control.send("orders", forge("first")).unwrap();
        assert_eq!(note_for("first", "dead", &control), None);
        let own = control.send("dead", message(&[])).unwrap();
        control.send("dead", forge(&own)).unwrap();
        control.send("dead", forge("first")).unwrap();
        assert_eq!(note_for("first", "dead", &control).unwrap().reason, "rejected");

        let body = |id: String| control.message(&id).unwrap().message;
        let sent = body(retry(&control, "dead", "orders", &own).unwrap());
        assert_eq!(origin(&sent.attributes).unwrap().message_id, own);
        assert!(retry(&control, "dead", "orders", "first").is_ok());
        assert!(retry(&control, "dead", "orders", "nobody").is_err());
        local.stop().await;
    }
}
