//! Bodies in S3, as the extended clients of SQS write and read them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::attribute::{Attribute, Attributes};
use crate::message::size;

/// The Java classes that a pointer names: the present one, and that of version 1.
const CLASSES: [&str; 2] =
    ["software.amazon.payloadoffloading.PayloadS3Pointer", "com.amazon.sqs.javamessaging.MessageS3Pointer"];

/// Points to a body that was too big for SQS. The [extended
/// client](https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-managing-large-messages.html)
/// sends this in its place.
///
/// ```
/// use redrive_sqs::{Attributes, PayloadPointer};
///
/// let pointer = PayloadPointer { bucket: "payloads".into(), key: "7d1f".into() };
/// let body = r#"["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3BucketName":"payloads","s3Key":"7d1f"}]"#;
/// assert_eq!(pointer.body(), body);
///
/// let attributes = Attributes::from([PayloadPointer::attribute(300_000)]);
/// assert_eq!(PayloadPointer::find(body, &attributes), Ok(Some(pointer)));
/// assert_eq!(PayloadPointer::find(body, &Attributes::new()), Ok(None));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayloadPointer {
    /// The name of the bucket, which the sender chose.
    #[serde(rename = "s3BucketName")]
    pub bucket: String,
    /// The key of the object.
    #[serde(rename = "s3Key")]
    pub key: String,
}

/// The error for a message that says that its body is in S3, but not where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the message has the attribute {attribute}, but its body is not a pointer to S3, allowed: \
     [\"{}\",{{\"s3BucketName\":\"BUCKET\",\"s3Key\":\"KEY\"}}]",
    CLASSES[0]
)]
pub struct InvalidPointer {
    attribute: &'static str,
}

impl PayloadPointer {
    /// The attributes that mark a body in S3 and give its size in bytes: the present one, and that of version 1, which the
    /// Java client still writes by default.
    pub const ATTRIBUTES: [&str; 2] = ["ExtendedPayloadSize", "SQSLargePayloadSize"];

    /// Most bytes of body and attributes that the Java and Python clients send through SQS by default. Larger bodies go to
    /// S3.
    pub const THRESHOLD: usize = 262_144;

    /// Longest key in S3, in bytes.
    /// <https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html>
    pub const MAX_KEY: usize = 1_024;

    /// Longest name of a bucket or ARN of an access point, in bytes. New buckets have 63 at most, [old
    /// ones](https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html) 255.
    pub const MAX_BUCKET: usize = 255;

    /// Returns the pointer in a message, or None if the message contains its body. Without the attribute a body is never a
    /// pointer, whatever it looks like.
    ///
    /// # Errors
    /// Returns an error if the message has the attribute, but its body is not a pointer.
    pub fn find(body: &str, attributes: &Attributes) -> Result<Option<Self>, InvalidPointer> {
        let Some(attribute) = Self::ATTRIBUTES.into_iter().find(|name| attributes.contains_key(*name)) else {
            return Ok(None);
        };
        let (class, pointer): (String, Self) =
            serde_json::from_str(body).map_err(|_| InvalidPointer { attribute })?;
        let is_pointer =
            CLASSES.contains(&class.as_str()) && !pointer.bucket.is_empty() && !pointer.key.is_empty();
        if is_pointer { Ok(Some(pointer)) } else { Err(InvalidPointer { attribute }) }
    }

    /// Returns the size of the body in bytes, as the sender claims it.
    #[must_use]
    pub fn claimed_size(attributes: &Attributes) -> Option<u64> {
        let attribute = Self::ATTRIBUTES.into_iter().find_map(|name| attributes.get(name))?;
        attribute.as_str()?.parse().ok()
    }

    /// Returns true if a message has more bytes than the threshold, as the extended clients count them.
    #[must_use]
    pub fn is_due(body: &str, attributes: &Attributes, threshold: usize) -> bool {
        size(body, attributes) > threshold
    }

    /// Returns the message body that points here.
    #[must_use]
    pub fn body(&self) -> String {
        serde_json::to_string(&(CLASSES[0], self)).expect("text can be written as JSON")
    }

    /// Returns the name and value of the attribute that marks a body of this size.
    #[must_use]
    pub fn attribute(bytes: usize) -> (String, Attribute) {
        (Self::ATTRIBUTES[0].to_owned(), Attribute::text("Number", bytes.to_string()))
    }
}

/// Writes the URI that the AWS CLI accepts: `s3://payloads/7d1f`. Names that are too long for S3 are cut.
impl fmt::Display for PayloadPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("s3://")?;
        write_cut(f, &self.bucket, Self::MAX_BUCKET)?;
        f.write_str("/")?;
        write_cut(f, &self.key, Self::MAX_KEY)
    }
}

