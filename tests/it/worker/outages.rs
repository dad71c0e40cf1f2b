use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use redrive_local::{EventKind, MessageAttribute, NewMessage};
use serde_json::Value;

use super::proxy::{Call, Fate, Proxy, at_first};
use super::running::Running;
use super::{lives, open, until_done};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn failed_receives_are_retried_after_growing_pauses_and_logged_once() {
    let faults = [(400, "RequestThrottled"), (503, "ServiceUnavailable"), (403, "ExpiredToken")];
    join_all(faults.map(|(status, code)| receives_fail(Fate::Refuse(status, code)))).await;
}

async fn receives_fail(fault: Fate) {
    let mut aws = open(30).await;
    let fate = at_first("ReceiveMessage", 3, fault);
    let proxy = Proxy::before(&aws.local.endpoint_url(), fate).await;
    let url = aws.local.queue_url("orders");
    let mut worker = Running::start(&proxy.url, &url, &[("REDRIVE_DRAIN", "2")]);
    aws.send(["first"]);
    until_done(&mut aws, 1).await;
    let calls = proxy.calls("ReceiveMessage");
    let pauses: Vec<_> = calls.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
    for (pause, least) in pauses.iter().zip([0, 12, 50]) {
        assert!(*pause >= Duration::from_millis(least), "{fault:?}: {pauses:?}");
    }
    worker.says("receiving works again", 1).await;
    let before = proxy.calls("ReceiveMessage").len();
    proxy.decide(at_first("ReceiveMessage", before + 2, fault));
    worker.says("receiving fails", 2).await;
    aws.send(["second"]);
    until_done(&mut aws, 1).await;
    worker.says("receiving works again", 2).await;
    let ended = worker.stop().await;
    assert_eq!(ended.is_good().count("receiving fails; redrive retries until it succeeds"), 2);
    aws.close().await;
}

#[tokio::test]
async fn an_unanswered_receive_is_given_up_and_a_lost_sqs_is_awaited() {
    let mut aws = open(30).await;
    let fate = at_first("ReceiveMessage", 1, Fate::Hang);
    let mut proxy = Proxy::before(&aws.local.endpoint_url(), fate).await;
    let url = aws.local.queue_url("orders");
    let mut worker = Running::start(&proxy.url, &url, &[("REDRIVE_DRAIN", "2")]);
    aws.send(["first"]);
    worker.says("no answer within 6s", 1).await;
    until_done(&mut aws, 1).await;
    worker.says("receiving works again", 1).await;
    proxy.close().await;
    worker.says("receiving fails", 2).await;
    aws.send(["second"]);
    proxy.listen().await;
    until_done(&mut aws, 1).await;
    worker.stop().await.is_good();
    aws.close().await;
}

#[tokio::test]
async fn a_delay_that_sqs_refuses_for_good_is_not_asked_for_again() {
    let aws = open(60).await;
    let refuse = Fate::Refuse(400, "InvalidParameterValue");
    let fate = at_first("ChangeMessageVisibilityBatch", usize::MAX, refuse);
    let proxy = Proxy::before(&aws.local.endpoint_url(), fate).await;
    let url = aws.local.queue_url("orders");
    aws.send(["a fail"]);
    let mut worker = Running::start(&proxy.url, &url, &[("REDRIVE_DRAIN", "2")]);
    worker.says("call failed", 1).await;
    worker.stop().await.is_good();
    assert_eq!(proxy.calls("ChangeMessageVisibilityBatch").len(), 1);
    aws.close().await;
}

#[tokio::test]
async fn problems_of_a_message_are_logged_in_the_span_of_its_batch() {
    let aws = open(60).await;
    let mut attributes: BTreeMap<_, _> =
        (0..9).map(|number| (format!("a{number}"), MessageAttribute::text("v"))).collect();
    attributes.insert("redrive.max-attempts".to_owned(), MessageAttribute::text("many"));
    let message = NewMessage { body: "a reject".to_owned(), attributes, ..NewMessage::default() };
    aws.local.send("orders", message).unwrap();
    let (endpoint, url) = (aws.local.endpoint_url(), aws.local.queue_url("orders"));
    let mut worker = Running::start(&endpoint, &url, &[("REDRIVE_DRAIN", "2")]);
    for words in ["an attribute of the message was ignored", "the message has no room for the note"] {
        worker.says(words, 1).await;
        let lines = worker.lines();
        let line = lines.iter().find(|line| line.text.contains(words)).unwrap();
        let line: Value = serde_json::from_str(&line.text).unwrap();
        assert_eq!(line["spans"][0]["name"], "batch", "{line}");
    }
    worker.stop().await.is_good();
    aws.close().await;
}

