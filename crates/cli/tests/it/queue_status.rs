//! `redrive queue status`: shows known values, and names unknown ones.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde_json::{Value, json};

use crate::proxy::{Fate, Proxy};
use crate::support::running::signal;
use crate::support::{ACCOUNT, Aws, REGION, spawn};
use crate::terminal::Terminal;

/// Without the widths of columns.
fn squeezed(text: &str) -> String {
    let squeezed = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n");
    squeezed.collect()
}

#[test]
fn everything_is_shown_of_a_queue_with_letters() {
    let aws = Aws::with_shop(false);
    let sent = [aws.send("orders", "waits"), aws.send("orders", "too"), aws.send("orders-dead", "a letter")];
    aws.skip(3_700);
    let report = aws.redrive("queue status --stack shop --json").ended(0).json();
    assert_eq!(
        (&report["queue"]["visible"], &report["dead_letter_queue"]["visible"]),
        (&2.into(), &1.into())
    );
    assert_eq!(report["queue"]["redrive_policy"]["max_receive_count"], 3);
    let age = report["dead_letter_queue"]["oldest_seconds"].as_u64().expect("it has an age");
    assert!((3_540..=3_700).contains(&age), "{age}");
    // Four days in either queue: what SQS moved may have used them up.
    let expires = &report["first_letter_expires"];
    assert_eq!(
        (&expires["earliest_in_seconds"], &expires["latest_in_seconds"]),
        (&0.into(), &(345_600 - age).into())
    );
    let mapping = &report["mappings"][0];
    assert_eq!((&mapping["function"], &mapping["state"]), (&"worker".into(), &"Disabled".into()));
    assert_eq!((&mapping["batch_size"], &mapping["maximum_concurrency"]), (&7.into(), &3.into()));
    assert_eq!(
        (&report["alarms"][0]["name"], &report["alarms"][0]["state"]),
        (&"DeadLetter".into(), &"ALARM".into())
    );
    assert_eq!(report["not_read"], Value::Array(vec![]));

    let shown = aws.redrive("queue status --queue orders-dead").stdout;
    for line in [
        "orders orders-dead\n",
        "visible 2 1\n",
        "retention 4d 4d\n",
        "redrive policy after 3 receives to orders-dead\n",
        "first letter expires within 3d 22h\n",
        "mapping Disabled worker batches of 7, at most 3 at once ",
        "alarm ALARM DeadLetter since ",
    ] {
        assert!(squeezed(&shown).contains(line), "no {line:?} in:\n{shown}");
    }
    assert!(!shown.contains('\x1b'), "no colors in a pipe: {shown}");
    // It was looked at, not received.
    assert_eq!(sent.len(), 3);
    assert_eq!(aws.attribute("orders-dead", "ApproximateNumberOfMessagesNotVisible"), "0");
}

#[test]
fn the_age_of_a_message_that_is_gone_is_not_that_of_the_next() {
    let aws = Aws::with_orders(false);
    aws.send("orders", "old");
    aws.skip(3_700);
    aws.wait(aws.sqs.purge_queue().queue_url(aws.queue_url("orders")).send()).expect("it is purged");
    aws.skip(360);
    aws.send("orders", "new");
    let report = aws.redrive("queue status --queue orders --json").ended(0).json();
    assert_eq!(report["queue"]["oldest_seconds"], Value::Null);
}

#[test]
fn unknown_values_are_reported_as_unknown() {
    let aws = Aws::with_orders(false);
    aws.send("orders-dead", "too young for a metric");
    let report = aws.redrive("queue status --queue orders --json").ended(0).json();
    assert_eq!(report["dead_letter_queue"]["oldest_seconds"], Value::Null);
    assert_eq!(report["first_letter_expires"], Value::Null);
    let shown = squeezed(&aws.redrive("queue status --queue orders").stdout);
    assert!(shown.contains("oldest - unknown\n"), "{shown}");
    let age = "oldest letter unknown: CloudWatch has no age yet, or looking at letters has hidden it; --look shows it\n";
    assert!(
        shown.contains(&format!("first letter expires unknown\n{age}mapping none\nalarm none\n")),
        "{shown}"
    );
}

#[test]
fn an_age_that_looks_have_spoilt_is_explained_and_a_look_shows_it() {
    let aws = Aws::with_orders(false);
    aws.send("orders-dead", "old");
    aws.send("orders-dead", "younger");
    // The metric is up to a minute old.
    aws.skip(3_760);
    let status = |more: &str| squeezed(&aws.redrive(&format!("queue status --queue orders{more}")).stdout);
    assert!(status("").contains("oldest - about 1h "), "{}", status(""));
    for _ in 0..3 {
        aws.redrive("dlq list --queue orders").ended(0);
    }
    aws.skip(600);
    let shown = status("");
    assert!(shown.contains("oldest - unknown\n"), "{shown}");
    assert!(
        shown.contains("unknown: CloudWatch has no age yet, or looking at letters has hidden it; "),
        "{shown}"
    );
    let (_, best) = shown.split_once(" ago it was 1h ").expect("the last that is known");
    assert!(best.contains(", if that message is still there; --look shows it\n"), "{shown}");

    // SentTimestamp is a time, and no seconds were skipped by the clock of this machine.
    let looked = status(" --look");
    assert!(!looked.contains("oldest - unknown\n") && !looked.contains("about"), "{looked}");
    assert!(looked.contains("first letter expires in 3d 23h\n"), "{looked}");
    assert!(looked.contains("oldest letter SentTimestamp of all 2 letters, by this look\n"), "{looked}");
    let json = aws.redrive("queue status --queue orders --look --json").json();
    let dead = &json["dead_letter_queue"];
    assert!(dead["oldest_seconds"].as_u64().expect("it is known") < 120, "{json}");
    assert_eq!((&dead["oldest_from"], &json["letters_seen"]), (&"look".into(), &2.into()));
    let expires = &json["first_letter_expires"];
    assert_eq!(expires["earliest_in_seconds"], expires["latest_in_seconds"], "{json}");
    assert_eq!(aws.attribute("orders-dead", "ApproximateNumberOfMessages"), "2", "they are visible again");
}

