//! `redrive local --endpoint-url`: uses the queues of a second process as real ones.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::time::Instant;

use serde_json::Value;

use crate::support::running::{PATIENCE, Running, built, free_port, wait_for};
use crate::support::{Ran, local};

const TEMPLATE: &str = "
Parameters:
  Enabled: {Type: String, Default: 'true'}
Resources:
  Orders:
    Type: AWS::SQS::Queue
    Properties: {QueueName: orders, VisibilityTimeout: 2}
  Shop:
    Type: AWS::Serverless::Function
    Properties:
      Timeout: 1
      Environment: {Variables: {QUEUE: !Ref Orders}}
      Events:
        Orders:
          Type: SQS
          Properties:
            Queue: !GetAtt Orders.Arn
            Enabled: !Ref Enabled
            FunctionResponseTypes: [ReportBatchItemFailures]
            FilterCriteria: {Filters: [{Pattern: '{\"body\": [{\"anything-but\": \"unwanted\"}]}'}]}
";

/// Reads events until the wanted number of messages has been deleted; returns what was told of each body.
fn read_until(stdout: &mut impl BufRead, deleted: usize) -> Vec<Value> {
    let (begun, mut events) = (Instant::now(), Vec::new());
    let gone = |event: &Value| event["kind"] == "done" || event["kind"] == "filtered_out";
    while events.iter().filter(|event| gone(event)).count() < deleted {
        assert!(begun.elapsed() < PATIENCE, "{events:?}");
        let mut line = String::new();
        assert_ne!(stdout.read_line(&mut line).expect("stdout is text"), 0, "it ended early: {events:?}");
        events.push(serde_json::from_str(&line).expect("each line is JSON"));
    }
    events
}

fn count(events: &[Value], kind: &str) -> usize {
    events.iter().filter(|event| event["kind"] == kind).count()
}

#[test]
fn messages_of_another_process_are_worked_on_here_and_deleted_there() {
    let directory = tempfile::tempdir().expect("there is room for a directory");
    let write =
        |name: &str, text: &str| std::fs::write(directory.path().join(name), text).expect("it is ours");
    write("template.yaml", TEMPLATE);
    // `hide 1` gives its message a visibility timeout of its own by the endpoint, and fails; with `send` it makes another.
    let bodies = ["ok", "fail 1", "unwanted", "hide 1", "send orders"];
    let lines: Vec<String> = bodies.iter().map(|body| format!("{{\"body\": \"{body}\"}}")).collect();
    write("messages.jsonl", &lines.join("\n"));
    let port = free_port();

    let arguments = ["--port", &port.to_string(), "--parameter", "Enabled=false", "--send", "messages.jsonl"];
    let mut queues = Running::start(directory.path(), &built("puppet"), &arguments);
    let told_there = BufReader::new(queues.0.stdout.take().expect("stdout is piped"));
    wait_for(port);
    let url = format!("http://127.0.0.1:{port}");
    let mut functions = Running::start(directory.path(), &built("puppet"), &["--endpoint-url", &url]);
    let mut told_here = BufReader::new(functions.0.stdout.take().expect("stdout is piped"));

    // ok, fail 1 on its second delivery, the unwanted one, send, and what it sent.
    let events = read_until(&mut told_here, 5);
    assert_eq!((count(&events, "done"), count(&events, "filtered_out")), (4, 1), "{events:?}");
    let attempts = |kind: &str| {
        let of_kind = events.iter().filter(|event| event["kind"] == kind);
        of_kind.filter_map(|event| event["attempt"].as_u64()).max()
    };
    assert_eq!(attempts("done"), Some(2));
    assert!(attempts("received") >= Some(2), "{events:?}");
    let here = functions.stop(told_here);
    assert_eq!((&here["done"], &here["filtered_out"], &here["left"]), (&4.into(), &1.into(), &1.into()));

    let there = queues.stop(told_there);
    assert_eq!(there["invocations"], 0);
    assert_eq!(there["left"], 1, "only the one that hides itself is left: {there}");
    assert!(there["aws_calls"]["sqs.ChangeMessageVisibility"].as_u64() >= Some(1), "{there}");
}

