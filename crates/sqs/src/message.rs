//! The rules of SQS for bodies and message attributes.

use crate::attribute::{Attribute, Attributes};
use crate::quote::Quoted;

/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html>
pub const MAX_ATTRIBUTES: usize = 10;

/// Longest type of an attribute, in bytes.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-message-metadata.html>
const MAX_TYPE: usize = 256;

/// Largest message with its attributes, and largest batch, in bytes: 1 MiB since August 2025.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html>
pub const MAX_BYTES: usize = 1_048_576;

/// Most entries of a batch, in any operation.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html>
pub const MAX_ENTRIES: usize = 10;

/// Returns true if SQS accepts this character in a body or in the text of an attribute.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html>
#[must_use]
pub fn is_sqs_char(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// Returns the bytes that SQS counts toward its limits: the body, and the name, type and value of each attribute.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-message-metadata.html>
#[must_use]
pub fn size(body: &str, attributes: &Attributes) -> usize {
    body.len() + attributes.iter().map(|(name, attribute)| name.len() + attribute.size()).sum::<usize>()
}

/// Returns the reason why SQS would refuse a body with these attributes, in words for people. `largest` is in bytes.
#[must_use]
pub fn validate(body: &str, attributes: &Attributes, largest: usize) -> Option<String> {
    if body.is_empty() {
        return Some(format!("the body is empty, allowed: 1 to {largest} bytes"));
    }
    if let Some(fault) = fault_of_characters("the body", body) {
        return Some(fault);
    }
    if attributes.len() > MAX_ATTRIBUTES {
        return Some(format!("the message has {} attributes, allowed: {MAX_ATTRIBUTES}", attributes.len()));
    }
    let of_attribute = attributes.iter().find_map(|(name, attribute)| fault_of_attribute(name, attribute));
    of_attribute.or_else(|| {
        let bytes = size(body, attributes);
        (bytes > largest).then(|| format!("body and attributes have {bytes} bytes, allowed: {largest}"))
    })
}

/// Returns true if SQS accepts a message attribute of this name.
///
/// The guide allows only ASCII letters and digits, but recordings show that AWS accepts `attr.1øßä` and refuses `§`. The rest
/// beyond ASCII is our guess: if Unicode calls a character alphabetic or numeric, it is accepted. Most combining marks are
/// not: an é that is written as e and U+0301, and a word with a virama, are refused.
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

/// Returns true if SQS accepts the text as the value of an attribute of type `Number`: at most 38 significant digits, from
/// 10^-128 to 10^126.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-message-metadata.html>
#[must_use]
pub fn is_attribute_number(text: &str) -> bool {
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    let in_range = |value: f64| value == 0.0 || (1e-128..=1e126).contains(&value.abs());
    is_plain && digits.trim_matches('0').len() <= 38 && text.parse().is_ok_and(in_range)
}

fn fault_of_attribute(name: &str, attribute: &Attribute) -> Option<String> {
    if !is_attribute_name(name) {
        return Some(format!(
            "the attribute name is {}, allowed: up to 256 letters, digits, _, - and single dots within, not \
             beginning with AWS. or Amazon.",
            Quoted(name)
        ));
    }
    let data_type = attribute.data_type();
    let kind = data_type.split('.').next().unwrap_or_default();
    match (kind, attribute.as_str()) {
        _ if data_type.len() > MAX_TYPE => Some(format!(
            "the type of the attribute {name} has {} bytes, allowed: {MAX_TYPE}",
            data_type.len()
        )),
        ("String" | "Number", Some(_)) | ("Binary", None) if attribute.as_bytes().is_empty() => {
            Some(format!("the attribute {name} is empty, allowed: at least 1 byte"))
        }
        ("Binary", None) => None,
        ("Number", Some(text)) if !is_attribute_number(text) => Some(format!(
            "the attribute {name} is {}, allowed for the type Number: up to 38 digits, from 1e-128 to 1e126",
            Quoted(text)
        )),
        ("String" | "Number", Some(text)) => fault_of_characters(&format!("the attribute {name}"), text),
        _ => Some(format!(
            "the type of the attribute {name} is {}, allowed: String and Number for text, Binary for base64",
            Quoted(data_type)
        )),
    }
}

fn fault_of_characters(what: &str, text: &str) -> Option<String> {
    let wrong = text.chars().find(|c| !is_sqs_char(*c))?;
    Some(format!("{what} contains the character {}, which SQS does not allow", wrong.escape_unicode()))
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

    fn number(value: &str) -> Attributes {
        Attributes::from([("n".to_owned(), Attribute::text("Number", value))])
    }

    fn typed(data_type: &str) -> Attributes {
        Attributes::from([("n".to_owned(), Attribute::text(data_type, "x"))])
    }

    #[test]
    fn a_message_that_sqs_accepts_has_no_fault() {
        for name in ["a.b-c_D9", "attr.1øßä", &"ß".repeat(256)] {
            assert_eq!(validate("a\t\u{10000}", &with(name, "é"), MAX_BYTES), None, "{name}");
        }
        for value in ["-1.5e3", "0", "1e126", &"1".repeat(38)] {
            assert_eq!(validate("b", &number(value), MAX_BYTES), None, "{value}");
        }
        assert_eq!(validate(&"b".repeat(MAX_BYTES), &Attributes::new(), MAX_BYTES), None);
    }

    #[test]
    fn the_reason_for_a_refusal_is_named() {
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
            ("b", with("a", "\u{0}"), "the attribute a contains the character \\u{0}"),
            ("b", number("many"), "the attribute n is \"many\", allowed for the type Number"),
            ("b", number("1e127"), "from 1e-128 to 1e126"),
            ("b", number(&"1".repeat(39)), "up to 38 digits"),
            ("b", typed("Text"), "the type of the attribute n is \"Text\""),
            ("b", typed(&format!("String.{}", "x".repeat(250))), "has 257 bytes, allowed: 256"),
        ] {
            let fault = validate(body, &attributes, MAX_BYTES).unwrap();
            assert!(fault.contains(expected), "{fault}");
        }
        // 1 of the body, 1 + 6 + 1 of the attribute
        assert_eq!(validate("b", &with("a", "x"), 9), None);
        assert_eq!(
            validate("b", &with("a", "x"), 8).unwrap(),
            "body and attributes have 9 bytes, allowed: 8"
        );
    }
}
