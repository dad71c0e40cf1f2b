//! The digests that SQS computes and SDKs verify.

use std::fmt::Write;

use md5::Md5;
use sha2::{Digest, Sha256};

use super::message::{AttributeValue, MessageAttribute};

/// The MD5 of a body.
#[must_use]
pub fn md5_of_body(body: &str) -> String {
    hex(&Md5::digest(body))
}

/// The MD5 of message attributes, which must come sorted by name; none if there is none.
///
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-message-metadata.html#sqs-attributes-md5-message-digest-calculation>
pub(crate) fn md5_of_attributes<'a>(
    attributes: impl IntoIterator<Item = (&'a String, &'a MessageAttribute)>,
) -> Option<String> {
    let mut attributes = attributes.into_iter().peekable();
    attributes.peek()?;
    let mut digest = Md5::new();
    for (name, attribute) in attributes {
        update(&mut digest, name.as_bytes());
        update(&mut digest, attribute.data_type.as_bytes());
        let transport_type = match attribute.value {
            AttributeValue::Text(_) => 1,
            AttributeValue::Binary(_) => 2,
        };
        digest.update([transport_type]);
        update(&mut digest, attribute.value.bytes());
    }
    Some(hex(&digest.finalize()))
}

/// The deduplication id of a FIFO queue with content-based deduplication: of the body only.
pub(super) fn content_deduplication_id(body: &str) -> String {
    hex(&Sha256::digest(body))
}

fn update(digest: &mut Md5, part: &[u8]) {
    let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
    digest.update(length.to_be_bytes());
    digest.update(part);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_body_has_the_usual_digests() {
        assert_eq!(md5_of_body("hello"), "5d41402abc4b2a76b9719d911017c592");
        assert_eq!(
            content_deduplication_id("hello"),
            "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
        );
    }

    #[test]
    fn no_attributes_have_no_digest() {
        assert_eq!(md5_of_attributes(&BTreeMap::new()), None);
    }

    /// The expected values come from another implementation of the documented algorithm, in Python.
    #[test]
    fn attributes_are_digested_by_name_type_and_value() {
        let mut attributes = BTreeMap::from([("timestamp".to_owned(), number("1493147359900"))]);
        assert_eq!(md5_of_attributes(&attributes).as_deref(), Some("235c5c510d26fb653d073faed50ae77c"));
        let binary = AttributeValue::Binary(vec![0, 255]);
        attributes
            .insert("bytes".to_owned(), MessageAttribute { data_type: "Binary".to_owned(), value: binary });
        assert_eq!(md5_of_attributes(&attributes).as_deref(), Some("f32a758385759a9f095dd09c642f1bc2"));
    }

    fn number(value: &str) -> MessageAttribute {
        MessageAttribute { data_type: "Number".to_owned(), value: AttributeValue::Text(value.to_owned()) }
    }
}
