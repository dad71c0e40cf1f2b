//! Questions, a bar and Ctrl-C in front of somebody.

use std::time::Duration;

use serde_json::json;

use super::letters::{DEAD, ORDERS, with_letters, write_many};
use crate::proxy::{Fate, Proxy};
use crate::support::{ACCOUNT, Aws, REGION, on};
use crate::terminal::Terminal;

const CHANGING: [&str; 5] =
    ["ReceiveMessage", "SendMessageBatch", "DeleteMessageBatch", "PurgeQueue", "StartMessageMoveTask"];

fn terminal(proxy: &Proxy, line: &str) -> Terminal {
    Terminal::run(Terminal::command(&proxy.url, line))
}

#[test]
fn refusing_a_confirmation_makes_no_call() {
    let aws = with_letters(3, &["panic"]);
    for (verb, question) in [
        ("retry", "Really send the 3 letters in orders-dead to orders?"),
        ("retry --max 2", "Really send up to 2 of the 3 letters in orders-dead to orders?"),
        ("retry --native", "Really let AWS move all 3 letters of orders-dead to orders?"),
        ("delete --all", "Really delete the 3 letters in orders-dead?"),
        (
            "purge",
            "Really purge orders-dead? About 3 letters cannot be brought back. Type the name orders-dead",
        ),
    ] {
        for answer in ["n", "", "yess"] {
            let proxy = Proxy::listening(&aws.url);
            let mut terminal = terminal(&proxy, &format!("dlq {verb} --queue orders"));
            terminal.expect(question);
            terminal.enter(answer);
            terminal.ends(1);
            terminal.shows("redrive: not confirmed, nothing was ");
            assert_eq!(proxy.entries(&CHANGING), [], "{verb:?}");
        }
    }
    assert_eq!(aws.counts(DEAD), (3, 0));
}

#[test]
fn a_queue_that_may_be_somebody_elses_is_named_with_its_account() {
    let aws = with_letters(1, &["panic"]);
    let arn = |name: &str| format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{name}");
    let whole = |name: &str| format!("{name} (account {ACCOUNT}, {REGION})");
    let (orders, dead) = (whole("orders"), whole(DEAD));
    let (to, from) = (arn("orders"), arn(DEAD));
    let proxy = Proxy::start(&aws.url, |call, _| match call.input["QueueUrl"].as_str() {
        // What SQS says of a queue that another account has shared.
        Some(url) if call.action == "GetQueueAttributes" && url.ends_with("/orders") => Fate::Answers(
            json!({ "Attributes": { "QueueArn": "arn:aws:sqs:eu-west-1:210987654321:orders" } }),
        ),
        _ => Fate::Answered,
    });
    for (url, line, question) in [
        (&aws.url, format!("dlq retry --queue orders --to {to}"), format!("in {DEAD} to {orders}?")),
        (&aws.url, format!("dlq retry --queue orders --native --to {to}"), format!("of {DEAD} to {orders}?")),
        (&aws.url, format!("dlq retry --queue {from} --to orders"), format!("in {dead} to orders?")),
        (
            &aws.url,
            format!("dlq retry --queue {}/{ACCOUNT}/{DEAD}", aws.url),
            format!("in {dead} to orders?"),
        ),
        (&aws.url, "dlq retry --queue orders --to orders".to_owned(), format!("in {DEAD} to orders?")),
        (&aws.url, format!("dlq delete --all --queue {from}"), format!("in {dead}?")),
        (&aws.url, format!("dlq purge --queue {from}"), format!("purge {dead}?")),
        (
            &proxy.url,
            format!("dlq retry --queue {DEAD} --to orders"),
            format!("in {DEAD} to orders (account 210987654321, {REGION})?"),
        ),
    ] {
        let mut terminal = Terminal::as_wide_as(200, Terminal::command(url, &line));
        terminal.expect("Really ");
        terminal.enter("n");
        terminal.ends(1);
        terminal.shows(&question);
    }
    for verb in ["retry --edit", "triage"] {
        let line = format!("dlq {verb} --queue orders --to {to}");
        let command = Terminal::command(&aws.url, &line).env("VISUAL", "true");
        let mut terminal = Terminal::as_wide_as(200, command);
        terminal.expect(&format!("redrive: letters go to {orders}"));
        terminal.interrupt();
        terminal.end();
    }
}

#[test]
fn without_a_terminal_nobody_is_asked_and_yes_is_needed() {
    let aws = with_letters(1, &["panic"]);
    for verb in ["retry", "retry --native", "delete --all", "purge"] {
        aws.redrive(&format!("dlq {verb} --queue orders")).ended(2).stderr_ends(": give --yes\n");
    }
    assert_eq!(aws.counts(DEAD), (1, 0));
}

#[test]
fn a_confirmed_retry_shows_a_bar_and_then_the_sum() {
    let aws = Aws::with_orders(false);
    write_many(&aws, 45);
    let proxy = Proxy::start(&aws.url, on("SendMessageBatch", Fate::Delayed(Duration::from_millis(200))));
    let mut terminal = terminal(&proxy, "dlq retry --queue orders");
    terminal.expect("[y/N]");
    terminal.enter("y");
    terminal.expect_written("/45 letters");
    terminal.ends(0);
    let screen = terminal.screen();
    assert!(screen.contains("45 sent from orders-dead to orders"), "{screen}");
    assert!(!screen.contains("/45 letters"), "the bar is gone: {screen}");
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((45, 0), (0, 0)));
}

#[test]
fn ctrl_c_in_the_terminal_says_what_was_done() {
    let aws = Aws::with_orders(false);
    write_many(&aws, 45);
    let proxy = Proxy::start(&aws.url, on("SendMessageBatch", Fate::Delayed(Duration::from_millis(300))));
    let mut terminal = terminal(&proxy, "dlq retry --queue orders --yes");
    terminal.expect("10/45 letters");
    terminal.interrupt();
    terminal.ends(130);
    let screen = terminal.screen();
    assert!(screen.contains(" sent from orders-dead to orders"), "{screen}");
    assert!(screen.contains("redrive: interrupted"), "{screen}");
    let (sent, left) = (aws.counts(ORDERS), aws.counts(DEAD));
    assert_eq!((sent.0 + left.0, left.1), (45, 0), "{screen}");
}
