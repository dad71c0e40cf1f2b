use std::collections::HashMap;
use std::time::Duration;

use redrive_local::{Config, EventKind, NewMessage};
use serde_json::json;

use super::proxy::{Fate, Proxy, at_first};
use super::running::{Ended, Running};
use super::{lives, queues, until_done};
use crate::support::shop::Open;

/// What a delete takes.
const SLOW: Duration = Duration::from_millis(200);

fn fifo_queues() -> Config {
    let mut config = queues(30);
    let policy = json!({
        "deadLetterTargetArn": "arn:aws:sqs:eu-west-1:123456789012:orders-dead.fifo",
        "maxReceiveCount": 10,
    });
    for queue in &mut config.queues {
        queue.name.push_str(".fifo");
        queue.attributes.insert("FifoQueue".to_owned(), "true".to_owned());
        queue.attributes.entry("RedrivePolicy".to_owned()).and_modify(|value| *value = policy.to_string());
    }
    config
}

/// Its name, which begins with that of its group, is what it is deduplicated by.
fn send(aws: &Open, body: &str) -> String {
    let name = body.split(' ').next().unwrap().to_owned();
    let group_id = name[..1].to_owned();
    let body = body.to_owned();
    let message =
        NewMessage { body, group_id: Some(group_id), deduplication_id: Some(name), ..NewMessage::default() };
    aws.local.send("orders.fifo", message).unwrap()
}

/// The names after this word, in their order.
fn names(ended: &Ended, word: &str) -> Vec<String> {
    ended.lines.iter().filter_map(|line| line.text.strip_prefix(word).map(str::to_owned)).collect()
}

#[tokio::test]
async fn groups_run_in_parallel_and_delete_before_the_next_message_begins() {
    let mut aws = Open::start(fifo_queues()).await;
    let url = aws.local.queue_url("orders.fifo");
    let fate = at_first("DeleteMessageBatch", usize::MAX, Fate::Slow(SLOW));
    let proxy = Proxy::before(&aws.local.endpoint_url(), fate).await;
    // The heads of four groups wait for each other.
    let mut ids = HashMap::new();
    for place in ["1 meet", "2", "3 block:20", "4"] {
        for group in ["A", "B", "C", "D"] {
            let body = format!("{group}{place}");
            ids.insert(body[..2].to_owned(), send(&aws, &body));
        }
    }
    let settings = [("REDRIVE_CONCURRENCY", "16"), ("REDRIVE_DRAIN", "2")];
    let worker = Running::start(&proxy.url, &url, &settings);
    until_done(&mut aws, 16).await;
    let ended = worker.stop().await;
    ended.is_good();
    let began = names(&ended, "began:");
    assert_eq!(began.len(), 16, "{began:?}");
    for group in ["A", "B", "C", "D"] {
        let of_group: Vec<_> = began.iter().filter(|name| name.starts_with(group)).collect();
        assert!(of_group.len() == 4 && of_group.is_sorted(), "{began:?}");
    }
    let received = proxy.calls("ReceiveMessage").into_iter().flat_map(|call| call.messages());
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let received: HashMap<_, _> = received
        .map(|message| (text(&message["Body"])[..2].to_owned(), text(&message["ReceiptHandle"])))
        .collect();
    let deletes = proxy.calls("DeleteMessageBatch");
    let mut compared = 0;
    for (before, after) in [("1", "2"), ("2", "3"), ("3", "4")] {
        for group in ["A", "B", "C", "D"] {
            let handle = &received[&format!("{group}{before}")];
            let delete = deletes.iter().find(|call| call.handles().contains(&handle.as_str())).unwrap();
            let begin = format!("began:{group}{after}");
            let line = ended.lines.iter().find(|line| line.text == begin).unwrap();
            assert!(delete.at + SLOW <= line.at, "{begin}: {deletes:?}");
            compared += 1;
        }
    }
    assert_eq!(compared, 12);
    let story = aws.close().await;
    let lives = lives(&story.events);
    assert!(ids.values().all(|id| lives[id.as_str()] == (1, true)), "{lives:?}");
}

/// Their handlers end as soon as they begin.
#[tokio::test]
async fn messages_of_groups_are_received_once_however_quick_their_handlers_are() {
    let mut aws = Open::start(fifo_queues()).await;
    let url = aws.local.queue_url("orders.fifo");
    for place in 0..10 {
        ["A", "B", "C", "D", "E", "F"]
            .into_iter()
            .for_each(|group| drop(send(&aws, &format!("{group}{place}"))));
    }
    let settings = [("REDRIVE_CONCURRENCY", "60"), ("REDRIVE_DRAIN", "2")];
    let worker = Running::start(&aws.local.endpoint_url(), &url, &settings);
    until_done(&mut aws, 60).await;
    worker.stop().await.is_good();
    let story = aws.close().await;
    let lives = lives(&story.events);
    assert!(lives.len() == 60 && lives.values().all(|life| *life == (1, true)), "{lives:?}");
}

#[tokio::test]
async fn followers_of_a_failed_head_are_released_and_return_in_order() {
    let mut aws = Open::start(fifo_queues()).await;
    let url = aws.local.queue_url("orders.fifo");
    send(&aws, "A1 fail@1");
    ["A2", "A3", "A4 reject", "A5", "B1"].into_iter().for_each(|body| drop(send(&aws, body)));
    let settings =
        [("REDRIVE_BACKOFF", r#"{"kind":"exponential","delay":1,"max":1}"#), ("REDRIVE_DRAIN", "2")];
    let worker = Running::start(&aws.local.endpoint_url(), &url, &settings);
    until_done(&mut aws, 5).await;
    let ended = worker.stop().await;
    ended.is_good();
    let of_a =
        |word| names(&ended, word).into_iter().filter(|name| name.starts_with('A')).collect::<Vec<_>>();
    assert_eq!(of_a("began:"), ["A1", "A1", "A2", "A3", "A4", "A5"]);
    assert_eq!(of_a("ended:"), ["A1", "A2", "A3", "A5"]);
    assert_eq!(names(&ended, "ended:B"), ["1"]);
    let story = aws.close().await;
    let letters = story.kinds().filter(|kind| matches!(kind, EventKind::DeadLettered { .. })).count();
    assert_eq!(letters, 1);
}

#[tokio::test]
async fn a_worker_that_ends_returns_its_groups_and_another_continues() {
    let mut aws = Open::start(fifo_queues()).await;
    let (endpoint, url) = (aws.local.endpoint_url(), aws.local.queue_url("orders.fifo"));
    send(&aws, "A1 sleep:2000");
    ["A2", "A3", "A4", "A5"].into_iter().for_each(|body| drop(send(&aws, body)));
    let mut first = Running::start(&endpoint, &url, &[("REDRIVE_DRAIN", "6")]);
    first.says("began:A1", 1).await;
    let ended = first.stop().await;
    assert_eq!(names(ended.is_good(), "ended:"), ["A1"]);
    let second = Running::start(&endpoint, &url, &[("REDRIVE_DRAIN", "2")]);
    until_done(&mut aws, 5).await;
    let ended = second.stop().await;
    assert_eq!(names(ended.is_good(), "began:"), ["A2", "A3", "A4", "A5"]);
    aws.close().await;
}
