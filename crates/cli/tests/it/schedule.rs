//! `redrive schedule` from outside.

use std::path::Path;

use serde_json::{Value, json};

use crate::doctor_corpus::written;
use crate::support::running::root;
use crate::support::{Ran, command};

/// In the folder of our template if a file is named, else in an empty one.
fn run(line: &str) -> Ran {
    let empty = tempfile::tempdir().expect("a folder");
    let folder = if line.contains("--template") { root() } else { empty.path().to_owned() };
    Ran::of(command(&format!("schedule {line}")).current_dir(folder))
}

fn json_of(line: &str) -> Value {
    run(&format!("{line} --json")).ended(0).json()
}

/// For a function of redrive and two queues with these properties and variables.
fn of_template(line: &str, queue: &str, variables: &str) -> Ran {
    let event = "{Type: SQS, Properties: {Queue: !GetAtt Q.Arn}}";
    let template = format!(
        "Resources:
  Q: {{Type: AWS::SQS::Queue, Properties: {{{queue}}}}}
  D: {{Type: AWS::SQS::Queue, Properties: {{MessageRetentionPeriod: 1209600}}}}
  F: {{Type: AWS::Serverless::Function, Properties: {{Runtime: provided.al2023, Handler: x, CodeUri: x,
    Environment: {{Variables: {{REDRIVE_LOG: info, {variables}}}}}, Events: {{Q: {event}}}}}}}"
    );
    Ran::of(command(&format!("schedule --template - {line}")).write_stdin(template))
}

const MOVED: &str = "redrive-policy";
const WRITTEN: &str = "function";

fn dead(deliveries: u64, after: u64, by: &str, sent: u64) -> Value {
    let expires = sent + 1_209_600;
    json!({"kind": "dead-letter", "deliveries": deliveries, "after": after, "by": by, "letter_expires_after": expires})
}

fn moved(deliveries: u64, after: u64) -> Value {
    dead(deliveries, after, MOVED, 0)
}

fn expired(deliveries: u64, after: u64) -> Value {
    json!({"kind": "expired", "deliveries": deliveries, "after": after})
}

