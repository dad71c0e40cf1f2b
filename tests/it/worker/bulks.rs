use std::time::Duration;

use aws_sdk_sqs::types::QueueAttributeName;

use super::running::{Ended, Running};
use super::{lives, open, until_done};
use crate::support::loopback;

/// How many messages each call had.
fn calls(ended: &Ended) -> Vec<usize> {
    let called = ended.lines.iter().filter_map(|line| line.text.strip_prefix("called "));
    called.map(|names| names.split(' ').count()).collect()
}

#[tokio::test]
async fn a_bulk_handler_takes_what_polls_bring_together() {
    let mut aws = open(30).await;
    let url = aws.local.queue_url("orders");
    let failing = aws.send(["failing fail@1"]);
    let ids = aws.send((0..39).map(|number| format!("{number}")));
    let settings = [
        ("MODE", "bulk"),
        ("REDRIVE_DRAIN", "2"),
        ("REDRIVE_BACKOFF", r#"{"kind":"exponential","delay":1,"max":1}"#),
    ];
    let worker = Running::start(&aws.local.endpoint_url(), &url, &settings);
    until_done(&mut aws, 40).await;
    let ended = worker.stop().await;
    let calls = calls(ended.is_good());
    assert_eq!(calls.iter().sum::<usize>(), 41, "one came twice");
    assert!(calls.len() < 10, "{calls:?}");
    let story = aws.close().await;
    let lives = lives(&story.events);
    assert!(ids.iter().all(|id| lives[id.as_str()] == (1, true)), "{lives:?}");
    assert_eq!(lives[failing[0].as_str()], (2, true));
}

#[tokio::test]
async fn a_bulk_worker_has_64_mib_in_hand_at_most_however_large_messages_are() {
    let mut aws = open(30).await;
    let url = aws.local.queue_url("orders");
    let padding = "x".repeat(1_000_000);
    aws.send((0..80).map(|number| format!("{number} sleep:3000 {padding}")));
    let worker = Running::start(&aws.local.endpoint_url(), &url, &[("MODE", "bulk")]);
    let sqs = loopback::sqs(&aws.local.endpoint_url());
    let name = QueueAttributeName::ApproximateNumberOfMessagesNotVisible;
    let sampling = async {
        let mut most = 0;
        loop {
            let asked = sqs.get_queue_attributes().queue_url(&url).attribute_names(name.clone()).send().await;
            let count = asked.unwrap().attributes.unwrap()[&name].parse::<usize>().unwrap();
            most = most.max(count);
            if most > 0 && count == 0 {
                return most;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let ((), most) = tokio::join!(until_done(&mut aws, 80), sampling);
    assert!((20..=67).contains(&most), "{most} messages of 1 MB were in hand");
    let ended = worker.stop().await;
    let calls = calls(ended.is_good());
    assert_eq!(calls.iter().sum::<usize>(), 80);
    assert!(calls.iter().all(|messages| *messages <= 6), "one call takes its share: {calls:?}");
    aws.close().await;
}
