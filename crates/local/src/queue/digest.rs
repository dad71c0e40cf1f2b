//! Computes the digests of SQS, which SDKs verify.

use std::fmt::Write;

use md5::Md5;
use sha2::{Digest, Sha256};

use super::message::{AttributeValue, MessageAttribute};

/// Returns the MD5 of a body.
#[must_use]
pub fn md5_of_body(body: &str) -> String {
    hex(&Md5::digest(body))
}

/// Returns the MD5 of message attributes, which must be sorted by name, or None without attributes.
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

/// Returns the deduplication id of content-based deduplication, which depends only on the body.
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
