//! `redrive local` from outside: the real command, the real function, the messages of `make run`.

use assert_cmd::Command;
use serde_json::Value;

use crate::support::ends::{ends, sent};
use crate::support::running::{built, root};
use crate::support::{Ran, local};

/// `redrive local` in the repository's root, with waiting skipped.
fn demo(line: &str) -> Command {
    let function = built("orders");
    let flags = "--speed max --until-idle --parameter MessageTimeLimit=2 --binary";
    local(&root(), &format!("{flags} {} {line}", function.display()))
}

fn events(line: &str) -> Vec<Value> {
    Ran::of(&mut demo(&format!("{line} --json"))).ended(0).json_lines()
}

/// How the twelve messages of `events/demo.jsonl` end.
fn ends_as_documented(events: &[Value]) {
    let expected = [
        "done 1",
        "done 1",
        "done 1",
        "done 2",
        "done 3",
        "done 4",
        "done 2",
        "panic 1",
        "card-refused 1",
        "malformed 1",
        "redrive policy 10",
        "done 1",
    ];
    assert_eq!(ends(events), expected);
}

#[test]
fn every_message_of_the_demo_ends_as_its_documentation_says() {
    let events = events("--send events/demo.jsonl");
    ends_as_documented(&events);

    let totals = events.last().expect("there are totals");
    assert_eq!(
        (&totals["kind"], &totals["messages"], &totals["done"]),
        (&"totals".into(), &12.into(), &8.into())
    );
    let dead = serde_json::json!({"card-refused": 1, "malformed": 1, "panic": 1, "redrive policy": 1});
    assert_eq!(totals["dead_lettered"], dead);
}

/// By itself the command is the function, too, and leaves nothing behind.
#[test]
fn the_demo_needs_nothing_but_the_command() {
    let (empty, temporary) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for line in ["", "--worker "] {
        let mut command = local(empty.path(), &format!("--demo --speed max --until-idle --json {line}"));
        let events = Ran::of(command.env("TMPDIR", temporary.path())).ended(0).json_lines();
        let dead = &events.last().expect("there are totals")["dead_lettered"];
        assert_eq!((&dead["card-refused"], &dead["malformed"]), (&1.into(), &1.into()), "{line}{dead}");
        if line.is_empty() {
            ends_as_documented(&events);
        }
    }
    for folder in [empty.path(), temporary.path()] {
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0, "{}", folder.display());
    }
}

#[test]
fn the_demo_takes_other_messages_and_no_other_template() {
    let (empty, line) = (
        tempfile::tempdir().unwrap(),
        r#"{"body": {"order_id": "A-1", "lines": [{"sku": "tee", "quantity": 1}]}}"#,
    );
    let mut command =
        local(empty.path(), "--demo --speed max --until-idle --send - --parameter MessageTimeLimit=3");
    Ran::of(command.write_stdin(line))
        .ended(0)
        .stdout_has("dead-lettered  attempt 1, unknown-item: nobody sells");
    for other in ["--template template.yaml", "--binary orders", "--example state", "--release", "--aws"] {
        let refused = Ran::of(&mut local(empty.path(), &format!("--demo {other}")));
        refused.ended(2).stderr_has("the argument '--demo' cannot be used with");
    }
}

#[test]
fn the_template_alarms_on_what_the_binary_emits() {
    let events = events("--send events/demo.jsonl --parameter ErrorThreshold=1");
    let goes_off = |name: &str| {
        let of_it = events.iter().filter(|event| event["kind"] == "alarm" && event["name"] == name);
        of_it.filter(|event| event["state"] == "ALARM").count() > 0
    };
    for alarm in ["redrive-DeadLetter", "redrive-DeadLettered", "redrive-WorkerErrors"] {
        assert!(goes_off(alarm), "{alarm}");
    }
    for alarm in ["redrive-FunctionErrors", "redrive-Throttles"] {
        assert!(!goes_off(alarm), "{alarm}");
    }
}

#[test]
fn the_waits_of_a_message_that_always_fails_double() {
    let events = events("--send events/demo.jsonl");
    let ids = sent(&events);
    let of_the_eleventh = events.iter().filter(|event| event["message_id"] == ids[10]);
    let (mut waits, mut received) = (Vec::new(), Vec::new());
    for event in of_the_eleventh {
        match event["kind"].as_str() {
            Some("back_in") => waits.extend(event["seconds"].as_u64()),
            Some("received") => received.extend(event["at"].as_f64()),
            _ => {}
        }
    }
    // After the last delivery it is back at once, and may be moved before anyone can tell.
    assert_eq!(waits.get(..9), Some(&[2, 4, 8, 16, 32, 64, 128, 256, 512][..]));
    for (pair, wait) in received.windows(2).zip(&waits) {
        let passed = pair[1] - pair[0];
        assert!((passed - *wait as f64).abs() < 4.0, "{passed} s passed instead of {wait}");
    }
}

