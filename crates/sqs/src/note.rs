//! The note that redrive attaches to a dead letter: why it failed, in words that an operator can act on.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::attribute::{Attribute, Attributes};
use crate::message::{MAX_ATTRIBUTES, MAX_BYTES, is_sqs_char, size};

/// The longest error text in a note, in characters.
const ERROR_CHARACTERS: usize = 256;

/// Why a message is in the dead-letter queue: the JSON of its attribute `redrive.dead-letter`.
///
/// Letters that redrive wrote have it. A message that SQS moved by the redrive policy has none. A sender can set this
/// attribute too, so it proves nothing by itself: [`DeadLetter::find`] tells the two apart.
///
/// ```
/// # use redrive_sqs as redrive;
/// use redrive::DeadLetter;
///
/// let note = r#"{"reason":"rejected","error":"card refused","exception":"orders::Refused",
///     "failed_at":"2026-11-21T07:50:00.000Z","attempts":1,"message_id":"a1",
///     "source":"arn:aws:sqs:eu-central-1:123456789012:orders"}"#;
/// let note: DeadLetter = serde_json::from_str(note)?;
/// assert_eq!(note.reason, "rejected");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DeadLetter {
    /// `rejected`, `malformed`, `panic`, `exhausted`, `outage`, `not-started`, `interrupted`, `in-progress`, `key-reused`,
    /// `origin-sender`, `idempotency-store`, or the code given to `Failure::with_reason`.
    pub reason: String,
    /// The error and its sources, cut to 256 characters.
    #[serde(default)]
    pub error: String,
    /// The type of the error. For a boxed or anyhow error, the first name in its `Debug` output.
    #[serde(default)]
    pub exception: String,
    /// When it failed for the last time.
    #[serde(with = "rfc3339")]
    pub failed_at: SystemTime,
    /// How often the message was delivered.
    pub attempts: u32,
    /// The message id in the source queue. It identifies the letter if it arrives twice.
    pub message_id: String,
    /// The ARN of the source queue.
    pub source: String,
    /// When it was sent to the source queue.
    #[serde(default, with = "rfc3339::option", skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<SystemTime>,
    /// The Lambda function that gave up on it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub function: String,
    /// The request id of its last invocation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub request_id: String,
}

impl DeadLetter {
    /// The message attribute that carries the note.
    pub const ATTRIBUTE: &str = "redrive.dead-letter";

    /// Creates a note about a message that was delivered `attempts` times, without the other fields.
    #[must_use]
    pub fn new(reason: &str, failed_at: SystemTime, attempts: u32, message_id: &str, source: &str) -> Self {
        Self {
            reason: reason.to_owned(),
            error: String::new(),
            exception: String::new(),
            failed_at,
            attempts,
            message_id: message_id.to_owned(),
            source: source.to_owned(),
            sent_at: None,
            function: String::new(),
            request_id: String::new(),
        }
    }

    /// Returns the note of a letter with these attributes, if redrive wrote it. `moved_from` is the letter's system attribute
    /// `DeadLetterQueueSourceArn`.
    ///
    /// ```
    /// # use redrive_sqs as redrive;
    /// use redrive::{Attribute, Attributes, DeadLetter};
    ///
    /// let note = r#"{"reason":"rejected","failed_at":"2026-11-21T07:50:00Z","attempts":1,"message_id":"a1","source":"s"}"#;
    /// let attributes = Attributes::from([(DeadLetter::ATTRIBUTE.into(), Attribute::text("String", note))]);
    /// assert_eq!(DeadLetter::find(&attributes, None).unwrap().reason, "rejected");
    /// let moved_from = "arn:aws:sqs:eu-central-1:123456789012:orders";
    /// assert_eq!(DeadLetter::find(&attributes, Some(moved_from)), None);
    /// ```
    #[must_use]
    pub fn find(attributes: &Attributes, moved_from: Option<&str>) -> Option<Self> {
        Self::read(attributes.get(Self::ATTRIBUTE)?.as_str()?, moved_from)
    }

    /// Reads the note from the attribute's text, by the same rules as [`DeadLetter::find`].
    ///
    /// SQS sets `DeadLetterQueueSourceArn` on messages that its redrive policy moves, with the sender's attributes, and never
    /// on messages that were sent to the dead-letter queue. If a message has both, its sender wrote the note.
    /// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html>
    #[must_use]
    pub fn read(text: &str, moved_from: Option<&str>) -> Option<Self> {
        serde_json::from_str(text).ok().filter(|_| moved_from.is_none())
    }

    /// Returns the note as a message attribute: JSON of characters that SQS accepts.
    /// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html>
    #[must_use]
    pub fn to_attribute(&self) -> Attribute {
        let cut = Self { error: self.error.chars().take(ERROR_CHARACTERS).collect(), ..self.clone() };
        let json = serde_json::to_string(&cut).expect("a note holds strings and numbers only");
        Attribute::text("String", json.replace(|c: char| !is_sqs_char(c), "\u{fffd}"))
    }

    /// Adds the note to the attributes of a letter with this body, unless there are already ten or 1 MiB would
    /// be exceeded. Returns whether it was added.
    pub fn attach(&self, body: &str, attributes: &mut Attributes) -> bool {
        let note = self.to_attribute();
        // A note that came with the message is not ours. It is removed even if ours does not fit.
        attributes.remove(Self::ATTRIBUTE);
        let room = size(body, attributes) + Self::ATTRIBUTE.len() + note.size() <= MAX_BYTES;
        let fits = room && attributes.len() < MAX_ATTRIBUTES;
        if fits {
            attributes.insert(Self::ATTRIBUTE.to_owned(), note);
        }
        fits
    }
}

