//! Properties of all conditions, for the fuzzer and for tests.

use std::time::{Duration, SystemTime};

use aws_sdk_sqs::types::{Message, MessageAttributeValue, MessageSystemAttributeName};

use super::Condition;
use crate::letters::letter::Letter;

/// Checks that a condition judges a letter, or is refused in one line. The first line is the condition, the second the
/// letter's note, the rest its body.
///
/// # Panics
/// The condition is neither.
/// It is not.
pub(crate) fn condition(text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    let mut parts = text.splitn(3, '\n');
    let mut part = || parts.next().unwrap_or_default();
    let (condition, note, body) = (part(), part(), part());
    let attribute = |value: &str| {
        let value = MessageAttributeValue::builder().data_type("String").string_value(value);
        value.build().expect("the type is given")
    };
    let message = Message::builder()
        .message_id("b2")
        .body(body)
        .attributes(MessageSystemAttributeName::SentTimestamp, "1795248000000")
        .attributes(MessageSystemAttributeName::ApproximateReceiveCount, "4")
        .message_attributes("redrive.dead-letter", attribute(note))
        .message_attributes("tenant", attribute(body));
    let letter = Letter::new(message.build());
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_248_600);
    match condition.parse::<Condition>() {
        Ok(condition) => assert_eq!(condition.judge(&letter, now), condition.clone().judge(&letter, now)),
        Err(error) => assert!(!format!("{error:#}").contains('\n'), "{error:#}"),
    }
}

#[cfg(test)]
#[path = "../../../../../dev/fuzz/corpus.rs"]
mod corpus;

#[test]
fn the_corpus_of_the_fuzzer_holds() {
    corpus::check("condition", &[], condition);
}
