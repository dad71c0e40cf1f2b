use std::time::Duration;

use super::running::{Ended, Running};
use super::{lives, open, until_done};
use crate::support::loopback;

const BLOCKED: &str =
    "17 threads are blocked by handlers that do not end: the process ends, so that a fresh one is started";
const PANICS: &str = "10 handlers panicked in a row: the process ends, so that a fresh one is started";

#[tokio::test]
async fn seventeen_blocked_threads_end_the_worker_and_the_rest_goes_back() {
    let aws = open(600).await;
    let (endpoint, url) = (aws.local.endpoint_url(), aws.local.queue_url("orders"));
    let settings = [("REDRIVE_CONCURRENCY", "20"), ("REDRIVE_DRAIN", "2")];
    let mut worker = Running::start(&endpoint, &url, &settings);
    aws.send((0..3).map(|number| format!("waits{number} sleep:600000")));
    worker.says("began:waits", 3).await;
    aws.send((0..17).map(|number| format!("{number} block:600000")));
    worker.says("began:", 20).await;
    let ended = worker.ended().await;
    ended.says(BLOCKED);
    let back = loopback::receive(&loopback::sqs(&endpoint), &url, 3).await;
    assert!(back.iter().all(|message| message.body().unwrap().starts_with("waits")), "{back:?}");
    aws.close().await;
}

/// As where a driver of a database blocks: it is slow, and goes on.
#[tokio::test]
async fn threads_that_are_blocked_for_a_while_do_not_end_the_worker() {
    let mut aws = open(30).await;
    let url = aws.local.queue_url("orders");
    let settings = [("REDRIVE_CONCURRENCY", "30"), ("REDRIVE_DRAIN", "4")];
    let worker = Running::start(&aws.local.endpoint_url(), &url, &settings);
    aws.send((0..100).map(|number| format!("{number} block:300")));
    until_done(&mut aws, 100).await;
    worker.stop().await.is_good();
    let story = aws.close().await;
    let lives = lives(&story.events);
    assert!(lives.values().all(|life| *life == (1, true)), "{lives:?}");
}

#[tokio::test]
async fn a_signal_while_the_worker_ends_by_itself_is_the_first() {
    let aws = open(600).await;
    let (endpoint, url) = (aws.local.endpoint_url(), aws.local.queue_url("orders"));
    let mut worker = Running::start(&endpoint, &url, &[("REDRIVE_DRAIN", "5")]);
    aws.send(["waits sleep:600000"]);
    worker.says("began:waits", 1).await;
    aws.send((0..10).map(|number| format!("{number} panic")));
    worker.says("the worker ends", 1).await;
    worker.signal("-TERM");
    let ended = worker.ended().await;
    ended.says_last(PANICS);
    let back = loopback::receive(&loopback::sqs(&endpoint), &url, 1).await;
    let is_back = back.iter().any(|message| message.body() == Some("waits sleep:600000"));
    assert!(is_back, "it was handed back: {back:?}");
    aws.close().await;
}

#[tokio::test]
async fn ten_panics_in_a_row_end_the_worker_once_the_others_have_ended() {
    let mut aws = open(600).await;
    let url = aws.local.queue_url("orders");
    let settings = [("REDRIVE_CONCURRENCY", "20"), ("REDRIVE_DRAIN", "8")];
    let mut worker = Running::start(&aws.local.endpoint_url(), &url, &settings);
    aws.send(["other sleep:3000"]);
    worker.says("began:other", 1).await;
    aws.send((0..10).map(|number| format!("{number} panic")));
    let ended: Ended = worker.ended().await;
    assert_eq!(ended.says_last(PANICS).count("ended:other"), 1);
    assert!(ended.took < Duration::from_secs(20), "{:?}", ended.took);
    until_done(&mut aws, 1).await;
    aws.close().await;
}
