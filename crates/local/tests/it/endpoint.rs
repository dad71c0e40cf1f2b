use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use redrive_local::{Config, EventKind, Local, MissingData, Speed};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::support::http::{call, raw};
use crate::support::{message, shop};

async fn receive(local: &Local, queue: &str, wait: u32) -> String {
    let body = format!("{{\"QueueUrl\":\"{}\",\"WaitTimeSeconds\":{wait}}}", local.queue_url(queue));
    call(local, "/", "AmazonSQS.ReceiveMessage", &body).await
}

#[tokio::test]
async fn a_long_poll_ends_when_a_message_comes() {
    let local = Local::start(shop(Speed::Times(1.0))).await.unwrap();
    let begun = std::time::Instant::now();
    let (response, _) = tokio::join!(receive(&local, "orders-dead", 20), async {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        local.send("orders-dead", message("tea")).unwrap()
    });
    assert!(response.contains("\"Body\":\"tea\""), "{response}");
    assert!(begun.elapsed().as_secs() < 10);
    let totals = local.stop().await;
    assert_eq!(totals.aws_calls, [("sqs.ReceiveMessage".to_owned(), 1)].into());
}

#[tokio::test]
async fn totals_can_be_read_during_a_run() {
    let local = Local::start(shop(Speed::Times(1.0))).await.unwrap();
    assert_eq!((local.totals().messages, local.totals().aws_calls.len()), (0, 0));
    local.send("orders-dead", message("tea")).unwrap();
    receive(&local, "orders-dead", 0).await;
    let calls = [("sqs.ReceiveMessage".to_owned(), 1)];
    assert_eq!(local.totals().aws_calls, calls.clone().into());
    receive(&local, "orders-dead", 0).await;
    assert_eq!(local.totals().aws_calls, calls.map(|(name, _)| (name, 2)).into());
    assert_eq!(local.stop().await.aws_calls["sqs.ReceiveMessage"], 2);
}

#[tokio::test]
async fn an_empty_long_poll_takes_its_simulated_time() {
    for speed in [Speed::Max, Speed::Times(100.0)] {
        let local = Local::start(shop(speed)).await.unwrap();
        let response = receive(&local, "orders-dead", 20).await;
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
        let totals = local.stop().await;
        assert!((20..30).contains(&totals.simulated.as_secs()), "{:?}", totals.simulated);
        assert!(totals.wall.as_secs() < 5, "{:?}", totals.wall);
    }
}

#[tokio::test]
async fn another_service_is_refused_by_name() {
    let local = Local::start(shop(Speed::Max)).await.unwrap();
    let response = call(&local, "/", "DynamoDB_20120810.PutItem", "{}").await;
    assert!(response.starts_with("HTTP/1.1 400"), "{response}");
    assert!(response.contains("but not DynamoDB_20120810.PutItem"), "{response}");
    local.stop().await;
}

/// Creates the queue `other` and a task that moves a letter there after a second.
async fn move_a_letter(local: &Local) {
    local.send("orders-dead", message("tea")).unwrap();
    call(local, "/", "AmazonSQS.CreateQueue", "{\"QueueName\":\"other\"}").await;
    let arn = |name: &str| format!("arn:aws:sqs:eu-west-1:123456789012:{name}");
    let (source, destination) = (arn("orders-dead"), arn("other"));
    let task = format!(
        "{{\"SourceArn\":\"{source}\",\"DestinationArn\":\"{destination}\",\"MaxNumberOfMessagesPerSecond\":1}}"
    );
    let started = call(local, "/", "AmazonSQS.StartMessageMoveTask", &task).await;
    assert!(started.contains("TaskHandle"), "{started}");
}

#[tokio::test]
async fn it_is_not_at_rest_before_a_task_has_moved_its_messages() {
    let local = Local::start(shop(Speed::Max)).await.unwrap();
    move_a_letter(&local).await;
    let idle = tokio::time::timeout(std::time::Duration::from_secs(10), local.until_idle());
    idle.await.expect("a task ends");
    let response = receive(&local, "other", 0).await;
    assert!(response.contains("\"Body\":\"tea\""), "{response}");
    local.stop().await;
}

