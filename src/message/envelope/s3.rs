//! Notifications of S3 buckets.

use percent_encoding::percent_decode_str;
use serde::Deserialize;

use crate::failure::BoxError;
use crate::message::FromMessage;
use crate::message::record::Record;

/// Events of objects in a bucket. S3 sends an `s3:TestEvent` when notifications are switched on. It has no objects.
///
/// <https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html>
///
/// ```
/// use redrive::{Consumer, Failure, envelope::S3Notification};
///
/// async fn scan(upload: S3Notification) -> Result<(), Failure> {
///     for object in upload.objects {
///         tracing::info!(object.event_name, object.bucket, object.key, "scanning");
///     }
///     Ok(())
/// }
/// let consumer = Consumer::new(scan);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct S3Notification {
    /// The events, usually one.
    pub objects: Vec<S3Object>,
}

/// An event of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct S3Object {
    /// The name of the event, such as `ObjectCreated:Put`.
    pub event_name: String,
    /// The time of the event, as S3 writes it (RFC 3339).
    pub event_time: String,
    /// The bucket's name.
    pub bucket: String,
    /// The key, decoded: S3 sends it URL-encoded, with a plus for each space.
    pub key: String,
    /// Its size in bytes, if the event has one.
    pub size: Option<u64>,
    /// The entity tag, if the event has one.
    pub e_tag: Option<String>,
    /// The version, in buckets with versioning.
    pub version_id: Option<String>,
    /// Orders the events of one key: pad the shorter value on the left with zeros, then compare the texts.
    pub sequencer: Option<String>,
}

impl S3Notification {
    /// Creates a notification, for a test.
    ///
    /// ```
    /// use redrive::envelope::{S3Notification, S3Object};
    ///
    /// let upload = S3Notification::new([S3Object::new("ObjectCreated:Put", "uploads", "new year/photo.jpg")]);
    /// assert_eq!(upload.objects[0].key, "new year/photo.jpg");
    /// ```
    #[must_use]
    pub fn new(objects: impl IntoIterator<Item = S3Object>) -> Self {
        Self { objects: objects.into_iter().collect() }
    }
}

impl S3Object {
    /// Creates an event of the object with this key, for a test. All other fields are empty.
    #[must_use]
    pub fn new(event_name: impl Into<String>, bucket: impl Into<String>, key: impl Into<String>) -> Self {
        Self {
            event_name: event_name.into(),
            event_time: String::new(),
            bucket: bucket.into(),
            key: key.into(),
            size: None,
            e_tag: None,
            version_id: None,
            sequencer: None,
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Wire {
    Events {
        #[serde(rename = "Records")]
        records: Vec<WireEvent>,
    },
    Test {
        #[serde(rename = "Event")]
        event: String,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireEvent {
    event_name: String,
    event_time: String,
    s3: WireS3,
}

#[derive(Deserialize)]
struct WireS3 {
    bucket: WireBucket,
    object: WireObject,
}

#[derive(Deserialize)]
struct WireBucket {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireObject {
    key: String,
    size: Option<u64>,
    e_tag: Option<String>,
    version_id: Option<String>,
    sequencer: Option<String>,
}

impl FromMessage for S3Notification {
    fn from_message(record: &Record<'_>) -> Result<Self, BoxError> {
        match crate::message::body::json(record.body(), "an S3 notification")? {
            Wire::Events { records } => {
                Ok(Self { objects: records.into_iter().map(WireEvent::opened).collect::<Result<_, _>>()? })
            }
            Wire::Test { event } if event == "s3:TestEvent" => Ok(Self { objects: Vec::new() }),
            Wire::Test { .. } => Err("the body is not JSON of an S3 notification: an unknown event".into()),
        }
    }
}

impl WireEvent {
    fn opened(self) -> Result<S3Object, BoxError> {
        let object = self.s3.object;
        let spaced = object.key.replace('+', " ");
        let key = percent_decode_str(&spaced).decode_utf8().map_err(|_| "an object key that is not UTF-8")?;
        Ok(S3Object {
            event_name: self.event_name,
            event_time: self.event_time,
            bucket: self.s3.bucket.name,
            key: key.into_owned(),
            size: object.size,
            e_tag: object.e_tag,
            version_id: object.version_id,
            sequencer: object.sequencer,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::envelope::Sns;
    use crate::unit_testing::Sample;

    fn read<T: FromMessage>(body: &str) -> T {
        T::from_message(&Sample { body: body.to_owned().leak(), ..Sample::default() }.record(0)).unwrap()
    }

    const PUT: &str = r#"{"Records": [{"eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": "eu-central-1",
        "eventTime": "2026-11-21T07:50:00.000Z", "eventName": "ObjectCreated:Put", "s3": {"bucket": {"name": "uploads"},
        "object": {"key": "new+year/gr%C3%BC%C3%9Fe%2B1.txt", "size": 1024, "eTag": "d41d8cd9", "sequencer": "0A1B"}}}]}"#;

    #[test]
    fn keys_are_decoded() {
        let object = &read::<S3Notification>(PUT).objects[0];
        assert_eq!((object.bucket.as_str(), object.key.as_str()), ("uploads", "new year/grüße+1.txt"));
        assert_eq!((object.size, object.version_id.as_deref()), (Some(1024), None));
    }

    #[test]
    fn the_test_event_has_no_objects() {
        let test = r#"{"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "uploads"}"#;
        assert!(read::<S3Notification>(test).objects.is_empty());
    }

    #[test]
    fn envelopes_nest() {
        let wrapped = serde_json::json!({ "Type": "Notification", "MessageId": "1", "TopicArn": "t", "Message": PUT,
            "Timestamp": "2026-11-21T07:50:00.000Z" });
        assert_eq!(read::<Sns<S3Notification>>(&wrapped.to_string()).message.objects.len(), 1);
    }
}