#[test]
fn the_end_follows_from_flags_a_template_and_its_parameters() {
    let two = "--template crates/cli/tests/doctor/corpus/two-queues-named.yaml --queue";
    for (arguments, end) in [
        ("", moved(10, 1_022)),
        ("--max-receive-count 1", moved(1, 0)),
        ("--max-receive-count 20", moved(20, 236_414)),
        ("--max-receive-count 40", expired(28, 604_800)),
        ("--max-receive-count 20 --retention 1h", expired(11, 3_600)),
        (r#"--max-receive-count 6 --backoff {"kind":"steps","delay":[1,5,15]}"#, moved(6, 51)),
        ("--max-receive-count 3 --attempt-duration 30s", moved(3, 96)),
        ("--template template.yaml", moved(10, 1_022)),
        ("--template template.yaml --parameter MaxReceiveCount=5", moved(5, 30)),
        (
            "--template template.yaml --parameter Fifo=true --attempt-duration 2s",
            dead(10, 1_042, WRITTEN, 1_042),
        ),
        ("--template template.yaml --max-receive-count 4", moved(4, 14)),
        (&format!("{two} Orders"), moved(5, 30)),
        (&format!("{two} Refunds"), moved(7, 126)),
        (&format!("{two} Refunds --max-receive-count 4"), moved(4, 14)),
    ] {
        assert_eq!(json_of(arguments)["end"], end, "{arguments}");
    }
}

#[test]
fn a_function_may_be_told_another_count_than_the_queues() {
    let policy =
        |count| format!("RedrivePolicy: {{deadLetterTargetArn: !GetAtt D.Arn, maxReceiveCount: {count}}}");
    let told = |count| format!("REDRIVE_MAX_RECEIVE_COUNT: {count}, REDRIVE_DEAD_LETTER_QUEUE_URL: !Ref D");
    let fifo = format!("FifoQueue: true, {}", policy(5));
    let hot = "REDRIVE_BACKOFF: '{\"kind\": \"fixed\", \"delay\": 0}'";
    for (queue, variables, end, attempts) in [
        // It writes the letter early only past what it was told.
        (&*policy(10), &*told(3), dead(4, 6, WRITTEN, 6), 4),
        // It knows nothing of the last delivery: the message is moved when its delay is over.
        (&policy(3), &told(10), moved(3, 14), 3),
        (&policy(3), "", moved(3, 14), 3),
        // When SQS moves a letter between FIFO queues, its retention begins then.
        (&fifo, &told(10), dead(5, 62, MOVED, 62), 5),
        // Each second, until it expires.
        ("", hot, expired(345_600, 345_600), 1_000),
    ] {
        let plan = of_template("--json", queue, variables).ended(0).json();
        let found = plan["attempts"].as_array().map(Vec::len);
        assert_eq!((&plan["end"], found), (&end, Some(attempts)), "{queue} {variables}");
    }
}

#[test]
fn without_redrive_retries_wait_for_the_visibility_timeout() {
    let folder = "--template crates/cli/tests/doctor/corpus";
    for (arguments, rule, after) in [
        (format!("{folder}/guide-python.yaml"), "visibility-timeout", 900),
        // Counted from the receive.
        (format!("{folder}/guide-python.yaml --attempt-duration 50s"), "visibility-timeout", 900),
        (format!("{folder}/guide-python.yaml --visibility-timeout 60s"), "visibility-timeout", 300),
        // A second at least.
        (format!("{folder}/guide-python.yaml --visibility-timeout 0"), "visibility-timeout", 5),
        (format!("{folder}/guide-python.yaml --backoff {{}}"), "redrive", 30),
        (format!("{folder}/cargo-lambda-plain/template.yaml"), "visibility-timeout", 900),
    ] {
        let plan = json_of(&arguments);
        assert_eq!((&plan["rule"], &plan["end"]["after"]), (&json!(rule), &json!(after)), "{arguments}");
    }
}

#[test]
fn jitter_is_a_range_for_every_attempt_and_for_the_end() {
    let plan = json_of(r#"--max-receive-count 3 --backoff {"kind":"fixed","delay":60,"jitter":10}"#);
    let second = json!({
        "attempt": 2, "after": 60, "earliest": 50, "latest": 70,
        "delay": 60, "shortest_delay": 50, "longest_delay": 70,
    });
    assert_eq!(plan["attempts"][1], second);
    assert_eq!([&plan["earliest_end"], &plan["latest_end"]], [&moved(3, 100), &moved(3, 140)]);
}

#[test]
fn the_template_of_the_folder_is_read_where_nothing_is_named() {
    let here = |folder: &Path, line: &str| Ran::of(command(&format!("schedule {line}")).current_dir(folder));
    let said = "reading template.yaml, because no --template, --stack or --function is given\n";
    let plan = here(&root(), "--parameter MaxReceiveCount=5 --json").told(0, said).json();
    assert_eq!((&plan["queue"], &plan["end"]), (&json!("OrdersQueue"), &moved(5, 30)));
    let folder = tempfile::tempdir().expect("a folder");
    let bucket = "Resources: {Bucket: {Type: AWS::S3::Bucket}}";
    std::fs::write(folder.path().join("template.yaml"), bucket).expect("it can be written");
    here(folder.path(), "").told(0, "").stdout_starts("a queue (standard): 10 deliveries");
}

#[test]
fn a_flag_replaces_a_value_that_the_template_leaves_unknown() {
    for (queue, what, flag) in [
        ("VisibilityTimeout: !ImportValue x", "visibility timeout", "--visibility-timeout 60s"),
        ("MessageRetentionPeriod: !ImportValue x", "retention", "--retention 1d"),
        ("RedrivePolicy: !ImportValue x", "redrive policy", "--max-receive-count 5"),
    ] {
        let unknown = format!("redrive: the {what} of Q is unknown in stdin: pass it as a flag\n");
        of_template("", queue, "").told(2, unknown);
        of_template(flag, queue, "").ended(0);
    }
}

#[test]
fn impossible_values_are_wrong_input() {
    for (arguments, expected) in [
        (
            "--visibility-timeout 11h",
            "--visibility-timeout is \"39600\", allowed: a number of seconds above 0, at most 36000",
        ),
        (
            "--attempt-duration 10m",
            "--attempt-duration is 10m, allowed: at most the visibility timeout of 8m",
        ),
        ("--parameter Fifo=true", "--parameter requires --template"),
        ("--queue orders", "--queue requires --template, --stack or --function"),
        ("--template template.yaml --queue x", "--queue is \"x\", allowed: OrdersQueue"),
    ] {
        run(arguments).printed(2, "").stderr_has(expected);
    }
    for (file, arguments, expected) in [
        (
            "two-queues-one-named.yaml",
            "",
            "several queues feed functions in {path} (Orders, Refunds): pass --queue",
        ),
        (
            "two-queues-one-named.yaml",
            "--queue Refunds",
            "allowed: a queue that REDRIVE_QUEUES or Consumer::queue names",
        ),
        ("queue-imported.yaml", "", "no queue feeds a function in {path} (Queue of Ship.Orders: "),
        ("values-too-low.yaml", "", "maxReceiveCount of Orders is 0, allowed: 1 to 1000"),
    ] {
        let (_folder, path) = written(file);
        let path = path.display().to_string();
        run(&format!("--template {path} {arguments}"))
            .printed(2, "")
            .stderr_has(expected.replace("{path}", &path));
    }
}
