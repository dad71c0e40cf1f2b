use std::collections::HashMap;
use std::time::Duration;

use redrive_local::EventKind;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::time::timeout;

use super::proxy::{Fate, Proxy, at_first};
use super::running::Running;
use super::{lives, open, until_done};
use crate::support::function::PATIENCE;
use crate::support::loopback;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn a_message_handled_for_3_visibility_timeouts_is_delivered_once() {
    let mut aws = open(2).await;
    let url = aws.local.queue_url("orders");
    let mut worker = Running::start(&aws.local.endpoint_url(), &url, &[("REDRIVE_DRAIN", "2")]);
    // More of them than there are cores.
    let blocking = (0..6).map(|number| format!("{number} block:6000"));
    aws.send(blocking.chain(["waits sleep:6000".to_owned()]));
    worker.says("began:", 7).await;
    aws.send(["other"]);
    worker.says("ended:other", 1).await;
    let ended = super::running::count_of(&worker.lines(), "ended:");
    assert_eq!(ended, 1, "polls go on while threads are blocked");
    until_done(&mut aws, 8).await;
    worker.stop().await.is_good();
    let story = aws.close().await;
    let lives = lives(&story.events);
    assert!(lives.values().all(|life| *life == (1, true)), "{lives:?}");
}

#[tokio::test]
async fn a_visibility_timeout_that_is_changed_later_does_not_end_leases() {
    let mut aws = open(30).await;
    let (endpoint, url) = (aws.local.endpoint_url(), aws.local.queue_url("orders"));
    let mut worker = Running::start(&endpoint, &url, &[("REDRIVE_DRAIN", "2")]);
    worker.says("the worker polls", 1).await;
    let sqs = loopback::sqs(&endpoint);
    let name = aws_sdk_sqs::types::QueueAttributeName::VisibilityTimeout;
    sqs.set_queue_attributes().queue_url(&url).attributes(name, "1").send().await.unwrap();
    aws.send(["a sleep:3000"]);
    until_done(&mut aws, 1).await;
    worker.stop().await.is_good();
    let story = aws.close().await;
    assert_eq!(lives(&story.events).into_values().collect::<Vec<_>>(), [(1, true)]);
}

/// A long poll of 20 s would outlast the lease of what it brings.
#[tokio::test]
async fn a_late_message_of_a_poll_is_handled_with_any_visibility_timeout() {
    let mut aws = open(3).await;
    let proxy = Proxy::before(&aws.local.endpoint_url(), |_, _| Fate::Pass).await;
    let url = aws.local.queue_url("orders");
    let worker = Running::start(&proxy.url, &url, &[]);
    for number in 1..=3 {
        proxy.until_called("ReceiveMessage", number).await;
        // Towards the end of a poll, wherever that is.
        tokio::time::sleep(SECOND * 4 / 3).await;
        aws.send(["late"]);
        until_done(&mut aws, 1).await;
    }
    worker.stop().await.is_good();
    let story = aws.close().await;
    let lives = lives(&story.events);
    assert!(lives.values().all(|life| *life == (1, true)), "{lives:?}");
}

#[tokio::test]
async fn a_message_that_arrives_after_its_lease_is_not_begun() {
    let mut aws = open(2).await;
    let fate = at_first("ReceiveMessage", 1, Fate::Late(SECOND * 3));
    let proxy = Proxy::before(&aws.local.endpoint_url(), fate).await;
    let url = aws.local.queue_url("orders");
    aws.send(["a"]);
    let worker = Running::start(&proxy.url, &url, &[("REDRIVE_DRAIN", "2")]);
    until_done(&mut aws, 1).await;
    let ended = worker.stop().await;
    assert_eq!(ended.is_good().count("began:"), 1);
    let story = aws.close().await;
    assert_eq!(lives(&story.events).into_values().collect::<Vec<_>>(), [(2, true)]);
}

