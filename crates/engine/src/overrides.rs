//! The overrides in a message's attributes: fewer attempts, or a different backoff.

use std::time::Duration;

use redrive_sqs::{Attribute, Attributes, Quoted, cut_to};

use crate::backoff::{Backoff, parse_backoff};
use crate::choices::Overrides;
use crate::deliveries::Deliveries;

const MAX_ATTEMPTS: &str = "redrive.max-attempts";
const BACKOFF: &str = "redrive.backoff";

/// The overrides of a message that could be read.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct MessageOverrides {
    pub max_attempts: Option<u32>,
    pub backoff: Option<Backoff>,
}

impl MessageOverrides {
    /// Returns the attribute with which a sender asks for this many attempts.
    #[must_use]
    pub fn attempts_attribute(attempts: u32) -> (String, Attribute) {
        (MAX_ATTEMPTS.to_owned(), Attribute::text("Number", attempts.to_string()))
    }

    /// Returns the attribute with which a sender asks for this backoff.
    #[must_use]
    pub fn backoff_attribute(backoff: &Backoff) -> (String, Attribute) {
        let json = serde_json::to_string(backoff).expect("a backoff is made of texts and numbers");
        (BACKOFF.to_owned(), json.into())
    }

    /// Reads the overrides of a message. An invalid value is a warning, never a failure.
    pub fn read(
        attributes: &Attributes,
        base: &Backoff,
        max_receive_count: Option<u32>,
    ) -> (Self, Vec<String>) {
        let max_attempts = attributes.get(MAX_ATTEMPTS).map(attempts).transpose();
        let backoff = attributes.get(BACKOFF).map(|attribute| backoff(attribute, base)).transpose();
        let mut warnings: Vec<_> =
            [max_attempts.as_ref().err(), backoff.as_ref().err()].into_iter().flatten().cloned().collect();
        let (max_attempts, backoff) = (max_attempts.ok().flatten(), backoff.ok().flatten());
        if let (Some(own), Some(max)) = (max_attempts, max_receive_count)
            && own > max
        {
            warnings.push(format!("{MAX_ATTEMPTS} is {own}, capped at the queue's maxReceiveCount of {max}"));
        }
        (Self { max_attempts, backoff }, warnings)
    }
}

/// Returns the smaller of the queue's limit and the message's own.
pub fn max_attempts(attributes: &Attributes, overrides: Overrides, deliveries: Deliveries) -> Option<u32> {
    let asks = attributes.get(MAX_ATTEMPTS).filter(|_| overrides != Overrides::Off);
    let own = asks.and_then(|attribute| attempts(attribute).ok());
    deliveries.limit(own)
}

impl Overrides {
    /// Returns the delay of a message that asks for `asked`, if the consumer's own delay is `own`.
    pub(crate) fn grant(self, asked: Duration, own: Duration) -> Duration {
        match self {
            Self::Off => own,
            // Shorter delays would let a sender have a message retried at once, again and again.
            Self::Less => asked.max(own),
            Self::UpTo(most) => asked.min(own.max(most)),
        }
    }
}

fn attempts(attribute: &Attribute) -> Result<u32, String> {
    let text = attribute.as_str().unwrap_or_default();
    let attempts = text.parse().ok().filter(|attempts| *attempts > 0);
    attempts.ok_or_else(|| format!("{MAX_ATTEMPTS} is {}; it must be a whole number from 1 on", Quoted(text)))
}

