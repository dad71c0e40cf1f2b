//! What SQS takes as a message.

use crate::attribute::{Attribute, Attributes};
use crate::quote::Quoted;

/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html>
pub const MAX_ATTRIBUTES: usize = 10;

/// Of a message with its attributes, and of all messages of a batch together: 1 MiB, since August 2025.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html>
pub const MAX_BYTES: usize = 1_048_576;

/// Of a batch of any operation.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html>
pub const MAX_ENTRIES: usize = 10;

/// Whether SQS takes this character in a body or in the text of an attribute.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html>
#[must_use]
pub fn accepted(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// What SQS counts toward its limits, in bytes: the body, and the name, type and value of each attribute.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-message-metadata.html>
#[must_use]
pub fn size(body: &str, attributes: &Attributes) -> usize {
    body.len() + attributes.iter().map(|(name, attribute)| name.len() + attribute.size()).sum::<usize>()
}

/// Why SQS would not take a message, in words for people.
#[must_use]
pub fn fault(body: &str, attributes: &Attributes, largest: usize) -> Option<String> {
    if body.is_empty() {
        return Some("the body is empty, and SQS takes none without a character".to_owned());
    }
    if let Some(wrong) = body.chars().find(|c| !accepted(*c)) {
        return Some(format!(
            "the body holds {}, a character that SQS does not take",
            wrong.escape_unicode()
        ));
    }
    if attributes.len() > MAX_ATTRIBUTES {
        return Some(format!("{} attributes, allowed: {MAX_ATTRIBUTES}", attributes.len()));
    }
    let of_attribute = attributes.iter().find_map(|(name, attribute)| fault_of_attribute(name, attribute));
    of_attribute.or_else(|| {
        let bytes = size(body, attributes);
        (bytes > largest).then(|| format!("{bytes} bytes with its attributes, allowed: {largest}"))
    })
}

/// Whether SQS takes a message attribute of this name.
///
/// The guide has only the letters and digits of ASCII, but AWS was recorded taking `attr.1øßä` and refusing `§`. All else
/// beyond ASCII is our guess: what Unicode calls alphabetic or numeric is a letter or a digit. That leaves out most combining
/// marks: an é that is written as e and U+0301, and a word with a virama, are refused.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-message-metadata.html>
/// <https://github.com/localstack/localstack/blob/8b9a79f/tests/aws/services/sqs/test_sqs.py>
#[must_use]
pub fn is_attribute_name(name: &str) -> bool {
    let reserved = name.to_ascii_lowercase();
    (1..=256).contains(&name.chars().count())
        && name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c))
        && !(name.starts_with('.') || name.ends_with('.') || name.contains(".."))
        && !(reserved.starts_with("aws.") || reserved.starts_with("amazon."))
}

fn fault_of_attribute(name: &str, attribute: &Attribute) -> Option<String> {
    if !is_attribute_name(name) {
        return Some(format!(
            "the attribute's name {}, allowed: up to 256 letters, digits, _, - and single dots within, not \
             beginning with AWS. or Amazon.",
            Quoted(name)
        ));
    }
    let kind = attribute.data_type().split('.').next().unwrap_or_default();
    match (kind, attribute.as_str()) {
        ("String" | "Number", Some("")) => Some(format!("the attribute {name} is empty")),
        ("Binary", None) if attribute.as_bytes().is_empty() => Some(format!("the attribute {name} is empty")),
        ("Binary", None) => None,
        ("String" | "Number", Some(text)) => text.chars().find(|c| !accepted(*c)).map(|wrong| {
            format!(
                "the attribute {name} holds {}, a character that SQS does not take",
                wrong.escape_unicode()
            )
        }),
        _ => Some(format!(
            "the attribute {name} of type {}, allowed: String and Number with a text, Binary with base64",
            Quoted(attribute.data_type())
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Attribute {
        Attribute::text("String", value)
    }

    fn with(name: &str, value: &str) -> Attributes {
        Attributes::from([(name.to_owned(), text(value))])
    }

    #[test]
    fn what_sqs_takes_has_no_fault() {
        for name in ["a.b-c_D9", "attr.1øßä", &"ß".repeat(256)] {
            assert_eq!(fault("a\t\u{10000}", &with(name, "é"), MAX_BYTES), None, "{name}");
        }
        assert_eq!(fault(&"b".repeat(MAX_BYTES), &Attributes::new(), MAX_BYTES), None);
    }

    #[test]
    fn what_sqs_refuses_is_named() {
        let many: Attributes = (0..11).map(|n| (format!("a{n}"), text("x"))).collect();
        for (body, attributes, expected) in [
            ("", Attributes::new(), "the body is empty"),
            ("a\u{1}", Attributes::new(), "\\u{1}"),
            ("a\u{ffff}", Attributes::new(), "\\u{ffff}"),
            ("b", many, "11 attributes, allowed: 10"),
            ("b", with("AWS.x", "x"), "\"AWS.x\""),
            ("b", with("a..b", "x"), "\"a..b\""),
            ("b", with("a b", "x"), "\"a b\""),
            ("b", with("a§b", "x"), "\"a§b\""),
            ("b", with("e\u{301}", "x"), "up to 256 letters"),
            ("b", with("हिन्दी", "x"), "up to 256 letters"),
            ("b", with(&"ß".repeat(257), "x"), "up to 256 letters"),
            ("b", with("a", ""), "the attribute a is empty"),
            ("b", with("a", "\u{0}"), "the attribute a holds"),
        ] {
            let fault = fault(body, &attributes, MAX_BYTES).unwrap();
            assert!(fault.contains(expected), "{fault}");
        }
        // 1 of the body, 1 + 6 + 1 of the attribute
        assert_eq!(fault("b", &with("a", "x"), 9), None);
        assert_eq!(fault("b", &with("a", "x"), 8).unwrap(), "9 bytes with its attributes, allowed: 8");
    }
}
