//! `--native`: the move task of AWS.

use serde_json::{Value, json};

use super::letters::{DEAD, ORDERS, counts, take, write};
use crate::proxy::{Fate, Proxy};
use crate::support::{Aws, REGION, Ran};
use crate::terminal::Terminal;

fn native(aws: &Aws, more: &[&str]) -> Ran {
    aws.redrive(&[&["dlq", "retry", "--queue", ORDERS, "--native"], more].concat())
}

#[test]
fn aws_moves_everything_to_the_destination_that_is_passed() {
    let aws = Aws::with_orders(false);
    write(&aws, 5, &["panic"]);
    let proxy = Proxy::listening(&aws.url);
    let arguments = ["dlq", "retry", "--queue", ORDERS, "--native", "--yes", "--rate", "100"];
    let ran = Ran::new(&crate::support::command_at(&proxy.url, &arguments).output().unwrap());
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "5 of 5 moved from orders-dead to orders\n"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("it cannot filter, notes stay on them, redrives are not counted"),
        "{}",
        ran.stderr
    );
    let calls = proxy.calls();
    let start = calls.iter().find(|call| call.action == "StartMessageMoveTask").unwrap();
    assert_eq!(start.input["DestinationArn"], "arn:aws:sqs:eu-west-1:123456789012:orders");
    assert_eq!(start.input["MaxNumberOfMessagesPerSecond"], 100);
    assert_eq!((counts(&aws, ORDERS), counts(&aws, DEAD)), ((5, 0), (0, 0)));
    assert!(take(&aws, ORDERS)[0].message_attributes.as_ref().unwrap().contains_key("redrive.dead-letter"));
}

#[test]
fn a_rate_above_what_aws_takes_is_refused() {
    let aws = Aws::with_orders(false);
    let ran = native(&aws, &["--yes", "--rate", "501"]);
    assert_eq!(ran.code, 2);
    assert_eq!(ran.stderr, "redrive: --rate is 501, allowed with --native: 1 to 500\n");
    assert_eq!(native(&aws, &["--yes", "--rate", "0"]).code, 2);
    for wrong in [["--where", "reason = panic"], ["--max", "1"], ["--ids", "-"]] {
        let ran = native(&aws, &wrong);
        assert_eq!(ran.code, 2);
        assert!(ran.stderr.contains("cannot be used with"), "{}", ran.stderr);
    }
}

#[test]
fn ctrl_c_leaves_the_task_running_and_says_how_to_cancel_it() {
    let aws = Aws::with_orders(false);
    write(&aws, 30, &["panic"]);
    let mut terminal =
        Terminal::redrive(&aws, &["dlq", "retry", "--queue", ORDERS, "--native", "--yes", "--rate", "1"]);
    terminal.expect("/30 letters");
    terminal.interrupt();
    assert_eq!(terminal.end(), 1, "{}", terminal.screen());
    let screen = terminal.screen().replace('\n', "");
    assert!(
        screen.contains(
            "AWS goes on moving; see it with redrive dlq retry --queue orders-dead --native --status"
        ),
        "{screen}"
    );

    let second = native(&aws, &["--yes"]);
    assert_eq!(second.code, 1);
    assert!(second.stderr.contains("a move task is running already"), "{}", second.stderr);
    let running = native(&aws, &["--status", "--json"]);
    let tasks: Value = serde_json::from_str(&running.stdout).unwrap();
    assert_eq!((&tasks[0]["status"], &tasks[0]["to_move"]), (&Value::from("running"), &Value::from(30)));
    let cancelled = native(&aws, &["--cancel"]);
    assert_eq!(cancelled.code, 0, "{}", cancelled.stderr);
    assert!(cancelled.stdout.starts_with("cancelled; "), "{}", cancelled.stdout);
    assert!(counts(&aws, ORDERS).0 < 30);
}

#[test]
fn without_a_task_there_is_nothing_to_show_and_nothing_to_cancel() {
    let aws = Aws::with_orders(false);
    let ran = native(&aws, &["--status"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert_eq!(ran.stderr, "redrive: AWS knows no move task of orders-dead\n");
    let ran = native(&aws, &["--cancel"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, "redrive: no move task of orders-dead is running\n"));
}

#[test]
fn why_a_task_failed_and_how_far_it_came_is_told() {
    let aws = Aws::with_orders(false);
    write(&aws, 5, &["panic"]);
    let task = json!({
        "Status": "FAILED", "FailureReason": "KmsAccessDenied", "StartedTimestamp": 1_700_000_000_000_u64,
        "ApproximateNumberOfMessagesMoved": 2, "ApproximateNumberOfMessagesToMove": 5,
        "DestinationArn": "arn:aws:sqs:eu-west-1:123456789012:orders",
    });
    let proxy = Proxy::start(&aws.url, move |call, _| match call.action.as_str() {
        "StartMessageMoveTask" => Fate::Answers(json!({ "TaskHandle": "handle" })),
        "ListMessageMoveTasks" => Fate::Answers(json!({ "Results": [task] })),
        _ => Fate::Answered,
    });
    let run = |more: &[&str]| {
        let arguments = [&["dlq", "retry", "--queue", ORDERS, "--native"], more].concat();
        Ran::new(&crate::support::command_at(&proxy.url, &arguments).output().unwrap())
    };
    let ran = run(&["--yes"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, "2 of 5 moved from orders-dead to orders\n"));
    let end = "redrive: the move task failed (KmsAccessDenied): what it did not move is in orders-dead still, and a retry \
               without --native says why of each letter\n";
    assert!(ran.stderr.ends_with(end), "{}", ran.stderr);
    let status = run(&["--status"]);
    let expected = "2023-11-14T22:13:20Z  failed      2 of 5 moved to orders  KmsAccessDenied\n";
    assert_eq!((status.code, status.stdout.as_str()), (0, expected));
}

#[test]
fn a_dry_run_starts_no_task() {
    let aws = Aws::with_orders(false);
    write(&aws, 2, &["panic"]);
    let ran = native(&aws, &["--dry-run"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "2 would be moved from orders-dead to orders\n"));
    assert_eq!((counts(&aws, ORDERS), counts(&aws, DEAD)), ((0, 0), (2, 0)));
}

#[test]
fn a_queue_that_no_redrive_policy_names_is_moved_by_redrive_itself() {
    let aws = Aws::with_orders(false);
    let url = aws.wait(aws.sqs.create_queue().queue_name("plain").send()).unwrap().queue_url.unwrap();
    aws.wait(aws.sqs.send_message().queue_url(&url).message_body("b").send()).unwrap();
    let arguments =
        ["dlq", "retry", "--dead-letter-queue", "plain", "--to", ORDERS, "--yes", "--region", REGION];
    let native = aws.redrive(&[&arguments[..7], &["--native"]].concat());
    assert_eq!(native.code, 1);
    assert!(native.stderr.contains("retry without --native"), "{}", native.stderr);
    assert_eq!(aws.redrive(&arguments[..7]).stdout, "1 sent from plain to orders\n");
}
