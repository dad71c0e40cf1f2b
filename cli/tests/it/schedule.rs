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

fn schedule(line: &str) -> String {
    run(line).told(0, "").stdout.clone()
}

fn json_of(line: &str) -> Value {
    run(&format!("{line} --json")).ended(0).json()
}

#[test]
fn ten_deliveries_are_a_table_with_a_plot_and_its_end() {
    let written = schedule("");
    assert!(written.contains("        9       8m 30s      8m 32s  "), "{written}");
    assert!(written.contains("dead letter after 17m 2s, moved by the redrive policy"), "{written}");
    assert_eq!(written.matches("o===").count(), 9, "{written}");
    assert!(!written.contains('\u{1b}'), "no colors without a terminal");
    assert!(written.lines().all(|line| line.len() <= 80), "{written}");
}

#[test]
fn the_end_follows_from_flags_a_template_and_its_parameters() {
    for (arguments, after, by) in [
        ("", 1_022, "redrive-policy"),
        (r#"--max-receive-count 3 --backoff {"kind":"steps","delay":[1,5,15]}"#, 6, "redrive-policy"),
        ("--max-receive-count 3 --fifo --attempt-duration 10s", 36, "function"),
        ("--template template.yaml", 1_022, "redrive-policy"),
        ("--template template.yaml --parameter MaxReceiveCount=5", 30, "redrive-policy"),
        ("--template template.yaml --parameter Fifo=true", 1_022, "function"),
        ("--template template.yaml --max-receive-count 4", 14, "redrive-policy"),
        ("--template cli/tests/doctor/corpus/two-queues-named.yaml --queue Orders", 30, "redrive-policy"),
        ("--template cli/tests/doctor/corpus/two-queues-named.yaml --queue Refunds", 126, "redrive-policy"),
        (
            "--template cli/tests/doctor/corpus/two-queues-named.yaml --queue Refunds --max-receive-count 4",
            14,
            "redrive-policy",
        ),
    ] {
        let end = json_of(arguments)["end"].clone();
        assert_eq!(
            (&end["kind"], &end["after"], &end["by"]),
            (&json!("dead-letter"), &json!(after), &json!(by))
        );
    }
}

#[test]
fn a_queue_that_redrive_queues_does_not_name_has_no_schedule() {
    let (_folder, path) = written("two-queues-one-named.yaml");
    let ran = run(&format!("--template {} --queue Refunds", path.display()));
    let told = &ran.ended(2).stderr;
    assert!(told.contains("allowed: a queue that REDRIVE_QUEUES or Consumer::queue names"), "{told}");
}

#[test]
fn the_template_of_the_folder_is_read_where_nothing_is_named() {
    let here = |folder: &Path, line: &str| Ran::of(command(&format!("schedule {line}")).current_dir(folder));
    let said = "reading template.yaml, because no --template, --stack or --function is given\n";
    let ran = here(&root(), "--parameter MaxReceiveCount=5 --json");
    assert_eq!(
        (&ran.told(0, said).json()["queue"], &ran.json()["end"]["after"]),
        (&json!("OrdersQueue"), &json!(30))
    );
    assert_eq!(here(&root(), "--max-receive-count 4 --json").told(0, said).json()["end"]["after"], 14);
    here(&root(), "--queue x").printed(2, "").stderr_has("--queue is \"x\", allowed: OrdersQueue");
    let folder = tempfile::tempdir().expect("a folder");
    let bucket = "Resources: {Bucket: {Type: AWS::S3::Bucket}}";
    std::fs::write(folder.path().join("template.yaml"), bucket).expect("it can be written");
    here(folder.path(), "").told(0, "").stdout_starts("a queue (standard): 10 deliveries");
}

#[test]
fn without_redrive_retries_wait_for_the_visibility_timeout() {
    let folder = "cli/tests/doctor/corpus";
    let written = schedule(&format!("--template {folder}/guide-python.yaml"));
    let rule = "\nretries wait for the visibility timeout of 3m, since Ship does not run redrive\n";
    assert!(written.contains(rule), "{written}");
    assert!(written.contains("dead letter after 15m, moved by the redrive policy"), "{written}");
    for (arguments, rule, after) in [
        (format!("--template {folder}/guide-python.yaml"), "visibility-timeout", 900),
        (
            format!("--template {folder}/guide-python.yaml --visibility-timeout 60s"),
            "visibility-timeout",
            300,
        ),
        (format!("--template {folder}/guide-python.yaml --backoff {{}}"), "redrive", 30),
        (format!("--template {folder}/cargo-lambda-plain/template.yaml"), "visibility-timeout", 900),
        ("--template template.yaml".to_owned(), "redrive", 1_022),
        (String::new(), "redrive", 1_022),
    ] {
        let plan = json_of(&arguments);
        assert_eq!((&plan["rule"], &plan["end"]["after"]), (&json!(rule), &json!(after)), "{arguments}");
    }
}

#[test]
fn a_queue_outside_of_the_template_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t.yaml");
    let source = "arn:aws:sqs:eu-west-1:123456789012:orders";
    let template = format!(
        "Resources: {{F: {{Type: AWS::Serverless::Function, Properties: {{Events: {{Q: {{Type: SQS, Properties: {{Queue: '{source}'}}}}}}}}}}}}"
    );
    std::fs::write(&path, template).expect("it can be written");
    let path = path.display();
    let expected = format!("the queue of F.Q, {source}, is not in {path}: use flags instead");
    run(&format!("--template {path}")).printed(2, "").stderr_has(&expected);
}

