use std::time::Duration;

use futures_util::future::join_all;
use redrive_local::EventKind;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::timeout;

use super::proxy::{Fate, Proxy};
use super::running::Running;
use super::{open, until_done};
use crate::support::function::PATIENCE;

const NOWHERE: &str = "http://127.0.0.1:9/123456789012/orders";

#[tokio::test]
async fn a_program_without_queue_and_lambda_names_what_it_needs() {
    for variables in [&[][..], &[("REDRIVE_QUEUE_URL", "")]] {
        let ended = Running::start_with(variables, &[]).ended().await;
        let line = "neither AWS_LAMBDA_RUNTIME_API nor REDRIVE_QUEUE_URL is set: Lambda sets the first; the second makes this process a worker; `redrive local` runs it here";
        assert!(ended.says(line).lines.is_empty(), "{:?}", ended.lines);
    }
}

#[tokio::test]
async fn an_invalid_setting_of_a_worker_is_named_with_what_is_allowed() {
    let table = [
        ("REDRIVE_DRAIN", "0", "above 0, at most 3600"),
        ("REDRIVE_DRAIN", "4000", "at most 3600"),
        ("REDRIVE_DRAIN", "a while", "seconds"),
        ("REDRIVE_HEALTH", "8080", ":8080"),
        ("REDRIVE_TASK_PROTECTION", "yes", "on"),
    ];
    for (name, value, allowed) in table {
        let settings = [("REDRIVE_QUEUE_URL", NOWHERE), (name, value)];
        let ended = Running::start_with(&settings, &[]).ended().await;
        let begin = format!("Error: {name} is \"{value}\", allowed: ");
        let error = &ended.stderr;
        assert!(error.starts_with(&begin) && error.contains(allowed), "{name}={value}: {error}");
        assert_eq!((ended.code, error.lines().count()), (Some(1), 1), "{error}");
    }
    let ended = Running::start_with(&[("REDRIVE_QUEUE_URL", "orders")], &[]).ended().await;
    ended.says("REDRIVE_QUEUE_URL is \"orders\", allowed: a queue URL such as https://sqs.eu-central-1.amazonaws.com/123456789012/orders-dead");
}

#[tokio::test]
async fn a_misspelled_variable_is_a_warning_at_the_start() {
    let settings = [
        ("REDRIVE_QUEUE_URL", NOWHERE),
        ("REDRIVE_CONCURENCY", "5"),
        ("REDRIVE_COLOR", "red"),
        ("REDRIVE_DRAIN", "0"),
    ];
    let ended = Running::start_with(&settings, &[]).ended().await;
    let [warning] = &ended.lines[..] else { panic!("one line: {:?}", ended.lines) };
    let expected = "REDRIVE_CONCURENCY is not a variable of redrive; did you mean REDRIVE_CONCURRENCY?";
    assert!(warning.text.contains(expected) && warning.text.contains("WARN"), "{warning:?}");
}

#[tokio::test]
async fn a_queue_that_cannot_be_read_ends_the_worker_with_one_line() {
    let aws = open(30).await;
    let denies = Proxy::before(&aws.local.endpoint_url(), |_, _| Fate::Refuse(403, "AccessDenied")).await;
    let url = aws.local.queue_url("orders");
    let missing = aws.local.queue_url("missing");
    let endpoint = aws.local.endpoint_url();
    let keys = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
    let regions = ["AWS_REGION", "AWS_DEFAULT_REGION"];
    let of_aws = "https://sqs.eu-west-1.amazonaws.com/123456789012/missing";
    let table: [(&str, &str, &[&str], &str); 4] = [
        (&endpoint, of_aws, &regions, "NonExistentQueue: "),
        (&endpoint, &missing, &[], "NonExistentQueue: "),
        (&denies.url, &url, &[], "AccessDenied: as told"),
        (&endpoint, &url, &keys, "no credentials found in chain."),
    ];
    for (endpoint, url, without, why) in table {
        let settings = [("AWS_ENDPOINT_URL", endpoint), ("REDRIVE_QUEUE_URL", url)];
        let ended = Running::start_with(&settings, without).ended().await;
        let error = &ended.stderr;
        let begin = format!("Error: the queue {url} cannot be read: ");
        assert!(error.starts_with(&begin) && error.contains(why), "{why}: {error}");
        assert_eq!((ended.code, error.lines().count()), (Some(1), 1), "{error}");
        assert!(ended.took < Duration::from_secs(20), "{:?}", ended.took);
    }
    aws.close().await;
}

#[tokio::test]
async fn a_worker_waits_for_an_sqs_that_does_not_answer_and_says_so_once() {
    let mut aws = open(30).await;
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let url = aws.local.queue_url("orders");
    aws.send(["a"]);
    let endpoint = format!("http://127.0.0.1:{port}");
    let mut worker = Running::start(&endpoint, &url, &[("REDRIVE_DRAIN", "2")]);
    worker.says("SQS does not answer", 1).await;
    let passing = ["RequestThrottled", "ExpiredToken", "RequestExpired", "RequestTimeTooSkewed"];
    let refuses = move |_: &_, before| match passing.get(before).copied() {
        Some(code) => Fate::Refuse(400, code),
        None => Fate::Pass,
    };
    let proxy = Proxy::at(port, &aws.local.endpoint_url(), refuses).await;
    until_done(&mut aws, 1).await;
    assert!(proxy.calls("GetQueueAttributes").len() > passing.len());
    assert_eq!(worker.stop().await.is_good().count("SQS does not answer"), 1);
    aws.close().await;
}

