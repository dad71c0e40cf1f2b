use std::time::Duration;

use redrive_local::EventKind;

use super::proxy::{Fate, Proxy};
use super::running::Running;
use super::{lives, open, until_done};
use crate::support::loopback;

#[tokio::test]
async fn messages_in_hand_are_settled_after_sigterm_and_late_ones_return() {
    let mut aws = open(30).await;
    let proxy = Proxy::before(&aws.local.endpoint_url(), |_, _| Fate::Pass).await;
    let url = aws.local.queue_url("orders");
    let settings = [("REDRIVE_CONCURRENCY", "60"), ("REDRIVE_DRAIN", "12")];
    let mut worker = Running::start(&proxy.url, &url, &settings);
    let ids = aws.send((0..50).map(|number| format!("{number} sleep:2500")));
    worker.says("began:", 50).await;
    proxy
        .until("a poll under way", |calls| {
            calls.iter().any(|call| call.operation == "ReceiveMessage" && call.answered.is_none())
        })
        .await;
    worker.signal("-TERM");
    worker.says("the worker ends", 1).await;
    let late = aws.send(["late sleep:60000"]);
    let ended = worker.ended().await;
    assert!(ended.is_good().took < Duration::from_secs(12), "{:?}", ended.took);
    assert_eq!((ended.count("began:"), ended.count("ended:")), (50, 50));

    let sqs = loopback::sqs(&aws.local.endpoint_url());
    let [message] = &loopback::receive(&sqs, &url, 1).await[..] else { panic!("one is left") };
    assert_eq!(message.message_id(), Some(&*late[0]));
    until_done(&mut aws, 50).await;
    let story = aws.close().await;
    let lives = lives(&story.events);
    assert!(ids.iter().all(|id| lives[id.as_str()] == (1, true)), "{lives:?}");
    let back = |kind: &EventKind| matches!(kind, EventKind::BackIn { message_id, seconds: 0, .. } if *message_id == late[0]);
    assert_eq!(story.kinds().filter(|kind| back(kind)).count(), 1);
}

#[tokio::test]
async fn handlers_that_run_past_the_drain_are_canceled_and_handed_back_at_once() {
    let aws = open(600).await;
    let url = aws.local.queue_url("orders");
    let mut worker = Running::start(&aws.local.endpoint_url(), &url, &[("REDRIVE_DRAIN", "1")]);
    aws.send((0..5).map(|number| format!("{number} sleep:60000")));
    worker.says("began:", 5).await;
    let ended = worker.stop().await;
    ended.is_good();
    assert!(ended.took >= Duration::from_secs(1) && ended.took < Duration::from_secs(5), "{:?}", ended.took);
    assert_eq!(ended.count("ended:"), 0);
    let sqs = loopback::sqs(&aws.local.endpoint_url());
    assert_eq!(loopback::receive(&sqs, &url, 5).await.len(), 5, "nobody waits for them");
    aws.close().await;
}

#[tokio::test]
async fn messages_of_a_killed_worker_go_to_another() {
    let mut aws = open(2).await;
    let (endpoint, url) = (aws.local.endpoint_url(), aws.local.queue_url("orders"));
    let mut first = Running::start(&endpoint, &url, &[("REDRIVE_CONCURRENCY", "8")]);
    let ids = aws.send((0..4).map(|number| format!("{number}")));
    until_done(&mut aws, 4).await;
    let held = aws.send((4..24).map(|number| format!("{number} sleep:60000@1")));
    first.says("began:", 12).await;
    first.signal("-KILL");
    assert_eq!(first.ended().await.code, None);
    let second = Running::start(&endpoint, &url, &[("REDRIVE_CONCURRENCY", "50")]);
    // Those that the first has not received sleep on their first attempt, until this one is gone too.
    until_done(&mut aws, 8).await;
    second.signal("-KILL");
    second.ended().await;
    let third = Running::start(&endpoint, &url, &[("REDRIVE_DRAIN", "2"), ("REDRIVE_CONCURRENCY", "50")]);
    until_done(&mut aws, 12).await;
    third.stop().await.is_good();
    let story = aws.close().await;
    let lives = lives(&story.events);
    assert!(ids.iter().chain(&held).all(|id| lives[id.as_str()].1), "{lives:?}");
    assert_eq!(story.totals.left, 0);
}

#[tokio::test]
async fn a_second_signal_ends_the_worker_at_once() {
    for signals in [["-TERM", "-TERM"], ["-INT", "-TERM"]] {
        let aws = open(600).await;
        let url = aws.local.queue_url("orders");
        let mut worker = Running::start(&aws.local.endpoint_url(), &url, &[]);
        aws.send(["waits sleep:60000", "blocks block:60000"]);
        worker.says("began:", 2).await;
        worker.signal(signals[0]);
        worker.says("the worker ends", 1).await;
        worker.signal(signals[1]);
        let ended = worker.ended().await;
        ended.says("SIGTERM came a second time: the worker ends at once, with 2 messages in hand");
        assert!(ended.took < Duration::from_secs(6), "{:?}", ended.took);
        aws.close().await;
    }
}

/// Each of its two consumers has its own runtime for handlers.
#[tokio::test]
async fn a_process_with_two_queues_ends_after_both_are_settled() {
    let aws = open(600).await;
    let url = aws.local.queue_url("orders");
    let mode = [("MODE", "beside its dead letters"), ("REDRIVE_DRAIN", "2")];
    let mut worker = Running::start(&aws.local.endpoint_url(), &url, &mode);
    aws.send(["tea sleep:500", "milk reject"]);
    // The second one arrives in the dead-letter queue, fails there, and waits for its next attempt.
    worker.says("began:milk", 2).await;
    let ended = worker.stop().await;
    ended.is_good();
    assert_eq!((ended.count("ended:tea"), ended.count("the worker has ended")), (1, 2));
    let failures: Vec<_> = ended.lines.iter().filter(|line| line.text.contains("message failed")).collect();
    let [failure] = &failures[..] else { panic!("one failure: {failures:?}") };
    let spans = format!("\"spans\":[{{\"queue\":\"{url}-dead\",\"records\":1,\"name\":\"batch\"}}");
    assert!(failure.text.contains(&spans), "{failure:?}");
    aws.close().await;
}

#[tokio::test]
async fn a_worker_that_runs_again_after_sigterm_receives_nothing() {
    let mut aws = open(600).await;
    let url = aws.local.queue_url("orders");
    let worker = Running::start(&aws.local.endpoint_url(), &url, &[("MODE", "twice")]);
    aws.send(["first"]);
    until_done(&mut aws, 1).await;
    let ended = worker.stop().await;
    ended.is_good();
    assert_eq!((ended.count("the worker ends"), ended.count("began:")), (1, 1));
    aws.close().await;
}