mod rfc3339 {
    use std::time::{Duration, SystemTime};

    use serde::{Deserialize, Deserializer, Serializer};

    /// The end of the year 9999, the last time that RFC 3339 can express.
    const LATEST: Duration = Duration::from_secs(253_402_300_799);

    pub(super) fn serialize<S: Serializer>(at: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
        let since_epoch = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().min(LATEST);
        serializer.collect_str(&humantime::format_rfc3339_millis(SystemTime::UNIX_EPOCH + since_epoch))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
        let text = String::deserialize(deserializer)?;
        humantime::parse_rfc3339(&text).map_err(serde::de::Error::custom)
    }

    pub(super) mod option {
        use super::{Deserializer, Serializer, SystemTime};

        pub(crate) fn serialize<S: Serializer>(
            at: &Option<SystemTime>,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            match at {
                Some(at) => super::serialize(at, serializer),
                None => serializer.serialize_none(),
            }
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<SystemTime>, D::Error> {
            super::deserialize(d).map(Some)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn note(error: &str) -> DeadLetter {
        DeadLetter {
            reason: "rejected".to_owned(),
            error: error.to_owned(),
            exception: "orders::Refused".to_owned(),
            failed_at: SystemTime::UNIX_EPOCH + Duration::from_millis(1_795_247_400_123),
            attempts: 3,
            message_id: "059f36b4-87a3-44ab-83d2-661975830a7d".to_owned(),
            source: "arn:aws:sqs:eu-central-1:123456789012:orders".to_owned(),
            sent_at: Some(SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_247_000)),
            function: "orders".to_owned(),
            request_id: "8476a536-e9f4-11e8-9739-2dfe598c3fcd".to_owned(),
        }
    }

    fn found(attribute: Attribute) -> Option<DeadLetter> {
        DeadLetter::find(&Attributes::from([(DeadLetter::ATTRIBUTE.to_owned(), attribute)]), None)
    }

    #[test]
    fn the_error_is_cut_at_256_characters_on_a_character_boundary() {
        let cut = found(note(&"é".repeat(300)).to_attribute()).unwrap();
        assert_eq!(cut.error, "é".repeat(256));
    }

    #[test]
    fn times_are_rfc_3339() {
        let json = note("x").to_attribute();
        assert!(json.as_str().unwrap().contains(r#""failed_at":"2026-11-21T07:50:00.123Z""#), "{json:?}");
    }

    #[test]
    fn a_message_with_ten_attributes_is_moved_without_a_note() {
        let attribute = |n: usize| (format!("a{n}"), Attribute::text("String", "x"));
        let mut nine: Attributes = (0..9).map(attribute).collect();
        assert!(note("x").attach("body", &mut nine));
        assert_eq!(nine.len(), 10);
        let mut ten: Attributes = (0..10).map(attribute).collect();
        assert!(!note("x").attach("body", &mut ten));
        assert_eq!(ten.len(), 10);
    }

    #[test]
    fn a_message_without_room_below_1_mib_is_moved_without_a_note() {
        let note = note("x");
        let needed = DeadLetter::ATTRIBUTE.len() + note.to_attribute().size();
        let mut attributes = Attributes::new();
        assert!(!note.attach(&"b".repeat(MAX_BYTES - needed + 1), &mut attributes));
        assert!(attributes.is_empty());
        assert!(note.attach(&"b".repeat(MAX_BYTES - needed), &mut attributes));
    }

    #[test]
    fn an_earlier_note_is_removed_even_without_room_for_ours() {
        let forged = || (DeadLetter::ATTRIBUTE.to_owned(), note("forged").to_attribute());
        let mut attributes = Attributes::from([forged()]);
        assert!(note("ours").attach("body", &mut attributes));
        assert_eq!(DeadLetter::find(&attributes, None).unwrap().error, "ours");
        let mut attributes = Attributes::from([forged()]);
        assert!(!note("ours").attach(&"b".repeat(MAX_BYTES), &mut attributes));
        assert!(attributes.is_empty());
    }

    #[test]
    fn a_note_on_what_sqs_moved_is_the_senders_and_does_not_count() {
        let attributes = Attributes::from([(DeadLetter::ATTRIBUTE.to_owned(), note("x").to_attribute())]);
        assert!(DeadLetter::find(&attributes, None).is_some());
        for moved_from in ["arn:aws:sqs:eu-central-1:123456789012:orders", ""] {
            assert_eq!(DeadLetter::find(&attributes, Some(moved_from)), None);
        }
    }

    proptest! {
        #[test]
        fn a_note_round_trips_and_holds_only_characters_that_sqs_accepts(error in any::<String>(), reason in any::<String>()) {
            let attribute = DeadLetter { reason, ..note(&error) }.to_attribute();
            prop_assert!(attribute.as_str().unwrap().chars().all(is_sqs_char));
            let read = found(attribute).unwrap();
            let expected: String = error.chars().take(256).map(|c| if is_sqs_char(c) || c < ' ' { c } else { '\u{fffd}' }).collect();
            prop_assert_eq!(read.error, expected);
        }
    }
}