#[tokio::test]
async fn a_long_poll_sees_the_messages_that_a_task_moves_at_their_moment() {
    let local = Local::start(shop(Speed::Max)).await.unwrap();
    move_a_letter(&local).await;
    let response = receive(&local, "other", 20).await;
    assert!(response.contains("\"Body\":\"tea\""), "{response}");
    let totals = local.stop().await;
    assert!(totals.simulated.as_secs() >= 1 && totals.wall.as_secs() < 10, "{totals:?}");
}

#[tokio::test]
async fn a_call_that_wakes_no_function_ends_the_rest_of_the_account() {
    let mut config = Config { functions: vec![], mappings: vec![], ..shop(Speed::Times(1.0)) };
    config.alarms[0].missing = MissingData::Missing;
    let mut local = Local::start(config).await.unwrap();
    let mut events = local.take_events();
    call(&local, "/_redrive/skip", "", "108000").await;
    receive(&local, "orders-dead", 0).await;
    call(&local, "/_redrive/skip", "", "120").await;
    local.stop().await;
    let mut states = Vec::new();
    while let Some(event) = events.recv().await {
        if let EventKind::Alarm { state, .. } = event.kind {
            states.push((state.to_string(), event.at.as_secs()));
        }
    }
    let [.., (rested, _), (woken, at)] = &states[..] else { panic!("{states:?}") };
    assert_eq!((rested.as_str(), woken.as_str()), ("INSUFFICIENT_DATA", "OK"), "{states:?}");
    assert!((108_000..108_130).contains(at), "{states:?}");
}

#[tokio::test]
async fn waiting_is_skipped_on_demand_and_every_minute_on_the_way_is_evaluated() {
    let config = Config { functions: vec![], mappings: vec![], ..shop(Speed::Times(1.0)) };
    let mut local = Local::start(config).await.unwrap();
    let mut events = local.take_events();
    local.send("orders-dead", message("tea")).unwrap();
    let response = call(&local, "/_redrive/skip", "", "3600").await;
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    let response = call(&local, "/_redrive/skip", "", "soon").await;
    assert!(response.starts_with("HTTP/1.1 400"), "{response}");
    assert!(response.ends_with("seconds to skip: \"soon\", allowed: 0 to 31536000"), "{response}");
    let totals = local.stop().await;
    assert!((3_600..3_660).contains(&totals.simulated.as_secs()), "{totals:?}");
    let mut alarm = None;
    while let Some(event) = events.recv().await {
        if let EventKind::Alarm { .. } = event.kind {
            alarm = alarm.or(Some(event.at));
        }
    }
    assert!(alarm.expect("the alarm goes off").as_secs() <= 60, "{alarm:?}");
}

#[tokio::test]
async fn the_command_shows_the_body_of_a_message_that_a_client_sends() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_redrive-local"));
    command.current_dir(root).args(["--stack", "shop", "--binary", env!("CARGO_BIN_EXE_puppet")]);
    command.env_remove("AWS_PROFILE").stdin(Stdio::null()).kill_on_drop(true);
    let mut command = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut about = BufReader::new(command.stderr.take().unwrap()).lines();
    let shown = async {
        let address = loop {
            let line = about.next_line().await.unwrap().expect("it runs");
            if let Some((_, rest)) = line.split_once("--endpoint-url http://") {
                break rest.split(' ').next().unwrap().to_owned();
            }
        };
        let url = format!("http://{address}/000000000000/shop-orders");
        let body = json!({ "QueueUrl": url, "MessageBody": "ok tea" }).to_string();
        let request = format!(
            "POST / HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\nx-amz-target: AmazonSQS.SendMessage\r\n\
             content-type: application/x-amz-json-1.0\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let answer = raw(&address, &request).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let mut lines = BufReader::new(command.stdout.take().unwrap()).lines();
        lines.next_line().await.unwrap().expect("it shows the message")
    };
    let line = tokio::time::timeout(Duration::from_secs(60), shown).await.expect("it happens");
    assert!(line.ends_with("sent           ok tea"), "{line:?}");
    command.kill().await.unwrap();
}
