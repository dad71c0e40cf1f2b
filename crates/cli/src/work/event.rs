//! Writes messages as Lambda's SQS event, and reads Lambda's partial batch response. Pure.
//!
//! <https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html>

use std::collections::BTreeSet;
use std::time::SystemTime;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use redrive::{Attribute, BoxError, Failure, FromMessage, Item, Record};
use redrive_local::rules::{failed_messages, md5_of_body};
use redrive_sqs::is_fifo;
use serde_json::{Map, Value, json};

use super::answer::{Response, failure};

/// A message as a record of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EventRecord {
    pub(super) id: String,
    pub(super) attempt: u32,
    /// Message group on a FIFO queue.
    pub(super) group: Option<String>,
    json: String,
}

impl FromMessage for EventRecord {
    fn from_message(record: &Record<'_>) -> Result<Self, BoxError> {
        Ok(Self {
            id: record.id().to_owned(),
            attempt: record.attempt(),
            group: record.group().filter(|_| is_fifo(record.source())).map(str::to_owned),
            json: written(record).to_string(),
        })
    }
}

/// Returns the event of these messages.
pub(super) fn event(messages: &[Item<EventRecord>]) -> String {
    let records: Vec<&str> = messages.iter().map(|message| message.json.as_str()).collect();
    format!("{{\"Records\":[{}]}}", records.join(","))
}

/// Settles each message as the response says. Returns the groups of those that failed.
///
/// # Errors
/// The response is not a partial batch response. As on Lambda, all messages have failed.
pub(super) fn settle(
    messages: Vec<Item<EventRecord>>,
    response: &Response,
) -> Result<BTreeSet<String>, Failure> {
    let ids: Vec<String> = messages.iter().map(|message| message.id.clone()).collect();
    let known: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
    let failed = match response.is_complete {
        true => failed_messages(&response.body, &known),
        false => Err("its body is longer than 1 MiB, ended early, or has no Content-Length".to_owned()),
    };
    let failed = failed.map_err(|error| failure("response", format!("not a batch response: {error}")))?;
    let mut groups = BTreeSet::new();
    for message in messages {
        match failed.contains(message.id.as_str()) {
            true => {
                groups.extend(message.group.clone());
                message.fail(failure("item-failure", "in batchItemFailures".to_owned()));
            }
            // A message behind a failed one of its group is done too, because the app has handled it.
            false => message.done(),
        }
    }
    Ok(groups)
}

/// Writes a record as Lambda does, but without a receipt handle: only redrive deletes messages and extends their timeouts.
fn written(record: &Record<'_>) -> Value {
    let mut system = json!({
        "ApproximateReceiveCount": record.attempt().to_string(),
        "SentTimestamp": milliseconds(record.sent_at()),
        "SenderId": record.sender_id().unwrap_or_default(),
        "ApproximateFirstReceiveTimestamp": milliseconds(record.first_received_at()),
    });
    for (name, value) in [
        ("AWSTraceHeader", record.trace_header()),
        ("MessageGroupId", record.group()),
        ("MessageDeduplicationId", record.deduplication_id()),
    ] {
        if let Some(value) = value {
            system[name] = value.into();
        }
    }
    let attributes = record.attributes();
    let attributes = attributes.iter().map(|(name, value)| (name.clone(), attribute(value)));
    json!({
        "messageId": record.id(),
        "receiptHandle": "",
        "body": record.body(),
        "attributes": system,
        "messageAttributes": attributes.collect::<Map<_, _>>(),
        "md5OfBody": md5_of_body(record.body()),
        "eventSource": "aws:sqs",
        "eventSourceARN": record.source(),
        "awsRegion": record.source().split(':').nth(3).unwrap_or_default(),
    })
}

fn attribute(attribute: &Attribute) -> Value {
    let (name, value) = match attribute.as_str() {
        Some(text) => ("stringValue", text.to_owned()),
        None => ("binaryValue", BASE64_STANDARD.encode(attribute.as_bytes())),
    };
    json!({ name: value, "stringListValues": [], "binaryListValues": [], "dataType": attribute.data_type() })
}