#[test]
fn a_queue_that_is_not_there_is_told_in_one_line() {
    let directory = tempfile::tempdir().expect("there is room for a directory");
    let template = directory.path().join("template.yaml");
    std::fs::write(&template, TEMPLATE).expect("it is ours");
    let port = free_port();
    let other = TEMPLATE.replace("QueueName: orders", "QueueName: invoices");
    std::fs::write(directory.path().join("other.yaml"), other).expect("it is ours");
    let mut queues = Running::start(
        directory.path(),
        &built("puppet"),
        &["--port", &port.to_string(), "--template", "other.yaml"],
    );
    wait_for(port);
    let line = format!("--endpoint-url http://127.0.0.1:{port} --binary {}", built("puppet").display());
    let refused = "AWS.SimpleQueueService.NonExistentQueue: The specified queue does not exist.";
    Ran::of(&mut local(directory.path(), &line))
        .told(1, format!("redrive: http://127.0.0.1:{port}: queue orders: {refused}\n"));
    let nobody = free_port();
    let line = line.replace(&port.to_string(), &nobody.to_string());
    Ran::of(&mut local(directory.path(), &line)).refused(
        1,
        &format!("redrive: http://127.0.0.1:{nobody}: queue orders: no connection (Connection refused"),
    );
    let mut rest = String::new();
    let mut stdout = queues.0.stdout.take().expect("stdout is piped");
    queues.0.kill().expect("it still runs");
    stdout.read_to_string(&mut rest).expect("stdout is text");
}

#[test]
fn an_endpoint_that_never_answers_is_named_and_left() {
    let directory = tempfile::tempdir().expect("there is room for a directory");
    std::fs::write(directory.path().join("template.yaml"), TEMPLATE).expect("it is ours");
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("http://{}", silent.local_addr().expect("it is bound"));
    let line = format!("--endpoint-url {url} --timeout 2 --binary {}", built("puppet").display());
    Ran::of(&mut local(directory.path(), &line)).told(
        1,
        format!(
            "redrive: no answer from {url} for 1 s; waiting up to 2 s (--timeout)\n\
             redrive: {url}: queue orders: no answer in time: is the endpoint right, and is it running?\n"
        ),
    );
}

#[test]
fn contradicting_flags_are_refused() {
    let directory = tempfile::tempdir().expect("there is room for a directory");
    std::fs::write(directory.path().join("template.yaml"), TEMPLATE).expect("it is ours");
    for (arguments, refusal) in [
        ("--endpoint-url 127.0.0.1:4566", "--endpoint-url is \"127.0.0.1:4566\", allowed: http://HOST:PORT"),
        ("--endpoint-url http://127.0.0.1:1 --aws", "cannot be used with"),
        ("--aws --send messages.jsonl", "cannot be used with"),
        ("--timeout 5", "<--endpoint-url <URL>|--aws>"),
        ("--aws --ui", "'--aws' cannot be used with '--ui"),
        ("--endpoint-url http://127.0.0.1:1 --ui 8080", "'--endpoint-url <URL>' cannot be used with '--ui"),
    ] {
        Ran::of(&mut local(directory.path(), arguments)).ended(2).stderr_has(refusal);
    }
}

#[test]
fn aws_is_not_another_endpoint_of_the_settings() {
    let directory = tempfile::tempdir().expect("there is room for a directory");
    let write =
        |name: &str, text: &str| std::fs::write(directory.path().join(name), text).expect("it is ours");
    write("template.yaml", TEMPLATE);
    let of_sqs =
        "[profile shop]\nservices = own\n[services own]\nsqs =\n  endpoint_url = http://127.0.0.1:1\n";
    let of_all = "[profile shop]\nendpoint_url = http://127.0.0.1:1\n";
    let line = format!("--aws --yes --region eu-west-1 --binary {}", built("puppet").display());
    for (variable, settings, named) in [
        (Some("AWS_ENDPOINT_URL"), "", "AWS_ENDPOINT_URL"),
        (Some("AWS_ENDPOINT_URL_SQS"), of_all, "AWS_ENDPOINT_URL_SQS"),
        (None, of_sqs, "endpoint_url of your profile"),
        (None, of_all, "endpoint_url of your profile"),
    ] {
        write("config", settings);
        let mut command = local(directory.path(), &line);
        let keys =
            [("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b"), ("AWS_CONFIG_FILE", "config")];
        command.envs(keys).envs(variable.map(|name| (name, "http://127.0.0.1:1")));
        command.envs((!settings.is_empty()).then_some(("AWS_PROFILE", "shop")));
        Ran::of(&mut command).told(
            2,
            format!(
                "redrive: --aws calls AWS itself, but {named} is \"http://127.0.0.1:1\": unset it, or pass it as \
                 --endpoint-url instead of --aws\n"
            ),
        );
    }
}
