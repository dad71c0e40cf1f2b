use std::path::Path;
use std::process::Command;
use std::time::Duration;

use redrive_local::{Config, EventKind, InvocationOutcome, NewMessage};
use serde_json::json;

use crate::support::function::ORDERS;
use crate::support::loopback;
use crate::support::shop::{Open, order, shop};

/// A shop whose function says which process it is.
fn mortal(max_receive_count: u32) -> Config {
    let mut config = shop(max_receive_count);
    let function = &mut config.functions[0];
    function.command = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/support/tell_pid.sh");
    function.environment.insert("FUNCTION".to_owned(), ORDERS.to_owned());
    config
}

/// Sends a signal to the next process to start, once a line that it writes has these words in it.
async fn strike(open: &mut Open, signal: &str, words: &str) {
    let line = |kind: &EventKind| match kind {
        EventKind::Output { line, .. } => Some(line.clone()),
        _ => None,
    };
    let process = open.until(|kind| line(kind)?.strip_prefix("pid ").map(str::to_owned)).await;
    open.until(|kind| line(kind)?.contains(words).then_some(())).await;
    assert!(Command::new("kill").args([signal, &process]).status().unwrap().success());
}

/// What a batch holds that is struck down on its first attempt, and how each message ends after that.
fn batch() -> Vec<(String, &'static str)> {
    vec![
        (order("up"), "done 2"),
        (order(json!({ "hangs_for": 1 })), "done 2"),
        (order("refuses"), "card-refused 2"),
        (order("panics"), "panic 2"),
        ("tea, please".to_owned(), "malformed 2"),
        (order("down"), "redrive policy 4"),
        (order(json!({ "down_for": 2 })), "done 3"),
    ]
}

async fn struck(mut config: Config, signal: &str, outcome: InvocationOutcome) {
    config.mappings[0].maximum_concurrency = Some(1);
    config.mappings[0].window = Duration::from_secs(1);
    let mut open = Open::start(config).await;
    let ids = open.send(batch().into_iter().map(|(body, _)| body));
    strike(&mut open, signal, "charged").await;
    open.until_idle().await;
    let story = open.close().await;
    assert_eq!(story.outcomes()[0], &outcome);
    assert!(story.outcomes()[1..].iter().all(|outcome| **outcome == InvocationOutcome::Succeeded));
    for (id, (body, end)) in ids.iter().zip(batch()) {
        assert_eq!(story.ends(id), [end], "{body}");
    }
    assert_eq!((story.totals.messages, story.totals.done, story.totals.left), (7, 3, 0));
}

#[tokio::test]
async fn a_process_that_is_killed_in_the_middle_of_a_batch_loses_no_message() {
    struck(mortal(4), "-KILL", InvocationOutcome::Exited("signal: 9 (SIGKILL)".to_owned())).await;
}

/// A stopped process can neither cancel its handlers nor answer.
#[tokio::test]
async fn a_process_that_stands_still_until_its_timeout_loses_no_message() {
    let mut config = mortal(4);
    config.functions[0].timeout = Duration::from_secs(4);
    struck(config, "-STOP", InvocationOutcome::TimedOut).await;
}

#[tokio::test]
async fn messages_whose_process_is_killed_each_time_end_as_dead_letters() {
    let mut open = Open::start(mortal(3)).await;
    let ids = open.send([order("up"), order("hangs")]);
    for _ in 0..3 {
        strike(&mut open, "-KILL", "charged").await;
    }
    open.until_idle().await;
    let story = open.close().await;
    for id in &ids {
        assert_eq!(story.ends(id), ["redrive policy 3"]);
    }
    assert_eq!((story.totals.invocations, story.totals.left), (3, 0));
}

/// The first of the group is dead-lettered, the second hangs, and the process dies: what SQS has confirmed happens again.
#[tokio::test]
async fn a_letter_is_rewritten_after_its_process_dies_and_counts_once() {
    let mut config = mortal(4);
    let policy = json!({
        "deadLetterTargetArn": "arn:aws:sqs:eu-west-1:123456789012:orders-dead.fifo",
        "maxReceiveCount": 4,
    });
    for queue in &mut config.queues {
        queue.name.push_str(".fifo");
        queue.attributes.insert("FifoQueue".to_owned(), "true".to_owned());
        queue.attributes.entry("RedrivePolicy".to_owned()).and_modify(|value| *value = policy.to_string());
    }
    config.mappings[0].queue = "orders.fifo".to_owned();
    let url = config.functions[0].environment.get_mut("REDRIVE_DEAD_LETTER_QUEUE_URL").unwrap();
    url.push_str(".fifo");

    let mut open = Open::start(config).await;
    let send = |place: &str, body: String| {
        let (group_id, deduplication_id) = (Some("A".to_owned()), Some(place.to_owned()));
        let message = NewMessage { body, group_id, deduplication_id, ..NewMessage::default() };
        open.local.send("orders.fifo", message).unwrap()
    };
    let [first, second] = [send("1", order("refuses")), send("2", order(json!({ "hangs_for": 1 })))];
    let line = |kind: &EventKind| match kind {
        EventKind::Output { line, .. } => line.strip_prefix("pid ").map(str::to_owned),
        _ => None,
    };
    let process = open.until(line).await;
    open.until(|kind| matches!(kind, EventKind::DeadLettered { .. }).then_some(())).await;
    assert!(Command::new("kill").args(["-KILL", &process]).status().unwrap().success());
    open.until_idle().await;
    let (sqs, dead) = (loopback::sqs(&open.local.endpoint_url()), open.local.queue_url("orders-dead.fifo"));
    assert_eq!(loopback::receive(&sqs, &dead, 1).await.len(), 1, "its deduplication id keeps it single");
    let story = open.close().await;

    assert_eq!(story.ends(&second), ["done 2"]);
    assert_eq!(story.ends(&first)[0], "card-refused 1");
    assert_eq!(story.totals.aws_calls["sqs.SendMessageBatch"], 2, "{:?}", story.totals);
    assert_eq!(story.totals.dead_lettered, [("card-refused".to_owned(), 1)].into());
    assert_eq!((story.totals.messages, story.totals.done, story.totals.left), (2, 1, 0));
}