#[test]
fn a_queue_of_another_stack_is_not_known() {
    let (_folder, path) = written("queue-imported.yaml");
    let path = path.display();
    let expected = format!("the queue of Ship.Orders is not known in {path}: use flags instead");
    run(&format!("--template {path}")).printed(2, "").stderr_has(&expected);
}

#[test]
fn a_max_receive_count_that_sqs_rejects_is_wrong_input() {
    let (_folder, path) = written("values-too-low.yaml");
    let run = run(&format!("--template {}", path.display()));
    run.printed(2, "").stderr_has("maxReceiveCount of Orders is 0, allowed: 1 to 1000");
}

#[test]
fn queues_have_the_names_that_the_template_gives_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t.yaml");
    let event = |queue: &str| format!("{{Type: SQS, Properties: {{Queue: !GetAtt {queue}.Arn}}}}");
    let (a, b) = (event("A"), event("B"));
    let template = |properties: &str, events: &str| {
        let queues =
            format!("A: {{Type: AWS::SQS::Queue, Properties: {properties}}}, B: {{Type: AWS::SQS::Queue}}");
        let function = format!("{{Type: AWS::Serverless::Function, Properties: {{Events: {events}}}}}");
        format!("Resources: {{{queues}, F: {function}}}")
    };
    for (template, expected) in [
        (
            template("{}", &format!("{{A: {a}, B: {b}}}")),
            "several queues feed functions in {path} (A, B): pass --queue\n",
        ),
        (
            template("{VisibilityTimeout: !ImportValue x}", &format!("{{A: {a}}}")),
            "the visibility timeout of A is unknown in {path}: pass it as a flag\n",
        ),
    ] {
        std::fs::write(&path, template).expect("it can be written");
        let path = path.display().to_string();
        run(&format!("--template {path}")).told(2, format!("redrive: {}", expected.replace("{path}", &path)));
    }
}

#[test]
fn a_message_that_expires_first_has_no_letter() {
    let plan = json_of("--max-receive-count 20 --retention 1h --at 2026-11-21T23:30:00Z");
    assert_eq!(
        plan["end"],
        json!({"kind": "expired", "after": 3600, "deliveries": 11, "at": "2026-11-22T00:30:00Z"})
    );
    assert_eq!(plan["attempts"][1]["at"], "2026-11-21T23:30:02Z");
    let written = schedule("--max-receive-count none");
    assert!(
        written.contains(
            "expired after 7d: SQS deletes the message, and there is no dead letter (28 \
                          deliveries)"
        ),
        "{written}"
    );
}

#[test]
fn jitter_is_a_range_for_every_attempt_and_for_the_end() {
    let plan = json_of(r#"--max-receive-count 3 --backoff {"kind":"fixed","delay":60,"jitter":10}"#);
    let second = &plan["attempts"][1];
    assert_eq!((&second["earliest"], &second["latest"]), (&json!(50), &json!(70)));
    assert_eq!((&second["shortest_delay"], &second["longest_delay"]), (&json!(50), &json!(70)));
    assert_eq!((&plan["earliest_end"]["after"], &plan["latest_end"]["after"]), (&json!(100), &json!(140)));
}

#[test]
fn what_cannot_be_meant_is_wrong_input() {
    for (arguments, expected) in [
        ("--max-receive-count 0", "allowed: 1 to 1000, or none"),
        ("--retention 15d", "allowed: 1m to 14d"),
        ("--backoff linear", "--backoff is \"linear\", allowed: JSON such as"),
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
        ("--template none.yaml", "could not read the template none.yaml"),
        ("--template template.yaml --queue x", "--queue is \"x\", allowed: OrdersQueue"),
        ("--template template.yaml --stack x", "cannot be used with"),
    ] {
        run(arguments).printed(2, "").stderr_has(expected);
    }
}
