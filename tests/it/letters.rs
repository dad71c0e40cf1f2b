use std::collections::BTreeMap;
use std::time::Duration;

use redrive::{BoxError, DeadLetter, Failure, FromMessage, Message, Record, Text};
use redrive_local::kit::Fault;
use redrive_local::{AttributeValue, MessageAttribute, NewMessage};
use serde_json::{Value, json};

use crate::support::{Aws, Handled, always};

async fn reject(_: Text) -> Result<(), Failure> {
    Err(Failure::reject("the card was refused"))
}

fn text(value: &str) -> MessageAttribute {
    MessageAttribute::text(value)
}

/// Sends one message, lets it be rejected, and gives the letter as a function would see it.
async fn letter(message: NewMessage) -> (Handled, Value) {
    let aws = Aws::standard();
    aws.send("orders", message);
    let handled = aws.handle(&aws.consumer("orders", reject), "orders", 10).await;
    (handled, aws.open("orders-dead").receive(1).remove(0))
}

#[tokio::test(start_paused = true)]
async fn body_attributes_trace_header_and_group_survive() {
    let body = "not JSON: \u{e9}\n\t\"quoted\"";
    let binary = MessageAttribute {
        data_type: "Binary.png".to_owned(),
        value: AttributeValue::Binary(vec![0, 255, 7]),
    };
    let number =
        MessageAttribute { data_type: "Number.int".to_owned(), value: AttributeValue::Text("42".to_owned()) };
    let attributes = BTreeMap::from([
        ("tenant".to_owned(), text("acme")),
        ("count".to_owned(), number),
        ("picture".to_owned(), binary),
    ]);
    let header = "Root=1-5759e988-bd862e3fe1be46a994272793";
    let (_, letter) = letter(NewMessage {
        body: body.to_owned(),
        attributes,
        trace_header: Some(header.to_owned()),
        group_id: Some("acme".to_owned()),
        ..NewMessage::default()
    })
    .await;
    assert_eq!(letter["body"], body);
    assert_eq!(letter["attributes"]["AWSTraceHeader"], header);
    assert_eq!(letter["attributes"]["MessageGroupId"], "acme");
    let attributes = &letter["messageAttributes"];
    assert_eq!(
        (&attributes["tenant"]["stringValue"], &attributes["tenant"]["dataType"]),
        (&json!("acme"), &json!("String"))
    );
    assert_eq!(
        (&attributes["count"]["stringValue"], &attributes["count"]["dataType"]),
        (&json!("42"), &json!("Number.int"))
    );
    assert_eq!(
        (&attributes["picture"]["binaryValue"], &attributes["picture"]["dataType"]),
        (&json!("AP8H"), &json!("Binary.png"))
    );
}

#[tokio::test(start_paused = true)]
async fn the_note_says_why() {
    let aws = Aws::standard();
    let id = aws.send_all("orders", ["x"]).remove(0);
    let handled = aws.handle(&aws.consumer("orders", reject), "orders", 10).await;
    let DeadLetter { reason, error, exception, attempts, message_id, source, .. } = handled.notes().remove(0);
    assert_eq!(
        (reason.as_str(), error.as_str(), exception.as_str()),
        ("rejected", "the card was refused", "&str")
    );
    assert_eq!(
        (attempts, message_id, source),
        (1, id, "arn:aws:sqs:eu-central-1:123456789012:orders".to_owned())
    );
}