/// Returns the milliseconds since the epoch.
fn milliseconds(time: Option<SystemTime>) -> String {
    let since = time.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    since.unwrap_or_default().as_millis().to_string()
}

#[cfg(test)]
mod tests {
    use redrive::Bulk;

    use super::*;

    fn bulk(ids: &[&str]) -> (Bulk<EventRecord>, redrive::Rulings) {
        let record = |id: &&str| EventRecord::from_message(&Record::builder().id(*id).build()).unwrap();
        Bulk::with_rulings(ids.iter().map(record))
    }

    #[test]
    fn an_event_is_as_lambda_writes_it() {
        let second = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_764_151_200);
        let record = Record::builder()
            .id("m-1")
            .body("\"tea\"")
            .attempt(2)
            .group("acme")
            .deduplication_id("d-1")
            .sender_id("AROA1:host")
            .sent_at(second)
            .first_received_at(second)
            .attribute("kind", "placed")
            .attribute("seal", Attribute::binary("Binary", [1, 2]))
            .build();
        let messages = Bulk::new([EventRecord::from_message(&record).unwrap()]);
        let event = event(&messages.into_iter().collect::<Vec<_>>());
        let expected = json!({ "Records": [{
            "messageId": "m-1",
            "receiptHandle": "",
            "body": "\"tea\"",
            "attributes": {
                "ApproximateReceiveCount": "2",
                "SentTimestamp": "1764151200000",
                "SenderId": "AROA1:host",
                "ApproximateFirstReceiveTimestamp": "1764151200000",
                "MessageGroupId": "acme",
                "MessageDeduplicationId": "d-1",
            },
            "messageAttributes": {
                "kind": {
                    "stringValue": "placed", "stringListValues": [], "binaryListValues": [], "dataType": "String"
                },
                "seal": {
                    "binaryValue": "AQI=", "stringListValues": [], "binaryListValues": [], "dataType": "Binary"
                },
            },
            "md5OfBody": md5_of_body("\"tea\""),
            "eventSource": "aws:sqs",
            "eventSourceARN": "arn:aws:sqs:us-east-1:123456789012:test-queue",
            "awsRegion": "us-east-1",
        }] });
        assert_eq!(serde_json::from_str::<Value>(&event).unwrap(), expected);
    }

    /// Checks the results of m-1, m-2 and m-3: `d` done, `f` failed, `-` left to the end of the call.
    #[test]
    fn a_response_settles_each_message() {
        for (body, is_complete, expected) in [
            ("", true, Some("ddd")),
            ("null", true, Some("ddd")),
            ("{}", true, Some("ddd")),
            (r#"{"batchItemFailures": []}"#, true, Some("ddd")),
            (r#"{"batchItemFailures": [{"itemIdentifier": "m-2"}]}"#, true, Some("dfd")),
            (
                r#"{"batchItemFailures": [{"itemIdentifier": "m-1"}, {"itemIdentifier": "m-3"}]}"#,
                true,
                Some("fdf"),
            ),
            (r#"{"batchItemFailures": [{"itemIdentifier": "other"}]}"#, true, None),
            (r#"{"batchItemFailures": [{"itemIdentifier": ""}]}"#, true, None),
            ("ok", true, None),
            ("", false, None),
        ] {
            let (messages, rulings) = bulk(&["m-1", "m-2", "m-3"]);
            let body_bytes = body.as_bytes().to_vec();
            let response = Response { status: 200, retry_after: None, body: body_bytes, is_complete };
            let settled = settle(messages.into_iter().collect(), &response);
            let of_each = rulings.take().into_iter().map(|ruling| match ruling {
                None => '-',
                Some(Ok(())) => 'd',
                Some(Err(_)) => 'f',
            });
            let of_each: String = of_each.collect();
            assert_eq!(of_each, expected.unwrap_or("---"), "{body:?}");
            assert_eq!(settled.is_ok(), expected.is_some(), "{body:?}");
        }
    }
}
