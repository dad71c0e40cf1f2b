//! Notifications of SNS.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::failure::BoxError;
use crate::message::FromMessage;
use crate::message::record::Record;
use redrive_sqs::{Attribute, Attributes};

/// A message from an SNS topic, with or without raw message delivery.
///
/// <https://docs.aws.amazon.com/sns/latest/dg/sns-message-and-json-formats.html>
///
/// ```
/// use redrive::{Consumer, Failure, envelope::Sns};
///
/// #[derive(serde::Deserialize)]
/// struct Order { cents: u64 }
///
/// async fn place(order: Sns<Order>) -> Result<(), Failure> {
///     let topic = order.notification.map_or("(raw delivery)".into(), |notification| notification.topic_arn);
///     tracing::info!(topic, order.message.cents, "placed");
///     Ok(())
/// }
/// let consumer = Consumer::new(place);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Sns<T> {
    /// The published message.
    pub message: T,
    /// The other fields of the notification; `None` with raw message delivery.
    pub notification: Option<Notification>,
}

/// The fields of a notification besides the message.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Notification {
    /// The id that SNS assigned: the same for every subscriber. Empty if it is missing.
    pub message_id: String,
    /// The ARN of the topic.
    pub topic_arn: String,
    /// The subject, if the publisher gave one.
    pub subject: Option<String>,
    /// The time of publication, as SNS writes it (RFC 3339). Empty if it is missing.
    pub timestamp: String,
    /// The attributes that the publisher set; those of type `Binary` hold the base64 text.
    pub attributes: Attributes,
}

impl<T> Sns<T> {
    /// Creates a message as raw message delivery has it, for a test. Set `notification` for one with an envelope.
    ///
    /// ```
    /// use redrive::envelope::{Notification, Sns};
    ///
    /// let mut order = Sns::new("tea");
    /// order.notification = Some(Notification::new("arn:aws:sns:eu-central-1:123456789012:orders"));
    /// ```
    #[must_use]
    pub const fn new(message: T) -> Self {
        Self { message, notification: None }
    }
}

impl Notification {
    /// Creates the fields of a notification from this topic, for a test. All others are empty.
    #[must_use]
    pub fn new(topic_arn: impl Into<String>) -> Self {
        Self {
            message_id: String::new(),
            topic_arn: topic_arn.into(),
            subject: None,
            timestamp: String::new(),
            attributes: Attributes::new(),
        }
    }
}

/// A body with these two fields is an envelope.
#[derive(Deserialize)]
#[expect(dead_code, reason = "they only have to be there")]
struct Head {
    #[serde(rename = "Type")]
    kind: String,
    #[serde(rename = "TopicArn")]
    topic_arn: String,
}

/// Emulators and tests omit fields that a consumer rarely reads.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Wire {
    #[serde(rename = "Type")]
    kind: String,
    topic_arn: String,
    message_id: Option<String>,
    subject: Option<String>,
    message: String,
    timestamp: Option<String>,
    message_attributes: Option<BTreeMap<String, WireAttribute>>,
}

#[derive(Deserialize)]
struct WireAttribute {
    #[serde(rename = "Type")]
    data_type: String,
    #[serde(rename = "Value")]
    value: String,
}

impl<T: FromMessage> FromMessage for Sns<T> {
    fn from_message(record: &Record<'_>) -> Result<Self, BoxError> {
        let wire = match serde_json::from_str::<Wire>(record.body()) {
            Ok(wire) => wire,
            Err(error) if serde_json::from_str::<Head>(record.body()).is_ok() => {
                return Err(format!("an SNS notification that cannot be read: {error}").into());
            }
            // It was delivered raw.
            Err(_) => return Ok(Self { message: T::from_message(record)?, notification: None }),
        };
        if wire.kind != "Notification" {
            return Err(format!("an SNS message of type {}, not a Notification", wire.kind).into());
        }
        let attribute =
            |(name, wire): (String, WireAttribute)| (name, Attribute::text(wire.data_type, wire.value));
        Ok(Self {
            message: T::from_message(&record.with_body(&wire.message))?,
            notification: Some(Notification {
                message_id: wire.message_id.unwrap_or_default(),
                topic_arn: wire.topic_arn,
                subject: wire.subject,
                timestamp: wire.timestamp.unwrap_or_default(),
                attributes: wire.message_attributes.into_iter().flatten().map(attribute).collect(),
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::body::Text;
    use crate::unit_testing::Sample;

    const NOTIFICATION: &str = r#"{
        "Type": "Notification", "MessageId": "22b80b92", "TopicArn": "arn:aws:sns:eu-central-1:123456789012:orders",
        "Subject": "new", "Message": "{\"cents\": 450}", "Timestamp": "2026-11-21T07:50:00.000Z", "SignatureVersion": "1",
        "MessageAttributes": {"tenant": {"Type": "String", "Value": "acme"}}}"#;

    fn read<T: FromMessage>(body: &'static str) -> Result<Sns<T>, BoxError> {
        Sns::from_message(&Sample { body, ..Sample::default() }.record(0))
    }

    #[test]
    fn a_notification_is_opened_and_its_envelope_stays_in_reach() {
        let order: Sns<BTreeMap<String, u64>> = read(NOTIFICATION).unwrap();
        assert_eq!(order.message["cents"], 450);
        let notification = order.notification.unwrap();
        assert_eq!(notification.topic_arn, "arn:aws:sns:eu-central-1:123456789012:orders");
        assert_eq!(notification.subject.as_deref(), Some("new"));
        assert_eq!(notification.attributes["tenant"].as_str(), Some("acme"));
    }

    #[test]
    fn a_notification_needs_only_its_type_topic_and_message() {
        let body =
            r#"{"Type": "Notification", "TopicArn": "arn", "Message": "tea", "MessageAttributes": null}"#;
        let read_text: Sns<Text> = read(body).unwrap();
        let notification = read_text.notification.unwrap();
        assert_eq!((read_text.message.0.as_str(), notification.topic_arn.as_str()), ("tea", "arn"));
        assert_eq!((notification.message_id, notification.timestamp), (String::new(), String::new()));
        let error = read::<Text>(r#"{"Type": "Notification", "TopicArn": "arn"}"#).unwrap_err().to_string();
        assert!(
            error.starts_with("an SNS notification that cannot be read: missing field `Message`"),
            "{error}"
        );
    }

    #[test]
    fn a_raw_delivery_is_decoded_without_an_envelope() {
        let order: Sns<BTreeMap<String, u64>> = read(r#"{"cents": 450}"#).unwrap();
        assert_eq!((order.message["cents"], order.notification.is_none()), (450, true));
        assert_eq!(read::<Text>("plain").unwrap().message.0, "plain");
    }

    #[test]
    fn a_subscription_confirmation_is_not_a_notification() {
        let body = NOTIFICATION.replace("\"Notification\"", "\"SubscriptionConfirmation\"");
        let error = read::<Text>(body.leak()).unwrap_err();
        assert_eq!(error.to_string(), "an SNS message of type SubscriptionConfirmation, not a Notification");
    }
}
