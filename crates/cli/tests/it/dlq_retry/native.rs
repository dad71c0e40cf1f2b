//! `--native`: starts a move task of AWS.

use std::sync::{Mutex, mpsc};

use serde_json::{Value, json};

use super::letters::{DEAD, ORDERS, take, with_letters};
use crate::proxy::{Fate, Proxy};
use crate::support::running::PATIENCE;
use crate::support::{Aws, REGION, Ran};
use crate::terminal::Terminal;

fn native(aws: &Aws, more: &str) -> Ran {
    let to = if ["--status", "--cancel"].iter().any(|flag| more.contains(flag)) { "" } else { "--to orders" };
    aws.redrive(&format!("dlq retry --queue orders --native {to} {more}"))
}

#[test]
fn aws_moves_everything_to_the_destination_that_is_passed() {
    let aws = with_letters(5, &["panic"]);
    let proxy = Proxy::listening(&aws.url);
    proxy
        .redrive("dlq retry --queue orders --native --to orders --yes --rate 100")
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
fn ctrl_c_leaves_the_task_running_and_says_how_to_cancel_it() {
    let aws = with_letters(30, &["panic"]);
    let mut terminal =
        Terminal::redrive(&aws, "dlq retry --queue orders --native --to orders --yes --rate 1");
    terminal.expect(" of 30 letters, ");
    terminal.interrupt();
    terminal.ends(130);
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
fn ctrl_c_while_the_task_is_being_started_says_how_to_cancel_it() {
    let aws = with_letters(5, &["panic"]);
    let (begun, begins) = mpsc::channel();
    let (answer, answers) = mpsc::channel::<()>();
    let (begun, answers) = (Mutex::new(begun), Mutex::new(answers));
    let proxy = Proxy::start(&aws.url, move |call, _| {
        if call.action == "StartMessageMoveTask" {
            begun.lock().unwrap().send(()).unwrap();
            answers.lock().unwrap().recv_timeout(PATIENCE).unwrap();
        }
        Fate::Answered
    });
    let line = "dlq retry --queue orders --native --to orders --yes --rate 1";
    let mut terminal = Terminal::run(Terminal::command(&proxy.url, line));
    begins.recv_timeout(PATIENCE).unwrap();
    terminal.interrupt();
    answer.send(()).unwrap();
    terminal.ends(130);
    terminal.shows("AWS continues the move");
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
    run("--to orders --yes").printed(1, "2 of 5 moved from orders-dead to orders\n").stderr_ends(end);
    let expected = "2023-11-14T22:13:20Z  failed      2 of 5 moved to orders  KmsAccessDenied\n";
    run("--status").printed(0, expected);
}
