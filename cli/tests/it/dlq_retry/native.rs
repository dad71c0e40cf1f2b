//! `--native`: the move task of AWS.

use serde_json::{Value, json};

use super::letters::{DEAD, ORDERS, take, with_letters};
use crate::proxy::{Fate, Proxy};
use crate::support::{Aws, REGION, Ran};
use crate::terminal::Terminal;

fn native(aws: &Aws, more: &str) -> Ran {
    aws.redrive(&format!("dlq retry --queue orders --native {more}"))
}

#[test]
fn aws_moves_everything_to_the_destination_that_is_passed() {
    let aws = with_letters(5, &["panic"]);
    let proxy = Proxy::listening(&aws.url);
    proxy
        .redrive("dlq retry --queue orders --native --yes --rate 100")
        .printed(0, "5 of 5 moved from orders-dead to orders\n")
        .stderr_has("no filters, notes and the senders' origins are kept, redrives are not");
    let calls = proxy.calls();
    let start = calls.iter().find(|call| call.action == "StartMessageMoveTask").unwrap();
    assert_eq!(start.input["DestinationArn"], "arn:aws:sqs:eu-west-1:123456789012:orders");
    assert_eq!(start.input["MaxNumberOfMessagesPerSecond"], 100);
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((5, 0), (0, 0)));
    assert!(take(&aws, ORDERS)[0].message_attributes.as_ref().unwrap().contains_key("redrive.dead-letter"));
}

#[test]
fn a_rate_above_what_aws_takes_is_refused() {
    let aws = Aws::with_orders(false);
    native(&aws, "--yes --rate 501").told(2, "redrive: --rate is 501, allowed with --native: 1 to 500\n");
    assert_eq!(native(&aws, "--yes --rate 0").code, 2);
    for wrong in ["--where 'reason = panic'", "--max 1", "--ids -", "--origin-senders AROAOPS"] {
        native(&aws, wrong).ended(2).stderr_has("cannot be used with");
    }
}

#[test]
fn ctrl_c_leaves_the_task_running_and_says_how_to_cancel_it() {
    let aws = with_letters(30, &["panic"]);
    let mut terminal = Terminal::redrive(&aws, "dlq retry --queue orders --native --yes --rate 1");
    terminal.expect(" of 30 letters, ");
    terminal.interrupt();
    terminal.ends(1);
    let screen = terminal.screen().replace('\n', "");
    let told = format!(
        "AWS continues the move; watch it with redrive dlq retry --queue orders --region {REGION} --endpoint-url {} \
         --native --status",
        aws.url
    );
    assert!(screen.contains(&told), "{screen}");

    native(&aws, "--yes").ended(1).stderr_has("a move task is running already");
    let tasks = native(&aws, "--status --json").json();
    assert_eq!((&tasks[0]["status"], &tasks[0]["to_move"]), (&Value::from("running"), &Value::from(30)));
    native(&aws, "--cancel").ended(0).stdout_starts("canceled; ");
    assert!(aws.counts(ORDERS).0 < 30);
}

#[test]
fn without_a_task_there_is_nothing_to_show_and_nothing_to_cancel() {
    let aws = Aws::with_orders(false);
    native(&aws, "--status").printed(0, "").told(0, "redrive: AWS lists no move task for orders-dead\n");
    native(&aws, "--cancel").told(1, "redrive: no move task of orders-dead is running\n");
}

#[test]
fn why_a_task_failed_and_how_far_it_came_is_told() {
    let aws = with_letters(5, &["panic"]);
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
    let run = |more: &str| proxy.redrive(&format!("dlq retry --queue orders --native {more}"));
    let end = "redrive: the move task failed (KmsAccessDenied): the other letters are still in \
               orders-dead; retry without --native to see what is wrong with each\n";
    run("--yes").printed(1, "2 of 5 moved from orders-dead to orders\n").stderr_ends(end);
    let expected = "2023-11-14T22:13:20Z  failed      2 of 5 moved to orders  KmsAccessDenied\n";
    run("--status").printed(0, expected);
}

#[test]
fn a_dry_run_starts_no_task() {
    let aws = with_letters(2, &["panic"]);
    native(&aws, "--dry-run").printed(0, "2 would be moved from orders-dead to orders\n");
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((0, 0), (2, 0)));
}

#[test]
fn a_queue_that_no_redrive_policy_names_is_moved_by_redrive_itself() {
    let aws = Aws::with_orders(false);
    let url = aws.wait(aws.sqs.create_queue().queue_name("plain").send()).unwrap().queue_url.unwrap();
    aws.wait(aws.sqs.send_message().queue_url(&url).message_body("b").send()).unwrap();
    let retry = "dlq retry --dead-letter-queue plain --to orders --yes";
    aws.redrive(&format!("{retry} --native")).ended(1).stderr_has("retry without --native");
    aws.redrive(retry).printed(0, "1 sent from plain to orders\n");
}
