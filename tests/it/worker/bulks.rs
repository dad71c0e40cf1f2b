use super::running::{Ended, Running};
use super::{lives, open, until_done};

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
