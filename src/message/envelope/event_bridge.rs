//! Events of EventBridge.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::failure::BoxError;
use crate::message::FromMessage;
use crate::message::record::Record;

/// An event that an EventBridge rule sent to the queue.
///
/// <https://docs.aws.amazon.com/eventbridge/latest/ref/overiew-event-structure.html>
///
/// ```
/// use redrive::{Consumer, Failure, envelope::EventBridge};
///
/// #[derive(serde::Deserialize)]
/// struct Placed { cents: u64 }
///
/// async fn place(event: EventBridge<Placed>) -> Result<(), Failure> {
///     tracing::info!(event.detail_type, event.source, event.detail.cents, "placed");
///     Ok(())
/// }
/// let consumer = Consumer::new(place);
/// ```
///
/// For several types of events, take an enum of the whole event instead, whose tag is the `detail-type`:
///
/// ```
/// use redrive::{Consumer, Failure};
///
/// #[derive(serde::Deserialize)]
/// #[serde(tag = "detail-type", content = "detail", rename_all = "kebab-case")]
/// enum Order {
///     Placed { cents: u64 },
///     Canceled { reason: String },
///     /// Events of any other type, which would otherwise become dead letters.
///     #[serde(untagged)]
///     Other(serde_json::Value),
/// }
///
/// async fn handle(order: Order) -> Result<(), Failure> {
///     match order {
///         Order::Placed { cents } => tracing::info!(cents, "placed"),
///         Order::Canceled { reason } => tracing::info!(reason, "canceled"),
///         Order::Other(event) => tracing::debug!(%event, "ignored"),
///     }
///     Ok(())
/// }
/// let consumer = Consumer::new(handle);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EventBridge<T> {
    /// The content of the event.
    pub detail: T,
    /// The type of the event.
    pub detail_type: String,
    /// The service or application that sent the event.
    pub source: String,
    /// The id of the event.
    pub id: String,
    /// The time of the event, as EventBridge writes it (RFC 3339).
    pub time: String,
    /// The account that the event comes from.
    pub account: String,
    /// The region that the event comes from.
    pub region: String,
    /// The ARNs of the resources that the event is about.
    pub resources: Vec<String>,
}

impl<T> EventBridge<T> {
    /// Creates an event, for a test. All other fields are empty.
    ///
    /// ```
    /// let mut event = redrive::envelope::EventBridge::new("placed", 450);
    /// event.source = "shop".to_owned();
    /// ```
    #[must_use]
    pub fn new(detail_type: impl Into<String>, detail: T) -> Self {
        let [source, id, time, account, region] = [const { String::new() }; 5];
        Self {
            detail,
            detail_type: detail_type.into(),
            source,
            id,
            time,
            account,
            region,
            resources: Vec::new(),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Wire<'body> {
    #[serde(borrow)]
    detail: &'body RawValue,
    detail_type: String,
    source: String,
    id: String,
    time: String,
    account: String,
    region: String,
    #[serde(default)]
    resources: Vec<String>,
}

impl<T: FromMessage> FromMessage for EventBridge<T> {
    fn from_message(record: &Record<'_>) -> Result<Self, BoxError> {
        let wire: Wire<'_> = crate::message::body::json(record.body(), "an EventBridge event")?;
        Ok(Self {
            detail: T::from_message(&record.with_body(wire.detail.get()))?,
            detail_type: wire.detail_type,
            source: wire.source,
            id: wire.id,
            time: wire.time,
            account: wire.account,
            region: wire.region,
            resources: wire.resources,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::unit_testing::Sample;

    #[test]
    fn the_detail_is_decoded_and_the_envelope_stays_in_reach() {
        let body = r#"{"version": "0", "id": "6a7e8feb", "detail-type": "order placed", "source": "shop",
            "account": "123456789012", "time": "2026-11-21T07:50:00Z", "region": "eu-central-1",
            "resources": ["arn:aws:shop:order/1"], "detail": {"cents": 450}}"#;
        let record = Sample { body, ..Sample::default() }.record(0);
        let event = EventBridge::<BTreeMap<String, u64>>::from_message(&record).unwrap();
        assert_eq!(event.detail["cents"], 450);
        assert_eq!((event.detail_type.as_str(), event.source.as_str()), ("order placed", "shop"));
        assert_eq!(event.resources, ["arn:aws:shop:order/1"]);
    }

    #[derive(Deserialize, Debug, PartialEq)]
    #[serde(tag = "detail-type", content = "detail", rename_all = "kebab-case")]
    enum Order {
        Placed {
            cents: u64,
        },
        Canceled(String),
        #[serde(untagged)]
        Other(serde_json::Value),
    }

    fn read<T: FromMessage>(detail_type: &str, detail: &str) -> Result<T, String> {
        let body = format!(
            r#"{{"id": "1", "detail-type": "{detail_type}", "source": "shop", "account": "1", "time": "t",
            "region": "r", "detail": {detail}}}"#
        );
        let record = Sample { body: body.leak(), ..Sample::default() }.record(0);
        T::from_message(&record).map_err(|error| error.to_string())
    }

    #[test]
    fn the_detail_type_of_the_event_chooses_a_variant() {
        assert_eq!(read("placed", r#"{"cents": 450}"#), Ok(Order::Placed { cents: 450 }));
        assert_eq!(read("canceled", r#""late""#), Ok(Order::Canceled("late".to_owned())));
        let Ok(Order::Other(event)) = read("refunded", r#"{"cents": 1}"#) else {
            panic!("it is of no other type")
        };
        assert_eq!(event["detail-type"], "refunded");
    }

    #[test]
    fn a_sender_cannot_choose_the_variant_in_the_detail() {
        let forged = r#"{"detail-type": "placed", "detail": {"cents": 1}}"#;
        let Ok(Order::Other(event)) = read("shipped", forged) else { panic!("it is no order") };
        assert_eq!(event["detail-type"], "shipped");
    }

    #[test]
    fn a_body_that_is_not_an_event_is_refused() {
        let record = Sample { body: r#"{"detail": {}}"#, ..Sample::default() }.record(0);
        let error = EventBridge::<BTreeMap<String, u64>>::from_message(&record).unwrap_err();
        assert!(
            error.to_string().starts_with("the body is not JSON of an EventBridge event: missing field"),
            "{error}"
        );
    }
}