/// The message is hidden until its visibility timeout, and nobody knows of it.
#[tokio::test]
async fn a_message_whose_receive_was_lost_returns() {
    let mut aws = open(4).await;
    let proxy =
        Proxy::before(&aws.local.endpoint_url(), at_first("ReceiveMessage", 1, Fate::LoseAnswer)).await;
    let url = aws.local.queue_url("orders");
    aws.send(["a"]);
    let worker = Running::start(&proxy.url, &url, &[("REDRIVE_DRAIN", "2")]);
    until_done(&mut aws, 1).await;
    assert_eq!(worker.stop().await.is_good().count("began:"), 1);
    let story = aws.close().await;
    assert_eq!(lives(&story.events).into_values().collect::<Vec<_>>(), [(2, true)]);
}

#[tokio::test]
async fn deletes_are_made_until_sqs_confirms_them_however_they_fail() {
    let refused = [(500, "InternalFailure"), (400, "RequestThrottled")];
    let fates = refused.map(|(status, code)| Fate::Refuse(status, code));
    join_all(fates.into_iter().chain([Fate::Half, Fate::LoseAnswer]).map(deletes_fail)).await;
}

async fn deletes_fail(fate: Fate) {
    let mut aws = open(60).await;
    let proxy = Proxy::before(&aws.local.endpoint_url(), at_first("DeleteMessageBatch", 3, fate)).await;
    let url = aws.local.queue_url("orders");
    aws.send((0..10).map(|number| format!("{number}")));
    let worker = Running::start(&proxy.url, &url, &[("REDRIVE_DRAIN", "2")]);
    until_done(&mut aws, 10).await;
    let confirms = |call: &Call| {
        let answer = call.answered.as_ref().filter(|_| call.operation == "DeleteMessageBatch");
        answer.is_some_and(|answer| {
            answer["Successful"].is_array() && answer["Failed"].as_array().is_none_or(Vec::is_empty)
        })
    };
    proxy.until("a delete that is confirmed", |calls| calls.iter().any(confirms)).await;
    let ended = worker.stop().await;
    assert_eq!(ended.is_good().count("began:"), 10, "{fate:?}");
    let story = aws.close().await;
    let lives = lives(&story.events);
    assert!(lives.values().all(|life| *life == (1, true)), "{fate:?}: {lives:?}");
}

#[tokio::test]
async fn an_unconfirmed_delete_after_the_drain_is_a_one_line_error() {
    let mut aws = open(60).await;
    let fate = at_first("DeleteMessageBatch", usize::MAX, Fate::Refuse(500, "InternalFailure"));
    let proxy = Proxy::before(&aws.local.endpoint_url(), fate).await;
    let url = aws.local.queue_url("orders");
    let mut worker = Running::start(&proxy.url, &url, &[("REDRIVE_DRAIN", "1")]);
    aws.send(["a"]);
    worker.says("ended:a", 1).await;
    let ended = worker.stop().await;
    let line =
        "1 message was not settled before the worker ended: it comes back after the visibility timeout";
    assert!(ended.says(line).took < SECOND * 8, "{:?}", ended.took);
    aws.until(|kind| matches!(kind, EventKind::Received { .. }).then_some(())).await;
    aws.close().await;
}

/// The message itself is settled: it is back in its queue.
#[tokio::test]
async fn a_letter_that_sqs_refuses_while_the_worker_ends_is_no_error() {
    let mut aws = open(60).await;
    let fate = at_first("SendMessageBatch", usize::MAX, Fate::Refuse(403, "AccessDenied"));
    let proxy = Proxy::before(&aws.local.endpoint_url(), fate).await;
    let url = aws.local.queue_url("orders");
    let mut worker = Running::start(&proxy.url, &url, &[("REDRIVE_DRAIN", "6")]);
    aws.send(["a sleep:1500 reject"]);
    worker.says("began:a", 1).await;
    worker.stop().await.is_good();
    aws.until(|kind| matches!(kind, EventKind::BackIn { .. }).then_some(())).await;
    aws.close().await;
}

#[tokio::test]
async fn leases_are_extended_again_if_sqs_returns_in_time() {
    let mut aws = open(6).await;
    let fate = at_first("ChangeMessageVisibilityBatch", 2, Fate::Refuse(500, "InternalFailure"));
    let proxy = Proxy::before(&aws.local.endpoint_url(), fate).await;
    let url = aws.local.queue_url("orders");
    aws.send(["a sleep:10000"]);
    let mut worker = Running::start(&proxy.url, &url, &[("REDRIVE_DRAIN", "2")]);
    until_done(&mut aws, 1).await;
    worker.says("leases are extended again", 1).await;
    let ended = worker.stop().await;
    assert_eq!(ended.is_good().count("leases are not extended; redrive retries until they end"), 1);
    let story = aws.close().await;
    assert_eq!(lives(&story.events).into_values().collect::<Vec<_>>(), [(1, true)]);
}
