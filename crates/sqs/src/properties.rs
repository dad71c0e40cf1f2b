//! Properties that hold for any attribute that a sender writes, for the fuzzers of `dev/fuzz/` and for tests.

use crate::{Attribute, Attributes, DeadLetter, Origin, is_sqs_char, origin_of_letter};

/// Checks that a note survives writing and reading again, and is written in characters that SQS accepts.
///
/// # Panics
/// Panics if the property does not hold.
pub fn note(text: &[u8]) {
    let Some(found) = DeadLetter::find(&attributes(DeadLetter::ATTRIBUTE, text), None) else { return };
    // The first write drops characters that SQS does not accept, and cuts what is too long.
    let written = written(&found);
    let again =
        DeadLetter::find(&Attributes::from([(DeadLetter::ATTRIBUTE.to_owned(), written.clone())]), None);
    let again = again.expect("a note that was written can be read");
    assert_eq!(self::written(&again), written);
    assert_eq!((found.attempts, found.error.is_empty()), (again.attempts, again.error.is_empty()));
    assert!(again.error.chars().count() <= 256, "{again:?}");
}

/// Checks that an origin survives writing and reading again, and that each return counts once.
///
/// # Panics
/// Panics if the property does not hold.
pub fn origin(text: &[u8]) {
    let Some(found) = Origin::find(&attributes(Origin::ATTRIBUTE, text)) else { return };
    let json = serde_json::to_vec(&found).expect("an origin holds a string and a number");
    assert_eq!(Origin::find(&attributes(Origin::ATTRIBUTE, &json)).as_ref(), Some(&found));
    let next = origin_of_letter("another", Some(&found));
    assert_eq!((next.message_id, next.redrives), (found.message_id, found.redrives.saturating_add(1)));
}

fn written(note: &DeadLetter) -> Attribute {
    let attribute = note.to_attribute();
    assert!(attribute.as_str().is_some_and(|text| text.chars().all(is_sqs_char)), "{attribute:?}");
    attribute
}

fn attributes(name: &str, text: &[u8]) -> Attributes {
    Attributes::from([(name.to_owned(), Attribute::text("String", String::from_utf8_lossy(text)))])
}

#[cfg(test)]
#[path = "../../../dev/fuzz/corpus.rs"]
mod corpus;

#[cfg(test)]
mod tests {
    use super::corpus::check;

    #[test]
    fn the_corpora_of_the_fuzzers_hold() {
        check("note", &[], super::note);
        check("origin", &[], super::origin);
    }
}
