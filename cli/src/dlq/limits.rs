//! What SQS takes. Pure.

use std::collections::BTreeMap;

use aws_sdk_sqs::types::MessageAttributeValue;

/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html>
pub(crate) const MOST_ATTRIBUTES: usize = 10;

/// Of a message, and of all messages of a batch together.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html>
pub(crate) const LARGEST: usize = 1_048_576;

/// Entries of a batch.
pub(crate) const MOST_ENTRIES: usize = 10;

/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html>
pub(crate) fn accepted(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// What SQS counts: the body, and the name, type and value of each attribute.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-message-metadata.html>
pub(crate) fn size(body: &str, attributes: &BTreeMap<String, MessageAttributeValue>) -> usize {
    let of_attribute = |(name, attribute): (&String, &MessageAttributeValue)| {
        let text = attribute.string_value().map_or(0, str::len);
        let binary = attribute.binary_value().map_or(0, |value| value.as_ref().len());
        name.len() + attribute.data_type().len() + text + binary
    };
    body.len() + attributes.iter().map(of_attribute).sum::<usize>()
}

/// Why SQS would not take a message, in words for people.
pub(crate) fn fault(
    body: &str,
    attributes: &BTreeMap<String, MessageAttributeValue>,
    largest: usize,
) -> Option<String> {
    if body.is_empty() {
        return Some("the body is empty, and SQS takes none without a character".to_owned());
    }
    if let Some(wrong) = body.chars().find(|c| !accepted(*c)) {
        return Some(format!(
            "the body holds {}, a character that SQS does not take",
            wrong.escape_unicode()
        ));
    }
    if attributes.len() > MOST_ATTRIBUTES {
        return Some(format!("{} attributes, allowed: {MOST_ATTRIBUTES}", attributes.len()));
    }
    let of_attribute = attributes.iter().find_map(|(name, attribute)| fault_of_attribute(name, attribute));
    of_attribute.or_else(|| {
        let bytes = size(body, attributes);
        (bytes > largest).then(|| format!("{bytes} bytes with its attributes, allowed: {largest}"))
    })
}

fn fault_of_attribute(name: &str, attribute: &MessageAttributeValue) -> Option<String> {
    let of_name = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let reserved = name.to_ascii_lowercase();
    let dots = name.starts_with('.') || name.ends_with('.') || name.contains("..");
    if name.is_empty()
        || name.len() > 256
        || !name.chars().all(of_name)
        || dots
        || reserved.starts_with("aws.")
        || reserved.starts_with("amazon.")
    {
        return Some(format!(
            "the attribute's name {name:?}, allowed: up to 256 letters, digits, _, - and single dots within, not \
             beginning with AWS. or Amazon."
        ));
    }
    let kind = attribute.data_type().split('.').next().unwrap_or_default();
    match (kind, attribute.string_value(), attribute.binary_value()) {
        ("String" | "Number", Some(""), _) => Some(format!("the attribute {name} is empty")),
        ("String" | "Number", Some(text), _) => text.chars().find(|c| !accepted(*c)).map(|wrong| {
            format!(
                "the attribute {name} holds {}, a character that SQS does not take",
                wrong.escape_unicode()
            )
        }),
        ("Binary", _, Some(value)) => {
            value.as_ref().is_empty().then(|| format!("the attribute {name} is empty"))
        }
        _ => Some(format!(
            "the attribute {name} of type {:?}, allowed: String and Number with a text, Binary with base64",
            attribute.data_type()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> MessageAttributeValue {
        MessageAttributeValue::builder().data_type("String").string_value(value).build().unwrap()
    }

    fn with(name: &str, value: &str) -> BTreeMap<String, MessageAttributeValue> {
        BTreeMap::from([(name.to_owned(), text(value))])
    }

    #[test]
    fn what_sqs_takes_has_no_fault() {
        assert_eq!(fault("a\t\u{10000}", &with("a.b-c_D9", "é"), LARGEST), None);
        assert_eq!(fault(&"b".repeat(LARGEST), &BTreeMap::new(), LARGEST), None);
    }

    #[test]
    fn what_sqs_refuses_is_named() {
        let many: BTreeMap<_, _> = (0..11).map(|n| (format!("a{n}"), text("x"))).collect();
        for (body, attributes, expected) in [
            ("", BTreeMap::new(), "the body is empty"),
            ("a\u{1}", BTreeMap::new(), "\\u{1}"),
            ("a\u{ffff}", BTreeMap::new(), "\\u{ffff}"),
            ("b", many, "11 attributes, allowed: 10"),
            ("b", with("AWS.x", "x"), "\"AWS.x\""),
            ("b", with("a..b", "x"), "\"a..b\""),
            ("b", with("a b", "x"), "\"a b\""),
            ("b", with("a", ""), "the attribute a is empty"),
            ("b", with("a", "\u{0}"), "the attribute a holds"),
        ] {
            let fault = fault(body, &attributes, LARGEST).unwrap();
            assert!(fault.contains(expected), "{fault}");
        }
        // 1 of the body, 1 + 6 + 1 of the attribute
        assert_eq!(fault("b", &with("a", "x"), 9), None);
        assert_eq!(fault("b", &with("a", "x"), 8).unwrap(), "9 bytes with its attributes, allowed: 8");
    }
}