fn backoff(attribute: &Attribute, base: &Backoff) -> Result<Backoff, String> {
    let text = attribute.as_str().unwrap_or_default();
    parse_backoff(text, base)
        .map_err(|error| format!("{BACKOFF} is {}: {}", Quoted(text), cut_to(&error.to_string(), 256)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Jitter;

    fn read(attributes: &[(&str, &str)], max: Option<u32>) -> (MessageOverrides, Vec<String>) {
        let text = |(name, value): &(&str, &str)| ((*name).to_owned(), Attribute::text("String", *value));
        MessageOverrides::read(&attributes.iter().map(text).collect(), &Backoff::default(), max)
    }

    fn delays(json: &str) -> [u64; 4] {
        let (overrides, warnings) = read(&[(BACKOFF, json)], None);
        assert_eq!(warnings, [""; 0]);
        let backoff = overrides.backoff.unwrap();
        [1, 2, 3, 4].map(|attempt| backoff.delay(attempt, 1.0).as_secs())
    }

    #[test]
    fn overrides_that_a_sender_writes_can_be_read() {
        let backoff = Backoff::fixed(Duration::from_secs(7)).unwrap();
        let attributes =
            [MessageOverrides::attempts_attribute(3), MessageOverrides::backoff_attribute(&backoff)].into();
        let read = MessageOverrides::read(&attributes, &Backoff::default(), Some(5));
        assert_eq!(read, (MessageOverrides { max_attempts: Some(3), backoff: Some(backoff) }, vec![]));
    }

    #[test]
    fn missing_fields_fall_back_one_by_one() {
        assert_eq!(delays("{}"), [2, 4, 8, 16]);
        assert_eq!(delays(r#"{"delay": 5}"#), [5, 10, 20, 40]);
        assert_eq!(delays(r#"{"max": 9}"#), [2, 4, 8, 9]);
        assert_eq!(delays(r#"{"multiplier": 3}"#), [2, 6, 18, 54]);
        assert_eq!(delays(r#"{"kind": "fixed", "delay": 7, "jitter": "full"}"#), [7; 4]);
        assert_eq!(delays(r#"{"kind": "fixed", "jitter": 3}"#), [5; 4]);
        assert_eq!(delays(r#"{"kind": "steps", "delay": [1, 5, 15]}"#), [1, 5, 15, 15]);
    }

    #[test]
    fn fields_that_a_message_omits_come_from_the_consumers_backoff() {
        let base = Backoff::exponential(Duration::from_secs(5), Duration::from_secs(900)).unwrap();
        let revised = |json| parse_backoff(json, &base).unwrap();
        let exponential = |initial, maximum| {
            Backoff::exponential(Duration::from_secs(initial), Duration::from_secs(maximum)).unwrap()
        };
        assert_eq!(revised("{}"), base);
        assert_eq!(revised(r#"{"max": 60}"#), exponential(5, 60));
        assert_eq!(revised(r#"{"delay": 7}"#), exponential(7, 900));
        assert_eq!(revised(r#"{"kind": "fixed"}"#), Backoff::fixed(Duration::from_secs(5)).unwrap());

        let steps = |steps: &[u64]| Backoff::steps(steps.iter().copied().map(Duration::from_secs)).unwrap();
        let base = steps(&[1, 5]).jitter(Jitter::Equal);
        assert_eq!(parse_backoff("{}", &base).unwrap(), base);
        assert_eq!(parse_backoff(r#"{"delay": 9}"#, &base).unwrap(), steps(&[9]).jitter(Jitter::Equal));
    }

    #[test]
    fn a_bad_value_is_one_warning_and_the_default() {
        for json in [
            r#"{"kind": "linear"}"#,
            "2",
            "",
            r#"{"delay": -1}"#,
            r#"{"delay": 50000}"#,
            r#"{"delay": [1, 2]}"#,
            r#"{"kind": "steps", "delay": []}"#,
            r#"{"multiplier": 0}"#,
            r#"{"dealy": 3}"#,
            r#"{"jitter": "some"}"#,
        ] {
            let (overrides, warnings) = read(&[(BACKOFF, json)], None);
            assert_eq!(overrides, MessageOverrides::default(), "{json}");
            assert_eq!(warnings.len(), 1, "{json}");
            assert!(warnings[0].starts_with("redrive.backoff is "), "{warnings:?}");
        }
        for text in ["0", "-1", "many", "", "1.5"] {
            let (overrides, warnings) = read(&[(MAX_ATTEMPTS, text)], Some(5));
            assert_eq!(overrides.max_attempts, None);
            assert_eq!(
                warnings,
                [format!("redrive.max-attempts is {text:?}; it must be a whole number from 1 on")]
            );
        }
    }

    #[test]
    fn more_attempts_than_the_queue_gives_are_capped_with_a_warning() {
        let (overrides, warnings) = read(&[(MAX_ATTEMPTS, "7")], Some(5));
        assert_eq!(overrides.max_attempts, Some(7));
        assert_eq!(warnings, ["redrive.max-attempts is 7, capped at the queue's maxReceiveCount of 5"]);
        assert_eq!(
            read(&[(MAX_ATTEMPTS, "1")], Some(10)),
            (MessageOverrides { max_attempts: Some(1), backoff: None }, vec![])
        );
    }
}