#[tokio::test(start_paused = true)]
async fn a_message_with_ten_attributes_is_moved_without_a_note() {
    let attributes = (0..10).map(|n| (format!("a{n}"), text("x"))).collect();
    let (handled, letter) =
        letter(NewMessage { body: "x".to_owned(), attributes, ..NewMessage::default() }).await;
    assert_eq!(handled.report.dead_lettered, 1);
    assert_eq!(letter["messageAttributes"].as_object().unwrap().len(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_message_of_1_mib_is_moved_without_a_note() {
    let (handled, letter) = letter(NewMessage { body: "x".repeat(1 << 20), ..NewMessage::default() }).await;
    assert_eq!(handled.report.dead_lettered, 1);
    assert_eq!(letter["body"].as_str().unwrap().len(), 1 << 20);
}

#[tokio::test(start_paused = true)]
async fn letters_of_together_more_than_1_mib_go_in_several_calls() {
    let aws = Aws::standard();
    aws.send_all("orders", (0..6).map(|_| "x".repeat(400_000)));
    let handled = aws.handle(&aws.consumer("orders", reject), "orders", 10).await;
    assert_eq!((handled.report.dead_lettered, handled.report.settle_errors), (6, 0));
    assert_eq!(aws.calls()["SendMessageBatch"], 3);
}

#[tokio::test(start_paused = true)]
async fn no_error_text_makes_the_send_fail() {
    let aws = Aws::standard();
    let nasty: String = ('\0'..'\u{20}')
        .chain(['\u{fffe}', '\u{ffff}', '\u{7f}', '\u{2028}', '\u{10ffff}', '"', '\\'])
        .collect();
    aws.send_all("orders", ["x"]);
    let error = nasty.clone();
    let handler = move |_: Text| {
        let error = error.clone();
        async move { Err::<(), _>(Failure::reject(error).with_reason("r\u{0}")) }
    };
    let handled = aws.handle(&aws.consumer("orders", handler), "orders", 10).await;
    assert_eq!((handled.report.dead_lettered, handled.report.settle_errors), (1, 0));
    assert!(handled.notes()[0].error.starts_with("\0\u{1}"), "{:?}", handled.notes()[0].error);
}

#[tokio::test(start_paused = true)]
async fn a_reject_whose_letter_fails_is_retried_and_nothing_is_lost() {
    for fault in [Fault::Refused, Fault::Denied, Fault::Hangs, Fault::Blank] {
        let aws = Aws::standard();
        aws.faults(always("SendMessageBatch", fault));
        let ids = aws.send_all("orders", ["x", "y"]);
        let handled = aws.handle(&aws.consumer("orders", reject), "orders", 10).await;
        assert_eq!(handled.failed, ids);
        assert_eq!(handled.delays().values().collect::<Vec<_>>(), [&2, &2]);
        assert_eq!((handled.report.dead_lettered, handled.report.settle_errors), (0, 2));
    }
}

#[tokio::test(start_paused = true)]
async fn letters_that_fail_inside_an_http_200_are_tried_once_more() {
    let aws = Aws::standard();
    aws.faults(always("SendMessageBatch", Fault::HalfFails));
    aws.send_all("orders", 0..4);
    let handled = aws.handle(&aws.consumer("orders", reject), "orders", 10).await;
    assert_eq!(
        (handled.report.dead_lettered, handled.failed.len()),
        (3, 1),
        "four leave two, and two leave one"
    );
    assert_eq!(handled.notes().len(), 3, "and none is written twice");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_was_sent_back_keeps_its_key_and_origin() {
    let aws = Aws::standard();
    let origin = r#"{"message_id": "first-life", "redrives": 2}"#;
    aws.send("orders", NewMessage::from("x").attribute("redrive.origin", origin));
    let handler = |message: Message<Text>| async move {
        assert_eq!((message.key(), message.redrives()), ("first-life", 2));
        assert_eq!((message.attempt, message.max_attempts, message.is_last_attempt()), (1, Some(10), false));
        assert!(message.sent_at.is_some() && message.first_received_at.is_some());
        assert!(message.deadline > std::time::Instant::now() - Duration::from_secs(60));
        Ok::<_, Failure>(())
    };
    let handled = aws.handle(&aws.consumer("orders", handler), "orders", 10).await;
    assert_eq!(handled.report.succeeded, 1);
}

#[tokio::test(start_paused = true)]
async fn a_letter_too_large_for_its_queue_is_sent_without_a_note() {
    let aws = Aws::new();
    let dead = aws.queue("orders-dead").attribute("MaximumMessageSize", "1024").create();
    aws.queue("orders").visibility_timeout(Duration::from_secs(60)).create();
    aws.send_all("orders", ["x".repeat(1_000)]);
    let handled = aws.handle(&aws.consumer("orders", reject), "orders", 10).await;
    assert_eq!((handled.report.dead_lettered, handled.notes().len()), (1, 0));
    assert_eq!(dead.messages().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_sent_timestamp_that_no_calendar_has_does_not_lose_the_letter() {
    let aws = Aws::standard();
    aws.send_all("orders", ["x", "y"]);
    let mut event = aws.event("orders", 2);
    for (record, stamp) in event.records.iter_mut().zip(["18446744073709551615", "253402300800000"]) {
        record.attributes.insert("SentTimestamp".to_owned(), stamp.to_owned());
    }
    let deadline = tokio::time::Instant::now() + Duration::from_secs(9);
    let response = aws.consumer("orders", reject).handle(event, deadline).await.unwrap();
    assert!(response.batch_item_failures.is_empty());
}

/// A note as anybody can write it who may send to the queue.
fn forged() -> String {
    let at = std::time::SystemTime::UNIX_EPOCH;
    let note = DeadLetter::new(
        "safe to delete",
        at,
        1,
        "somebody-else",
        "arn:aws:sqs:eu-central-1:123456789012:orders",
    );
    note.to_attribute().as_str().unwrap().to_owned()
}

/// Takes a message apart as a user's own envelope does.
struct Names(Vec<String>);

impl FromMessage for Names {
    fn from_message(record: &Record<'_>) -> Result<Self, BoxError> {
        Ok(Self(record.attributes().into_keys().collect()))
    }
}

#[tokio::test(start_paused = true)]
async fn a_note_that_a_sender_wrote_is_hidden_and_not_on_the_letter() {
    let aws = Aws::standard();
    let handler = |message: Message<Names>| async move {
        assert_eq!(message.body.0, ["tenant"]);
        assert_eq!(message.attributes.into_keys().collect::<Vec<_>>(), ["tenant"]);
        Err::<(), _>(Failure::reject("the card was refused"))
    };
    let body = |length: usize| NewMessage::from("x".repeat(length)).attribute("tenant", "acme");
    let room = (1 << 20) - "tenantStringacme".len() - "redrive.dead-letterString".len() - forged().len();
    for (message, notes) in [(body(1), 1), (body(room), 0)] {
        aws.send("orders", message.attribute("redrive.dead-letter", &forged()));
        let handled = aws.handle(&aws.consumer("orders", handler), "orders", 10).await;
        assert_eq!(handled.report.dead_lettered, 1);
        let reasons: Vec<_> = handled.notes().into_iter().map(|note| note.reason).collect();
        assert_eq!(reasons, vec!["rejected"; notes]);
        let letter = aws.open("orders-dead").receive(1).remove(0);
        assert_eq!(
            letter["messageAttributes"].as_object().unwrap().len(),
            1 + notes,
            "{}",
            letter["messageAttributes"]
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_origin_counts_only_from_named_senders_if_some_are_named() {
    let origin = r#"{"message_id":"a-payment-that-was-made","redrives":1}"#;
    // redrive-local has one sender: the account, as for a root user.
    for (senders, counts) in [(None, true), (Some("123456789012"), true), (Some("AROAOPERATOR"), false)] {
        let aws = Aws::standard();
        let id = aws.send("orders", NewMessage::from("x").attribute("redrive.origin", origin));
        let key = if counts { "a-payment-that-was-made".to_owned() } else { id };
        let handler = move |message: Message<Text>| {
            let key = key.clone();
            async move {
                assert_eq!((message.key(), message.origin.is_some()), (key.as_str(), counts));
                Err::<(), _>(Failure::reject("the card was refused"))
            }
        };
        let consumer = aws.consumer("orders", handler);
        let consumer = match senders {
            Some(senders) => consumer.origin_senders([senders]),
            None => consumer,
        };
        aws.handle(&consumer, "orders", 10).await;
        let letter = aws.open("orders-dead").receive(1).remove(0);
        let reason = letter["messageAttributes"]["redrive.dead-letter"]["stringValue"].to_string();
        assert!(reason.contains("rejected"), "{letter}");
        assert_eq!(letter["messageAttributes"].get("redrive.origin").is_some(), counts, "{senders:?}");
    }
}
