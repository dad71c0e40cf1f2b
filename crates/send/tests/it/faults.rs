//! What a sender does when SQS fails, refuses or does not answer.

use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use redrive_local::kit::{Fault, Queue, TestAws};
use redrive_send::{LargeBodies, NewMessage, PayloadPointer, SendError, Sender};

pub(crate) fn sender(aws: &TestAws, queue: &Queue) -> Sender {
    Sender::new(aws.sqs(), queue.url())
}

/// Returns the bodies of the queue, sorted.
fn bodies(queue: &Queue) -> Vec<String> {
    let batches = std::iter::from_fn(|| Some(queue.receive(10)).filter(|records| !records.is_empty()));
    let mut bodies: Vec<_> =
        batches.flatten().map(|record| record["body"].as_str().unwrap().to_owned()).collect();
    bodies.sort();
    bodies
}

fn numbered(count: usize) -> Vec<String> {
    (100..100 + count).map(|number| number.to_string()).collect()
}

#[tokio::test(start_paused = true)]
async fn ten_messages_are_one_call_and_their_results_are_in_order() {
    let aws = TestAws::new();
    let queue = aws.queue("orders").create();
    let results = sender(&aws, &queue).send_all(100..125).await;
    let ids: Vec<_> = results.into_iter().map(|result| result.unwrap().message_id).collect();
    let sent: Vec<_> = queue.messages().iter().map(|message| message.id().to_owned()).collect();
    assert_eq!(ids, sent);
    assert_eq!(aws.calls()["SendMessageBatch"], 3);
    assert_eq!(bodies(&queue), numbered(25));
}

#[tokio::test(start_paused = true)]
async fn only_failed_entries_are_sent_again() {
    let aws = TestAws::new();
    let queue = aws.queue("orders").create();
    aws.faults(|_, number| (number < 3).then_some(Fault::HalfFails));
    let results = sender(&aws, &queue).concurrency(1).send_all(100..110).await;
    assert!(results.iter().all(|result| matches!(result, Ok(sent) if !sent.may_be_twice)), "{results:?}");
    assert_eq!(bodies(&queue), numbered(10), "each once");
}

