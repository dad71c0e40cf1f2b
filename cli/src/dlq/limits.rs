//! The attributes of the SDK as those whose rules `redrive-sqs` knows.

use std::collections::BTreeMap;

use aws_sdk_sqs::types::MessageAttributeValue;
use redrive_sqs::{Attribute, Attributes};

pub(crate) fn size(body: &str, attributes: &BTreeMap<String, MessageAttributeValue>) -> usize {
    redrive_sqs::size(body, &convert(attributes))
}

/// Why SQS would not take a message, in words for people.
pub(crate) fn fault(
    body: &str,
    attributes: &BTreeMap<String, MessageAttributeValue>,
    largest: usize,
) -> Option<String> {
    redrive_sqs::fault(body, &convert(attributes), largest)
}

fn convert(attributes: &BTreeMap<String, MessageAttributeValue>) -> Attributes {
    let convert = |(name, value): (&String, &MessageAttributeValue)| {
        let attribute = match value.binary_value() {
            Some(bytes) => Attribute::binary(value.data_type(), bytes.as_ref()),
            None => Attribute::text(value.data_type(), value.string_value().unwrap_or_default()),
        };
        (name.clone(), attribute)
    };
    attributes.iter().map(convert).collect()
}
