use std::collections::BTreeMap;
use std::time::Instant;

use aws_config::{BehaviorVersion, Region};
use aws_sdk_sqs::config::Credentials;
use aws_sdk_sqs::types::Message;
use redrive_local::{Config, Local, QueueConfig};

use super::*;
use crate::problem::INTERRUPT;

/// Creates a queue `dead` with this many letters.
async fn queue(letters: usize) -> (Local, Client, String) {
    let config = Config {
        region: "eu-west-1".to_owned(),
        account: "123456789012".to_owned(),
        queues: vec![QueueConfig { name: "dead".to_owned(), attributes: BTreeMap::new() }],
        ..Config::default()
    };
    let mut local = Local::start(config).await.unwrap();
    drop(local.take_events());
    let sqs = aws_sdk_sqs::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-west-1"))
        .credentials_provider(Credentials::new("local", "local", None, None, "tests"))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .endpoint_url(local.endpoint_url());
    let sqs = Client::from_conf(sqs.build());
    let url = format!("{}/123456789012/dead", local.endpoint_url());
    for number in 0..letters {
        sqs.send_message().queue_url(&url).message_body(number.to_string()).send().await.unwrap();
    }
    (local, sqs, url)
}

fn handle(letter: &Message) -> &str {
    letter.receipt_handle().unwrap()
}

async fn visible(sqs: &Client, url: &str) -> usize {
    let received = sqs.receive_message().queue_url(url).max_number_of_messages(10).visibility_timeout(0);
    received.send().await.unwrap().messages().len()
}

#[tokio::test]
async fn a_hold_outlives_the_visibility_timeout_while_work_goes_on() {
    let (local, sqs, url) = queue(11).await;
    let lease = LetterLease::new(sqs.clone(), url.clone(), Duration::from_secs(1), PATIENCE);
    let beating = tokio::spawn(lease.clone().keep());
    let first = lease.receive(10, |_| ()).await.unwrap();
    while !lease.receive(10, |_| ()).await.unwrap().is_empty() {}
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(visible(&sqs, &url).await, 0);
    assert!(
        first.iter().all(|letter| lease.holds(letter.message_id().unwrap())),
        "and was never over in between"
    );
    beating.abort();
    tokio::time::sleep(Duration::from_millis(1200)).await;
    assert_eq!(visible(&sqs, &url).await, 10, "a lease that nobody extends ends");
    local.stop().await;
}

#[tokio::test]
async fn a_letter_that_someone_deleted_meanwhile_is_no_failure_of_its_release() {
    let (local, sqs, url) = queue(2).await;
    let lease = LetterLease::new(sqs.clone(), url.clone(), Duration::from_secs(30), PATIENCE);
    let letters = lease.receive(10, |_| ()).await.unwrap();
    sqs.delete_message().queue_url(&url).receipt_handle(handle(&letters[0])).send().await.unwrap();
    let letters: Vec<_> = letters.iter().enumerate().map(|(key, it)| (key, handle(it).into(), 0)).collect();
    let changed = change(&sqs, &url, &letters).await;
    assert_eq!((changed.keys.len(), changed.refused, changed.reason), (1, 0, None));

    let changed = change(&sqs, "http://127.0.0.1:1/queue", &letters).await;
    assert_eq!(changed.refused, 2, "an unreachable queue is");
    local.stop().await;
}

#[tokio::test]
async fn letters_of_unknown_visibility_do_not_count_as_visible() {
    let (local, sqs, url) = queue(2).await;
    let lease = LetterLease::new(sqs, url, Duration::from_secs(30), PATIENCE);
    assert_eq!(lease.receive(10, |_| ()).await.unwrap().len(), 2);
    local.stop().await;
    assert_eq!(lease.release_all().await, 0);
}

#[tokio::test]
async fn after_a_stop_nothing_more_is_received() {
    let (local, sqs, url) = queue(2).await;
    let lease = LetterLease::new(sqs, url, Duration::from_secs(30), PATIENCE);
    assert_eq!(lease.receive(1, |_| ()).await.unwrap().len(), 1);
    lease.stop().request(INTERRUPT);
    assert!(lease.is_stopped());
    assert!(lease.receive(1, |_| ()).await.unwrap().is_empty());
    local.stop().await;
}

#[tokio::test]
async fn refusals_are_told_once_and_end_when_patience_does() {
    let (local, sqs, url) = queue(1).await;
    let lease = LetterLease::new(sqs, url, Duration::from_secs(30), Duration::from_secs(5));
    local.stop().await;
    let reported = Mutex::new(Vec::new());
    let report = |line: &str| reported.lock().unwrap().push(line.to_owned());
    let (first, second) = tokio::join!(lease.receive(10, report), lease.receive(10, report));
    for error in [first, second].map(|result| format!("{:#}", result.unwrap_err())) {
        assert!(error.starts_with("gave up after "), "{error}");
        assert!(error.contains(": could not receive from dead: no connection ("), "{error}");
    }
    let reported = reported.into_inner().unwrap();
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert!(reported[0].starts_with("retrying for up to 5s: could not receive from dead: "), "{reported:?}");
}

#[tokio::test]
async fn a_stop_ends_the_wait_for_aws() {
    let (local, sqs, url) = queue(1).await;
    let lease = LetterLease::new(sqs, url, Duration::from_secs(30), Duration::from_secs(600));
    local.stop().await;
    let stopped = Mutex::new(None);
    let stop = |_: &str| {
        lease.stop().request(INTERRUPT);
        stopped.lock().unwrap().replace(Instant::now());
    };
    assert!(lease.receive(10, stop).await.unwrap().is_empty());
    let took = stopped.into_inner().unwrap().unwrap().elapsed();
    assert!(took < Duration::from_millis(400), "a pause is half a second or more: {took:?}");
}
