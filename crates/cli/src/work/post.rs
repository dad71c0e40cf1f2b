//! Makes a request of a message: headers of Elastic Beanstalk's daemon, and a CloudEvent in binary mode. Pure.
//!
//! <https://docs.aws.amazon.com/elasticbeanstalk/latest/dg/using-features-managing-env-tiers.html>
//! <https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/http-protocol-binding.md>

use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use humantime::{format_rfc3339_millis, format_rfc3339_seconds};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use redrive::{BoxError, FromMessage, Record};

/// The parts of a request that depend on the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Post {
    pub(super) id: String,
    pub(super) attempt: u32,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// Most bytes of all headers. Servers limit them, Tomcat and Jetty to 8 KiB.
const MOST: usize = 6 * 1_024;
/// Longest key in bytes, because a sender can choose it.
const LONGEST_KEY: usize = 1_024;

impl FromMessage for Post {
    fn from_message(record: &Record<'_>) -> Result<Self, BoxError> {
        Ok(Self {
            id: record.id().to_owned(),
            attempt: record.attempt(),
            headers: headers(record),
            body: Bytes::copy_from_slice(record.body().as_bytes()),
        })
    }
}

fn headers(record: &Record<'_>) -> HeaderMap {
    let first_received = record.first_received_at().map(|at| format_rfc3339_seconds(at).to_string());
    let sent = record.sent_at().map(|at| format_rfc3339_millis(at).to_string());
    let mut headers = HeaderMap::with_capacity(16);
    let (mut left, key) = (MOST, record.key());
    let known = [
        ("x-aws-sqsd-msgid", Some(record.id().to_owned())),
        ("x-aws-sqsd-receive-count", Some(record.attempt().to_string())),
        ("x-aws-sqsd-first-received-at", first_received),
        ("x-aws-sqsd-sender-id", record.sender_id().map(str::to_owned)),
        ("x-amzn-trace-id", record.trace_header().map(str::to_owned)),
        ("ce-specversion", Some("1.0".to_owned())),
        ("ce-type", Some("com.amazonaws.sqs.message".to_owned())),
        ("ce-source", Some(record.source().to_owned())),
        ("ce-id", Some(if key.len() <= LONGEST_KEY { key.into_owned() } else { record.id().to_owned() })),
        ("ce-time", sent),
        ("ce-partitionkey", record.group().map(str::to_owned)),
    ];
    let known = known.into_iter().filter_map(|(name, text)| Some((HeaderName::from_static(name), text?)));
    let attributes = record.attributes();
    // Names of attributes have only letters, digits, `_`, `-` and `.`, so each can be part of a header's name.
    let own = attributes.iter().filter_map(|(name, value)| {
        let name = HeaderName::try_from(format!("x-aws-sqsd-attr-{name}")).ok()?;
        Some((name, value.as_str()?.to_owned()))
    });
    for (name, text) in known.chain(own) {
        let value = if name.as_str().starts_with("ce-") { percent_encoded(&text) } else { as_it_is(&text) };
        let Ok(value) = HeaderValue::try_from(value) else { continue };
        let length = name.as_str().len() + value.len() + ": \r\n".len();
        if length <= left && !headers.contains_key(&name) {
            left -= length;
            headers.insert(name, value);
        }
    }
    headers
}

/// Characters that CloudEvents encodes, besides all that are not ASCII.
const ENCODED: AsciiSet = CONTROLS.add(b' ').add(b'"').add(b'%');

fn percent_encoded(text: &str) -> String {
    utf8_percent_encode(text, &ENCODED).to_string()
}