#[test]
fn parts_that_may_not_be_read_do_not_hide_the_others() {
    let aws = Aws::with_shop(true);
    let faults = [
        ("/event-source-mappings", "AccessDeniedException", "not you"),
        ("operation/DescribeAlarms", "AccessDenied", "not you"),
        ("operation/GetMetricData", "InvalidAction", "what is that"),
    ];
    let proxy = Proxy::refusing(&aws.url, faults);
    let ran = proxy.redrive("queue status --queue orders");
    ran.told(0, "");
    for part in [
        "visible 0 0\n",
        "mapping unknown: could not read the event source mappings of orders: not allowed: your credentials need lambda:ListEventSourceMappings (not you)",
        "alarm unknown: could not read the alarms: not allowed: your credentials need cloudwatch:DescribeAlarms (not you)",
        "could not read the age of the oldest message: this endpoint has no such service (what is that)",
    ] {
        assert!(squeezed(&ran.stdout).contains(part), "no {part:?} in:\n{}", ran.stdout);
    }
    let report = proxy.redrive("queue status --queue orders --json").ended(0).json();
    assert_eq!((&report["mappings"], &report["alarms"]), (&Value::Null, &Value::Null));
    assert_eq!(report["not_read"].as_array().map(Vec::len), Some(3), "{report}");
}

#[test]
fn a_dead_letter_queue_that_is_gone_is_shown_as_such() {
    let aws = Aws::with_orders(false);
    aws.wait(aws.sqs.delete_queue().queue_url(aws.queue_url("orders-dead")).send()).expect("it is deleted");
    let ran = aws.redrive("queue status --queue orders");
    ran.ended(0);
    assert!(
        squeezed(&ran.stdout).contains("dead-letter queue unknown: could not find the queue arn:aws:sqs:"),
        "{ran:?}"
    );
}

/// Lambda may return a page without any mapping, and a marker of the next one.
#[test]
fn a_queue_is_found_by_a_mapping_beyond_the_first_page() {
    let aws = Aws::with_shop(true);
    let proxy = Proxy::start(&aws.url, |call, _| match call.action.contains("FunctionName=worker") {
        true if call.action.contains("Marker=2") => {
            let arn = |service: &str, name: &str| format!("arn:aws:{service}:{REGION}:{ACCOUNT}:{name}");
            Fate::Answers(json!({ "EventSourceMappings": [{
                "EventSourceArn": arn("sqs", "orders"),
                "FunctionArn": arn("lambda", "function:worker"),
            }] }))
        }
        true => Fate::Answers(json!({ "EventSourceMappings": [], "NextMarker": "2" })),
        false => Fate::Answered,
    });
    let report = proxy.redrive("queue status --function worker --json").ended(0).json();
    assert_eq!(report["queue"]["name"], "orders");
}

#[test]
fn a_watch_redraws_in_place_until_ctrl_c() {
    let aws = Aws::with_orders(false);
    let mut terminal = Terminal::redrive(&aws, "queue status --queue orders --watch 1");
    terminal.expect("no letters");
    aws.send("orders", "one");
    terminal.expect(&format!("oldest{:16}unknown", ""));
    aws.send("orders-dead", "two");
    terminal.expect_so("one block, with a letter", |screen| {
        screen.contains("Ctrl-C ends it")
            && !screen.contains("no letters")
            && screen.matches("visibility timeout").count() == 1
    });
    assert!(terminal.written().contains("\x1b[1morders"), "names are bold");
    terminal.interrupt();
    terminal.ends(0);
}

#[test]
fn a_watch_in_a_pipe_prints_one_object_after_the_other() {
    let aws = Aws::with_orders(false);
    let mut child = spawn(&aws.url, "queue status --queue orders --watch 1 --json", Path::new("."));
    let mut stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
    for _ in 0..2 {
        let mut line = String::new();
        stdout.read_line(&mut line).expect("stdout is text");
        let report: Value = serde_json::from_str(&line).expect("each line is JSON");
        assert_eq!(report["queue"]["name"], "orders");
    }
    signal("-INT", &child);
    stdout.read_to_string(&mut String::new()).expect("stdout is text");
    assert_eq!(child.wait().expect("the child is ours").code(), Some(0));
}