#[test]
fn the_closing_table_adds_up() {
    let ran = Ran::of(&mut demo("--send events/one-in-ten-fails.json events/poison.json"));
    let table = ran.ended(0).stdout.split("\n\n").last().expect("a table follows the lines");
    let row = |name: &str| {
        let row = table.lines().find(|line| line.trim_start().starts_with(name))?;
        row.split_whitespace().last()?.parse::<usize>().ok()
    };
    assert_eq!((row("messages"), row("done"), row("dead-lettered")), (Some(11), Some(9), Some(2)), "{table}");
    assert_eq!((row("malformed"), row("redrive policy")), (Some(1), Some(1)), "{table}");
    assert!(row("sqs.ChangeMessageVisibilityBatch") > Some(0), "{table}");
}

#[test]
fn a_batch_that_succeeds_makes_no_call() {
    let events = events("--send events/standard.json");
    let totals = events.last().expect("there are totals");
    assert_eq!((&totals["done"], &totals["aws_calls"]), (&3.into(), &serde_json::json!({})));
}

#[test]
fn messages_can_come_from_stdin() {
    let line = r#"{"body": {"order_id": "A-1", "lines": [{"sku": "tea", "quantity": 1}]}}"#;
    Ran::of(demo("--send - --json").write_stdin(line)).ended(0).stdout_has("\"kind\":\"done\"");
}

#[test]
fn a_function_that_does_not_start_is_told() {
    // `redrive` without arguments prints its help and exits with 2.
    let flags = "--speed max --until-idle --send events/standard.json";
    let line = format!("{flags} --binary {}", env!("CARGO_BIN_EXE_redrive"));
    let ran = Ran::of(&mut local(&root(), &line));
    let reason = "it exited before it polled the Runtime API (exit status: 2)";
    let failed = format!("function       redrive-orders did not start: {reason}; 3 messages come back\n");
    let (first, rest) = ran.ended(1).stdout.split_once(&failed).expect("it is told");
    assert!(
        !first.contains('|') && rest.lines().next().is_some_and(|line| line.contains("   | ")),
        "{ran:?}"
    );
    assert_eq!((rest.matches(&failed).count(), rest.matches("redrive --help | ").count()), (2, 0), "{ran:?}");
    let last = ran.stderr.lines().last().expect("why it ended");
    let start = format!(
        "redrive: redrive-orders does not start: it failed 3 times in a row; the last time, {reason}: "
    );
    assert!(last.starts_with(&start), "{ran:?}");
}

/// As many a template is written.
#[test]
fn without_report_batch_item_failures_a_failed_message_is_told_as_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let template = std::fs::read_to_string(root().join("template.yaml")).expect("it is there");
    let types = "            FunctionResponseTypes: [ReportBatchItemFailures]\n";
    assert!(template.contains(types), "{template}");
    std::fs::write(folder.path().join("template.yaml"), template.replace(types, "")).expect("it is written");
    let messages = root().join("events/one-in-ten-fails.json");
    let flags = format!(
        "--speed max --until-idle --binary {} --send {}",
        built("orders").display(),
        messages.display()
    );
    let ran = Ran::of(&mut local(folder.path(), &flags));
    ran.ended(0).stdout_has("lost           deleted although it failed, attempt 1\n");
    ran.stdout_has(
        "\n   done                                    9\n   deleted although failed                 1\n",
    );
    let warning = "warning   function redrive-orders: a message that it reports as failed is deleted: add \
                   FunctionResponseTypes: [ReportBatchItemFailures] to its mapping of queue redrive-orders\n";
    assert_eq!(ran.stderr.matches(warning).count(), 1, "{ran:?}");
    let events = Ran::of(&mut local(folder.path(), &format!("{flags} --json"))).ended(0).json_lines();
    let lost = events.iter().filter(|event| event["kind"] == "deleted_although_failed").count();
    let totals = events.last().expect("there are totals");
    assert_eq!((lost, &totals["done"], &totals["deleted_although_failed"]), (1, &9.into(), &1.into()));
}