/// One handler waits, and one blocks its thread and returns `Ok` after its lease has ended.
#[tokio::test]
async fn a_lost_lease_cancels_the_handler_and_forbids_its_delete() {
    let mut aws = open(2).await;
    let fate = at_first("ChangeMessageVisibilityBatch", usize::MAX, Fate::Hang);
    let proxy = Proxy::before(&aws.local.endpoint_url(), fate).await;
    let url = aws.local.queue_url("orders");
    let mut worker = Running::start(&proxy.url, &url, &[("REDRIVE_DRAIN", "2")]);
    aws.send(["waits sleep:20000@1", "blocks block:4000@1"]);
    until_done(&mut aws, 2).await;
    // The blocked thread has returned by then.
    worker.says("ended:blocks", 2).await;
    let ended = worker.stop().await;
    assert_eq!((ended.is_good().count("began:"), ended.count("ended:waits")), (4, 1));
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let received = proxy.calls("ReceiveMessage").into_iter().flat_map(|call| call.messages());
    // Of each message the latest.
    let handles: HashMap<_, _> =
        received.map(|message| (text(&message["Body"]), text(&message["ReceiptHandle"]))).collect();
    let mut last: Vec<_> = handles.into_values().collect();
    let deletes = proxy.calls("DeleteMessageBatch");
    let mut deleted: Vec<_> = deletes.iter().flat_map(|call| call.handles()).collect();
    deleted.sort_unstable();
    last.sort();
    assert_eq!(deleted, last);
    aws.close().await;
}

#[tokio::test]
async fn a_message_that_is_deleted_behind_the_workers_back_is_canceled() {
    let mut aws = open(2).await;
    let (endpoint, url) = (aws.local.endpoint_url(), aws.local.queue_url("orders"));
    let mut worker = Running::start(&endpoint, &url, &[("REDRIVE_DRAIN", "20")]);
    aws.send(["a sleep:60000"]);
    worker.says("began:", 1).await;
    loopback::sqs(&endpoint).purge_queue().queue_url(&url).send().await.unwrap();
    worker.says("the lease", 1).await;
    let ended = worker.stop().await;
    assert!(ended.is_good().took < SECOND * 10, "the handler was canceled: {:?}", ended.took);
    assert_eq!(ended.count("ended:"), 0);
    aws.until(|kind| matches!(kind, EventKind::Received { .. }).then_some(())).await;
    aws.close().await;
}

/// A delete that waited for the extension would come too late, and the message would be handled for ever.
#[tokio::test]
async fn a_message_is_deleted_while_the_extension_of_its_lease_hangs() {
    let mut aws = open(3).await;
    let fate = at_first("ChangeMessageVisibilityBatch", usize::MAX, Fate::Hang);
    let proxy = Proxy::before(&aws.local.endpoint_url(), fate).await;
    let url = aws.local.queue_url("orders");
    aws.send(["a sleep:1500"]);
    let worker = Running::start(&proxy.url, &url, &[("REDRIVE_DRAIN", "2")]);
    until_done(&mut aws, 1).await;
    worker.stop().await.is_good();
    let story = aws.close().await;
    assert_eq!(lives(&story.events).into_values().collect::<Vec<_>>(), [(1, true)]);
    assert!(!proxy.calls("ChangeMessageVisibilityBatch").is_empty());
}

/// What its handler waits for happens while the process is stopped, so that the handler could go on at once. Nothing can help a
/// handler that is stopped within a poll.
#[tokio::test]
async fn a_handler_does_not_continue_after_a_stop_beyond_its_lease() {
    let mut aws = open(2).await;
    let (endpoint, url) = (aws.local.endpoint_url(), aws.local.queue_url("orders"));
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let number = port.local_addr().unwrap().port();
    let first = Running::start(&endpoint, &url, &[("REDRIVE_DRAIN", "2")]);
    aws.send([format!("tea hear:{number}@1")]);
    let (mut heard, _) = timeout(PATIENCE, port.accept()).await.expect("its handler asks").unwrap();
    first.until_it_sleeps().await;
    first.signal("-STOP");
    let second = Running::start(&endpoint, &url, &[("REDRIVE_DRAIN", "2")]);
    until_done(&mut aws, 1).await;
    heard.write_all(b"!").await.unwrap();
    first.signal("-CONT");
    let ended = [first.stop().await, second.stop().await];
    assert_eq!(ended.each_ref().map(|ended| ended.count("ended:tea")), [0, 1], "{ended:#?}");
    aws.close().await;
}

/// The process that has the message ignores it, and another one handles it.
#[tokio::test]
async fn a_message_whose_handler_blocks_past_its_time_limit_returns() {
    let mut aws = open(2).await;
    let (endpoint, url) = (aws.local.endpoint_url(), aws.local.queue_url("orders"));
    let settings = [("REDRIVE_TIME_LIMIT", "1"), ("REDRIVE_DRAIN", "2")];
    let mut first = Running::start(&endpoint, &url, &settings);
    aws.send(["tea block:600000@1"]);
    first.says("began:tea", 1).await;
    let second = Running::start(&endpoint, &url, &settings);
    until_done(&mut aws, 1).await;
    assert_eq!(second.stop().await.is_good().count("ended:tea"), 1);
    assert_eq!(super::running::count_of(&first.lines(), "began:tea"), 1);
    aws.close().await;
}