#[tokio::test(start_paused = true)]
async fn a_message_without_an_answer_is_sent_again_but_once_on_a_fifo_queue() {
    for (name, copies) in [("orders", 2), ("orders.fifo", 1)] {
        let aws = TestAws::new();
        let queue = aws.queue(name).create();
        aws.faults(|_, number| (number == 0).then_some(Fault::AnswerLost));
        let mut message = NewMessage::text("once");
        if copies == 1 {
            message = message.group("g").deduplication("d");
        }
        let sent = sender(&aws, &queue).send(message).await.unwrap();
        assert_eq!(sent.may_be_twice, copies == 2);
        assert_eq!(bodies(&queue).len(), copies);
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_is_not_reported_as_sent_unless_sqs_has_confirmed_it() {
    for (fault, expected) in [
        (
            Fault::Hangs,
            "the message may have been sent: the message was not sent in time: SQS did not answer within 10 s",
        ),
        (
            Fault::Blank,
            "the message may have been sent: the message was not sent in time: SQS gave no result for it",
        ),
        (Fault::Throttled, "the message was not sent in time: RequestThrottled: a fault of the test"),
        (Fault::Denied, "SQS refused the call: AccessDeniedException: a fault of the test"),
    ] {
        let aws = TestAws::new();
        let queue = aws.queue("orders").create();
        aws.faults(move |_, _| Some(fault));
        let began = aws.elapsed();
        let results = sender(&aws, &queue).send_all(0..25).await;
        for result in results {
            assert_eq!(result.unwrap_err().to_string(), expected);
        }
        let (took, longest) = (aws.elapsed() - began, if fault == Fault::Denied { 0 } else { 75 });
        assert!(took <= Duration::from_secs(longest), "{fault:?}: {took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_fifo_group_keeps_its_order_over_faults() {
    let aws = TestAws::new();
    let queue = aws.queue("orders.fifo").attribute("ContentBasedDeduplication", "true").create();
    let faults = [Fault::HalfFails, Fault::AnswerLost, Fault::Throttled, Fault::Refused, Fault::HalfFails];
    aws.faults(move |_, number| (number % 2 == 0).then(|| faults[number / 2 % faults.len()]));
    let messages =
        (100..160).map(|number| NewMessage::text(number.to_string()).group(["a", "b", "c"][number % 3]));
    let results = sender(&aws, &queue).send_all(messages).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    let received = bodies_in_order(&queue).await;
    for group in ["a", "b", "c"] {
        let of_group: Vec<_> = received.iter().filter(|(found, _)| found == group).collect();
        assert!(of_group.len() == 20 && of_group.is_sorted(), "{of_group:?}");
    }
}

/// Receives and deletes until the queue is empty.
async fn bodies_in_order(queue: &Queue) -> Vec<(String, String)> {
    let seen = std::sync::Mutex::new(Vec::new());
    let function = async |event: serde_json::Value, _| {
        for record in event["Records"].as_array().unwrap() {
            let group = record["attributes"]["MessageGroupId"].as_str().unwrap().to_owned();
            seen.lock().unwrap().push((group, record["body"].as_str().unwrap().to_owned()));
        }
        Ok::<_, String>(serde_json::json!({ "batchItemFailures": [] }))
    };
    queue.invokes(function).until_idle().await;
    seen.into_inner().unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_invalid_message_stops_its_fifo_group() {
    let aws = TestAws::new();
    let queue = aws.queue("orders.fifo").attribute("ContentBasedDeduplication", "true").create();
    let in_group = |body: &str, group: &str| NewMessage::text(body).group(group);
    let messages = [in_group("1", "a"), in_group("", "a"), in_group("3", "a"), in_group("4", "b")];
    let results = sender(&aws, &queue).send_all(messages).await;
    assert!(matches!(&results[..], [Ok(_), Err(SendError::Invalid(_)), Err(SendError::Behind), Ok(_)]));
    assert_eq!(bodies(&queue), ["1", "4"]);
}

/// A message waits for others only while a call is under way.
#[tokio::test(start_paused = true)]
async fn the_messages_of_a_stream_are_sent_as_they_come() {
    let aws = TestAws::new();
    aws.latency(Duration::from_secs(1));
    let queue = aws.queue("orders").create();
    let ticks = stream::unfold(0, async |number| {
        tokio::time::sleep(Duration::from_millis(250)).await;
        (number < 12).then_some((number, number + 1))
    });
    let sender = sender(&aws, &queue);
    let mut results = std::pin::pin!(sender.send_stream(Box::pin(ticks)));
    assert!(results.next().await.unwrap().is_ok());
    assert_eq!(aws.elapsed(), Duration::from_millis(1_250));
    assert_eq!(results.count().await, 11);
    assert_eq!(aws.calls()["SendMessageBatch"], 4, "one, and then four for each second of a call");
}

struct Shelf;

impl LargeBodies for Shelf {
    fn threshold(&self) -> usize {
        100
    }

    async fn store(&self, body: String) -> Result<PayloadPointer, Box<dyn std::error::Error + Send + Sync>> {
        if body.contains("fail") {
            return Err("the shelf is full".into());
        }
        if body.contains("hang") {
            std::future::pending::<()>().await;
        }
        Ok(PayloadPointer { bucket: "shelf".to_owned(), key: body.len().to_string() })
    }
}

#[tokio::test(start_paused = true)]
async fn large_bodies_are_stored_and_pointers_are_sent() {
    let aws = TestAws::new();
    let queue = aws.queue("orders").create();
    let sender = sender(&aws, &queue).large_bodies(Shelf);
    let fails = format!("fail{}", "x".repeat(200));
    let results = sender.send_all(["small".to_owned(), "x".repeat(200), fails]).await;
    assert!(results[0].is_ok() && results[1].is_ok());
    assert_eq!(
        results[2].as_ref().unwrap_err().to_string(),
        "the message was not sent: its body could not be stored: the shelf is full"
    );
    let pointer =
        r#"["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3BucketName":"shelf","s3Key":"202"}]"#;
    assert_eq!(bodies(&queue), ["\"small\"", pointer]);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_cannot_be_stored_delays_no_small_message() {
    let aws = TestAws::new();
    let queue = aws.queue("orders").create();
    let sender = sender(&aws, &queue).large_bodies(Shelf);
    let sending = sender.send_all(["small".to_owned(), format!("hang{}", "x".repeat(200))]);
    let soon = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(queue.messages().len(), 1);
    };
    let (results, ()) = tokio::join!(sending, soon);
    assert!(matches!(&results[..], [Ok(_), Err(SendError::Body(_))]), "{results:?}");
    assert_eq!(aws.elapsed(), Duration::from_secs(300));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_hangs_delays_no_small_message_of_a_stream() {
    let aws = TestAws::new();
    let queue = aws.queue("orders").create();
    let sender = sender(&aws, &queue).large_bodies(Shelf);
    let messages = ["small".to_owned(), format!("hang{}", "x".repeat(200))];
    let messages = stream::iter(messages).chain(stream::pending());
    let mut results = std::pin::pin!(sender.send_stream(messages));
    assert!(results.next().await.unwrap().is_ok());
    assert_eq!(aws.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_body_is_not_stored_for_a_message_that_sqs_would_refuse() {
    let aws = TestAws::new();
    let queue = aws.queue("orders").create();
    let sender = sender(&aws, &queue).large_bodies(Shelf);
    // With the attribute of a stored body, there would be eleven.
    let ten = (0..10).map(|number| (format!("a{number}"), "x"));
    let message = NewMessage::text(format!("hang{}", "x".repeat(200)));
    let message = ten.fold(message, |message, (name, value)| message.attribute(name, value));
    assert!(matches!(sender.send(message).await, Err(SendError::Invalid(_))));
    assert_eq!(aws.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_stream_goes_on_once_the_permission_is_back() {
    let aws = TestAws::new();
    let queue = aws.queue("orders").create();
    aws.faults(|_, number| (number == 0).then_some(Fault::Denied));
    let ticks = stream::unfold(0, async |number| {
        tokio::time::sleep(Duration::from_secs(2)).await;
        (number < 5).then_some((number, number + 1))
    });
    let sender = sender(&aws, &queue);
    let results: Vec<_> = sender.send_stream(Box::pin(ticks)).map(|result| result.is_ok()).collect().await;
    assert_eq!(results, [false, false, false, true, true], "for five seconds, nothing is tried");
}

/// SQS knows a message of a FIFO queue again for five minutes only.
#[tokio::test(start_paused = true)]
async fn a_fifo_queue_has_each_message_once_however_slowly_results_are_taken() {
    for _ in 0..20 {
        let aws = TestAws::new();
        aws.latency(Duration::from_millis(200));
        let queue = aws.queue("orders.fifo").attribute("ContentBasedDeduplication", "true").create();
        aws.faults(|_, number| (number == 0).then_some(Fault::AnswerLost));
        let messages = ["a", "b"].map(|group| NewMessage::text(group).group(group));
        let sender = sender(&aws, &queue);
        let mut results = std::pin::pin!(sender.send_stream(stream::iter(messages)));
        let first = results.next().await.unwrap();
        tokio::time::sleep(Duration::from_secs(301)).await;
        let second = results.next().await.unwrap();
        assert!(queue.messages().len() == 2 || second.is_err(), "{first:?} {second:?}");
        assert_eq!(queue.messages().len(), 2);
    }
}
