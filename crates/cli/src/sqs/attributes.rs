//! Converts message attributes between the SDK's type and the command's.

use std::collections::HashMap;

use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::MessageAttributeValue;
use redrive_sqs::{Attribute, Attributes};

pub(crate) fn from_sdk(attributes: HashMap<String, MessageAttributeValue>) -> Attributes {
    let convert = |(name, value): (String, MessageAttributeValue)| {
        let attribute = match value.binary_value {
            Some(bytes) => Attribute::binary(value.data_type, bytes.into_inner()),
            None => Attribute::text(value.data_type, value.string_value.unwrap_or_default()),
        };
        (name, attribute)
    };
    attributes.into_iter().map(convert).collect()
}

pub(super) fn to_sdk(attribute: &Attribute) -> MessageAttributeValue {
    let value = MessageAttributeValue::builder().data_type(attribute.data_type());
    let value = match attribute.as_str() {
        Some(text) => value.string_value(text),
        None => value.binary_value(Blob::new(attribute.as_bytes())),
    };
    value.build().expect("the type is given")
}