/// The first call's connection is reset or closed, or its answer is cut off or garbled, and the next ones are answered.
#[tokio::test]
async fn a_worker_starts_though_its_first_call_fails_on_the_way() {
    let aws = open(30).await;
    let (endpoint, url) = (aws.local.endpoint_url(), aws.local.queue_url("orders"));
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length: ";
    let answers = [
        None,
        Some(String::new()),
        Some(head[..30].to_owned()),
        Some(format!("{head}100\r\n\r\n{{\"Attributes\": {{")),
        Some(format!("{head}16\r\n\r\n{{\"Attributes\": {{")),
        Some("GARBAGE\r\n\r\n".to_owned()),
    ];
    let starts = answers.into_iter().map(async |answer: Option<String>| {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut worker = Running::start(&format!("http://{address}"), &url, &[("REDRIVE_DRAIN", "2")]);
        let (mut stream, _) = timeout(PATIENCE, listener.accept()).await.expect("it calls").unwrap();
        drop(listener);
        if let Some(answer) = &answer {
            let mut request = vec![0; 16_384];
            let mut read = 0;
            while !request[..read].ends_with(b"}") {
                read += stream.read(&mut request[read..]).await.unwrap();
            }
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
        // What is closed with something unread is reset.
        drop(stream);
        let _proxy = Proxy::at(address.port(), &endpoint, |_, _| Fate::Pass).await;
        worker.says("the worker polls", 1).await;
        worker.stop().await.is_good();
    });
    join_all(starts).await;
    aws.close().await;
}

#[tokio::test]
async fn a_worker_stopped_before_it_reaches_its_queue_receives_nothing() {
    let aws = open(30).await;
    let fate = |_: &_, _| Fate::Late(Duration::from_secs(3));
    let proxy = Proxy::before(&aws.local.endpoint_url(), fate).await;
    let worker = Running::start(&proxy.url, &aws.local.queue_url("orders"), &[]);
    proxy.until_called("GetQueueAttributes", 1).await;
    worker.stop().await.is_good();
    assert!(proxy.calls("ReceiveMessage").is_empty());
    aws.close().await;
}

#[tokio::test]
async fn missing_settings_come_from_the_queue() {
    let mut config = super::queues(30);
    let policy = json!({
        "deadLetterTargetArn": "arn:aws:sqs:eu-west-1:123456789012:orders-dead",
        "maxReceiveCount": 2,
    });
    config.queues[1].attributes.insert("RedrivePolicy".to_owned(), policy.to_string());
    let mut aws = crate::support::shop::Open::start(config).await;
    let url = aws.local.queue_url("orders");
    let settings = [
        ("REDRIVE_BACKOFF", r#"{"kind":"exponential","delay":1,"max":1}"#),
        ("REDRIVE_LAST_DELIVERY", "dead-letter"),
        ("REDRIVE_DRAIN", "2"),
    ];
    let worker = Running::start(&aws.local.endpoint_url(), &url, &settings);
    let [refused, failed] = &aws.send(["a reject", "b fail"])[..] else { unreachable!() };
    let letter = |kind: &EventKind| match kind {
        EventKind::DeadLettered { message_id, attempt, reason, .. } => {
            Some((message_id.clone(), *attempt, reason.clone()))
        }
        _ => None,
    };
    let mut letters = [aws.until(letter).await, aws.until(letter).await];
    letters.sort_by_key(|(_, attempt, _)| *attempt);
    let expected = [(refused.clone(), 1, "rejected".to_owned()), (failed.clone(), 2, "exhausted".to_owned())];
    assert_eq!(letters, expected);
    worker.stop().await.is_good();
    aws.close().await;
}

#[tokio::test]
async fn a_worker_has_the_settings_of_its_queue() {
    let mut aws = open(30).await;
    let (endpoint, url) = (aws.local.endpoint_url(), aws.local.queue_url("orders"));
    let arn = |name: &str| format!("arn:aws:sqs:eu-west-1:123456789012:{name}");
    let of_queue = json!({ "on_malformed": "retry", "max_receive_count": 1, "last_delivery": "dead-letter" });
    let queues = json!({ arn("orders"): of_queue, arn("others"): {} }).to_string();
    let worker = Running::start(&endpoint, &url, &[("REDRIVE_QUEUES", &queues), ("REDRIVE_DRAIN", "2")]);
    aws.send(["a fail"]);
    let reason = aws.until(|kind| match kind {
        EventKind::DeadLettered { attempt, reason, .. } => Some((*attempt, reason.clone())),
        _ => None,
    });
    assert_eq!(reason.await, (1, "exhausted".to_owned()), "the queue itself allows ten");
    worker.stop().await.is_good();

    let others = json!({ arn("others"): {} }).to_string();
    let ended = Running::start(&endpoint, &url, &[("REDRIVE_QUEUES", &others)]).ended().await;
    let error = &ended.stderr;
    assert!(
        error.starts_with("Error: ") && error.contains("REDRIVE_QUEUES") && error.contains(&arn("orders")),
        "{error}"
    );
    assert_eq!((ended.code, error.lines().count()), (Some(1), 1));
    aws.close().await;
}