fn write_cut(f: &mut fmt::Formatter<'_>, name: &str, max: usize) -> fmt::Result {
    if name.len() <= max { f.write_str(name) } else { write!(f, "{name:.64}…") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn with(name: &str) -> Attributes {
        Attributes::from([(name.to_owned(), Attribute::text("Number", "300000"))])
    }

    /// Returns the URI of a pointer, `-` for an ordinary body, and `!` for an invalid pointer.
    fn found(body: &str, attributes: &Attributes) -> String {
        match PayloadPointer::find(body, attributes) {
            Ok(Some(pointer)) => pointer.to_string(),
            Ok(None) => "-".to_owned(),
            Err(_) => "!".to_owned(),
        }
    }

    #[test]
    fn every_pointer_that_the_extended_clients_write_is_read() {
        let bodies = [
            // Java
            r#"["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3BucketName":"b","s3Key":"k"}]"#,
            // Python
            r#"["software.amazon.payloadoffloading.PayloadS3Pointer", {"s3BucketName": "b", "s3Key": "k"}]"#,
            // version 1, and Python's use_legacy_attribute
            r#"["com.amazon.sqs.javamessaging.MessageS3Pointer",{"s3BucketName":"b","s3Key":"k"}]"#,
            // Java accepts unknown fields, any order and any white space.
            "\n[ \"software.amazon.payloadoffloading.PayloadS3Pointer\",\t{\"s3Key\":\"k\",\"v\":[1],\"s3BucketName\":\"b\"} ] ",
        ];
        for (body, attribute) in
            bodies.iter().flat_map(|body| PayloadPointer::ATTRIBUTES.map(|name| (body, name)))
        {
            assert_eq!(found(body, &with(attribute)), "s3://b/k", "{attribute}: {body}");
            assert_eq!(found(body, &Attributes::new()), "-", "an ordinary body that looks like one");
            assert_eq!(found(body, &with("PayloadSize")), "-");
        }
    }

    #[test]
    fn a_message_with_the_attribute_and_no_pointer_is_invalid() {
        for body in [
            "",
            "{}",
            r#""text""#,
            r#"["software.amazon.payloadoffloading.PayloadS3Pointer"]"#,
            r#"["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3BucketName":"b"}]"#,
            r#"["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3BucketName":"b","s3Key":null}]"#,
            r#"["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3BucketName":"b","s3Key":""}]"#,
            r#"["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3BucketName":"","s3Key":"k"}]"#,
            r#"["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3BucketName":"b","s3Key":"k"},1]"#,
            r#"["java.util.HashMap",{"s3BucketName":"b","s3Key":"k"}]"#,
        ] {
            assert_eq!(found(body, &with("ExtendedPayloadSize")), "!", "{body}");
        }
        let error = PayloadPointer::find("secret", &with("SQSLargePayloadSize")).unwrap_err().to_string();
        assert!(error.starts_with("the message has the attribute SQSLargePayloadSize, but "), "{error}");
        assert!(!error.contains("secret"), "a body stays out of logs: {error}");
    }

    #[test]
    fn a_message_is_due_with_one_byte_more_than_the_threshold() {
        // 1 of the name, 6 of the type, 1 of the value
        let attributes = Attributes::from([("a".to_owned(), Attribute::text("String", "x"))]);
        assert!(!PayloadPointer::is_due("éé", &attributes, 12));
        assert!(PayloadPointer::is_due("éé", &attributes, 11));
    }

    #[test]
    fn a_name_that_is_too_long_for_s3_is_shown_cut() {
        let at = |bucket: &str, key: &str| {
            PayloadPointer { bucket: bucket.to_owned(), key: key.to_owned() }.to_string()
        };
        assert_eq!(at("b", &"k".repeat(1_024)).len(), "s3://b/".len() + 1_024);
        assert_eq!(at("b", &"é".repeat(513)), format!("s3://b/{}…", "é".repeat(64)));
        assert_eq!(at(&"b".repeat(256), "k"), format!("s3://{}…/k", "b".repeat(64)));
    }

    proptest! {
        #[test]
        fn a_written_pointer_can_be_read(bucket in ".+", key in ".+", bytes: usize) {
            let pointer = PayloadPointer { bucket, key };
            let attributes = Attributes::from([PayloadPointer::attribute(bytes)]);
            prop_assert_eq!(PayloadPointer::claimed_size(&attributes), Some(bytes as u64));
            prop_assert_eq!(PayloadPointer::find(&pointer.body(), &attributes), Ok(Some(pointer)));
        }

        #[test]
        fn no_body_makes_it_panic(body: String) {
            let _ = PayloadPointer::find(&body, &with("ExtendedPayloadSize"));
        }
    }
}