/// Returns the sender's text if a header can have it, and it does not look encoded. Encodes it otherwise.
fn as_it_is(text: &str) -> String {
    let is_plain =
        text.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'%') && text.trim() == text;
    if is_plain { text.to_owned() } else { percent_encoded(text) }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use redrive::Attribute;

    use super::*;

    fn names_and_values(record: &Record<'_>) -> Vec<(String, String)> {
        let post = Post::from_message(record).unwrap();
        let text = |value: &HeaderValue| value.to_str().unwrap().to_owned();
        post.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect()
    }

    fn value(record: &Record<'_>, name: &str) -> Option<String> {
        names_and_values(record).into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    #[test]
    fn a_message_has_the_headers_of_beanstalk_and_of_cloudevents() {
        let second = SystemTime::UNIX_EPOCH + Duration::from_millis(1_764_151_200_250);
        let record = Record::builder()
            .id("m-1")
            .body("tea")
            .attempt(3)
            .group("a \"b\" 100%")
            .sent_at(second)
            .first_received_at(second)
            .sender_id("AROA1:host")
            .trace_header("Root=1-5759e988-bd862e3fe1be46a994272793")
            .attribute("kind", "placed")
            .attribute("cents", Attribute::text("Number", "450"))
            .attribute("seal", Attribute::binary("Binary", [1, 2]))
            .build();
        let mut found = names_and_values(&record);
        found.sort();
        let expected = [
            ("ce-id", "m-1"),
            ("ce-partitionkey", "a%20%22b%22%20100%25"),
            ("ce-source", "arn:aws:sqs:us-east-1:123456789012:test-queue"),
            ("ce-specversion", "1.0"),
            ("ce-time", "2025-11-26T10:00:00.250Z"),
            ("ce-type", "com.amazonaws.sqs.message"),
            ("x-amzn-trace-id", "Root=1-5759e988-bd862e3fe1be46a994272793"),
            ("x-aws-sqsd-attr-cents", "450"),
            ("x-aws-sqsd-attr-kind", "placed"),
            ("x-aws-sqsd-first-received-at", "2025-11-26T10:00:00Z"),
            ("x-aws-sqsd-msgid", "m-1"),
            ("x-aws-sqsd-receive-count", "3"),
            ("x-aws-sqsd-sender-id", "AROA1:host"),
        ];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(Post::from_message(&record).unwrap().body, "tea");
    }

    /// The last column has the value that the app receives.
    #[test]
    fn no_value_of_a_sender_is_another_header() {
        for (sent, received) in [
            ("all of it, \"now\"", "all of it, \"now\""),
            ("100%", "100%25"),
            ("a\r\nX-Aws-Sqsd-Msgid: other", "a%0D%0AX-Aws-Sqsd-Msgid:%20other"),
            ("Euro € 😀", "Euro%20%E2%82%AC%20%F0%9F%98%80"),
            (" a ", "%20a%20"),
            ("\t", "%09"),
        ] {
            let record = Record::builder().attribute("kind", sent).trace_header(sent).group(sent).build();
            for name in ["x-aws-sqsd-attr-kind", "x-amzn-trace-id"] {
                assert_eq!(value(&record, name).as_deref(), Some(received), "{name}");
            }
            assert_eq!(value(&record, "x-aws-sqsd-msgid").as_deref(), Some("test-message"));
        }
        let record =
            Record::builder().attribute("Msgid", "x").attribute("a: b", "x").attribute("é", "x").build();
        let names: Vec<_> = names_and_values(&record).into_iter().map(|(name, _)| name).collect();
        assert!(names.contains(&"x-aws-sqsd-attr-msgid".to_owned()), "{names:?}");
        assert_eq!(value(&record, "x-aws-sqsd-msgid").as_deref(), Some("test-message"));
        assert!(names.iter().all(|name| name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':')));
    }

    #[test]
    fn long_attributes_and_names_that_differ_in_case_only_are_left_out() {
        let record = Record::builder()
            .attribute("Kind", "first")
            .attribute("kind", "second")
            .attribute("long", "x".repeat(MOST))
            .attribute("short", "y")
            .build();
        assert_eq!(value(&record, "x-aws-sqsd-attr-kind").as_deref(), Some("first"));
        assert_eq!(value(&record, "x-aws-sqsd-attr-long"), None);
        assert_eq!(value(&record, "x-aws-sqsd-attr-short").as_deref(), Some("y"));
    }
}
