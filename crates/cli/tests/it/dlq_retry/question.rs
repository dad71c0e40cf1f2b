//! Questions, the progress bar and Ctrl-C on a terminal.

use std::time::Duration;

use serde_json::json;

use super::letters::{DEAD, ORDERS, with_letters, write_in_group, write_many};
use crate::proxy::{Fate, Proxy};
use crate::support::{ACCOUNT, Aws, REGION, on};
use crate::terminal::Terminal;

const CHANGING: [&str; 4] = ["SendMessageBatch", "DeleteMessageBatch", "PurgeQueue", "StartMessageMoveTask"];

fn terminal(proxy: &Proxy, line: &str) -> Terminal {
    Terminal::run(Terminal::command(&proxy.url, line))
}

#[test]
fn refusing_a_confirmation_changes_nothing() {
    let aws = with_letters(3, &["panic", "panic", "rejected"]);
    for (verb, question) in [
        (
            "retry",
            "Send the 3 letters in orders-dead to orders? Letters that SQS did not move there stay. The others are deleted \
             after SQS confirms them. The handler runs again: without Message::key() it may charge twice. [y/N]",
        ),
        ("retry --max 2", "Send up to 2 of the 3 letters in orders-dead to orders? "),
        (
            "retry --native --to orders",
            "Have AWS move the 3 letters in orders-dead to orders? Letters that were moved stay moved. \
             Message::key() changes: a handler that charges may charge twice. [y/N]",
        ),
        (
            "retry --where 'reason = panic'",
            "Send 2 of 3 letters in orders-dead to orders, those with reason = panic? ",
        ),
        (
            "delete --where 'body.orderid != A-1' --where 'reason != panic'",
            "Delete 1 of 3 letters in orders-dead, those with body.orderid != A-1 (or no body.orderid) and reason != panic? ",
        ),
        ("delete --all", "Delete the 3 letters in orders-dead? This cannot be undone. [y/N]"),
        ("purge", "Purge orders-dead? This deletes about 3 letters for good, in "),
    ] {
        for answer in ["n", "", "yess"] {
            let proxy = Proxy::listening(&aws.url);
            let mut terminal = terminal(&proxy, &format!("dlq {verb} --queue orders"));
            terminal.expect(question);
            // One forgotten --endpoint-url would show here.
            let end = if verb == "purge" { ". Type" } else { "\n" };
            terminal.expect(&format!("in account {ACCOUNT}, {REGION}, {}{end}", proxy.url));
            terminal.enter(answer);
            terminal.ends(1);
            terminal.shows("redrive: not confirmed: nothing was ");
            assert_eq!(proxy.entries(&CHANGING), [], "{verb:?}");
        }
    }
    assert_eq!(aws.counts(DEAD), (3, 0));
}

#[test]
fn a_question_counts_the_letters_that_are_meant_and_leaves_them_visible() {
    let aws = Aws::with_orders(false);
    write_many(&aws, 1_100);
    let mut terminal = Terminal::redrive(&aws, "dlq retry --queue orders --where 'reason = panic' --max 30");
    terminal.expect("Send 30 of 1,100 letters in orders-dead to orders, those with reason = panic? ");
    assert_eq!(aws.counts(DEAD), (1_100, 0));
    terminal.enter("n");
    terminal.ends(1);
    let mut terminal = Terminal::redrive(&aws, "dlq retry --queue orders --where 'reason = panic'");
    terminal.expect_written("counting ");
    terminal.expect("Send 550 of 1,100 letters in orders-dead to orders, those with reason = panic? ");
    terminal.enter("y");
    terminal.ends(0);
    terminal.shows("550 sent from orders-dead to orders, 550 not selected");
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((550, 0), (550, 0)));
}

#[test]
fn nothing_is_asked_where_no_letter_matches() {
    let aws = with_letters(3, &["panic"]);
    for (line, code, said) in [
        ("retry --where 'reason = x'", 3, "no letter in orders-dead matches (reasons here: panic)"),
        ("delete --where 'reason = x' --allow-none", 0, "0 deleted from orders-dead, 3 not selected"),
    ] {
        let mut terminal = Terminal::redrive(&aws, &format!("dlq {line} --queue orders"));
        terminal.expect(said);
        terminal.ends(code);
        assert!(!terminal.screen().contains("[y/N]"), "{}", terminal.screen());
    }
}

#[test]
fn of_a_fifo_queue_a_question_counts_what_sqs_returns() {
    let aws = Aws::with_orders(true);
    (0..14).for_each(|number| write_in_group(&aws, "a", &number.to_string(), "panic"));
    let mut terminal = Terminal::redrive(&aws, "dlq retry --queue orders.fifo --where 'reason = panic'");
    terminal.expect(
        "Send at least 10 of 14 letters in orders-dead.fifo to orders.fifo, those with reason = panic? ",
    );
    terminal.enter("y");
    terminal.ends(0);
    terminal.shows("14 sent from orders-dead.fifo to orders.fifo");
}

#[test]
fn ctrl_c_at_a_question_that_counted_ends_the_command() {
    let aws = with_letters(3, &["panic"]);
    let mut terminal = Terminal::redrive(&aws, "dlq delete --queue orders --where 'reason = panic'");
    terminal.expect("[y/N]");
    terminal.interrupt();
    terminal.ends(130);
    assert_eq!(aws.counts(DEAD), (3, 0));
}

#[test]
fn ctrl_c_after_a_question_that_counted_finishes_what_is_on_its_way() {
    let aws = Aws::with_orders(false);
    write_many(&aws, 45);
    let proxy = Proxy::start(&aws.url, on("SendMessageBatch", Fate::Delayed(Duration::from_millis(500))));
    let mut terminal = terminal(&proxy, "dlq retry --queue orders --where 'attempts = 3'");
    terminal.expect("Send 45 of 45 letters");
    terminal.enter("y");
    terminal.expect("10 of 45 letters, ");
    terminal.interrupt();
    terminal.ends(130);
    terminal.shows(" sent from orders-dead to orders");
    let (sent, left) = (aws.counts(ORDERS), aws.counts(DEAD));
    assert_eq!((sent.0 + left.0, left.1), (45, 0), "{}", terminal.screen());
}

#[test]
fn a_destination_in_another_account_is_named_with_it() {
    let aws = with_letters(1, &["panic"]);
    let proxy = Proxy::start(&aws.url, |call, _| match call.input["QueueUrl"].as_str() {
        // What SQS says of a queue that another account has shared.
        Some(url) if call.action == "GetQueueAttributes" && url.ends_with("/orders") => Fate::Answers(
            json!({ "Attributes": { "QueueArn": "arn:aws:sqs:eu-west-1:210987654321:orders" } }),
        ),
        _ => Fate::Answered,
    });
    let foreign = format!("to orders (account 210987654321, {REGION})? ");
    for (url, line, question) in [
        (&proxy.url, "retry", &*foreign),
        (&proxy.url, "retry --native", &foreign),
        (&aws.url, "retry", "to orders? "),
    ] {
        let line = format!("dlq {line} --queue {DEAD} --to orders");
        let mut terminal = Terminal::as_wide_as(200, Terminal::command(url, &line));
        terminal.expect(question);
        terminal.enter("n");
        terminal.ends(1);
    }
}

#[test]
fn a_run_without_a_question_prints_the_place_on_a_terminal() {
    let aws = with_letters(1, &["panic"]);
    let place = format!("account {ACCOUNT}, {REGION}, {}", aws.url);
    for (line, said) in [
        ("dlq retry --edit --queue orders", format!("redrive: letters go to orders, in {place}")),
        ("dlq triage --queue orders", format!("redrive: letters go to orders, in {place}")),
        ("dlq import --queue orders /dev/null", format!("redrive: sending letters to orders-dead ({place})")),
        ("send --queue orders --body x", format!("redrive: sending to orders ({place})")),
    ] {
        let command = Terminal::command(&aws.url, line).env("VISUAL", "true");
        let mut terminal = Terminal::as_wide_as(200, command);
        terminal.expect_written(&said);
        terminal.interrupt();
        terminal.end();
    }
    let shop = Aws::with_shop(true);
    for verb in ["pause", "resume"] {
        let line = format!("queue {verb} --queue orders --wait 0");
        let mut terminal = Terminal::as_wide_as(200, Terminal::command(&shop.url, &line));
        terminal.expect_written(&format!(" mappings in account {ACCOUNT}, {REGION}, {}", shop.url));
        terminal.end();
    }
    // Programs find nothing new on stderr.
    aws.redrive("send --queue orders --body x").told(0, "");
}

#[test]
fn a_retry_shows_a_bar_of_the_letters_it_looks_at_and_then_the_sum() {
    let aws = Aws::with_orders(false);
    write_many(&aws, 45);
    let proxy = Proxy::start(&aws.url, on("SendMessageBatch", Fate::Delayed(Duration::from_millis(200))));
    let mut terminal = terminal(&proxy, "dlq retry --queue orders --where 'reason = panic' --max 20");
    terminal.expect("[y/N]");
    terminal.enter("y");
    terminal.expect_written(" of 45 letters, ");
    terminal.ends(0);
    let screen = terminal.screen();
    assert!(screen.contains("20 sent from orders-dead to orders"), "{screen}");
    assert!(!screen.contains(" of 45 letters, "), "the bar is gone: {screen}");
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((20, 0), (25, 0)));
}

#[test]
fn a_purge_empties_the_queue_after_its_name_was_typed() {
    let aws = with_letters(7, &["panic"]);
    let mut terminal = Terminal::redrive(&aws, "dlq purge --queue orders");
    terminal.expect("Type orders-dead to confirm");
    terminal.enter(DEAD);
    terminal.ends(0);
    terminal.shows("about 7 letters deleted from orders-dead");
    assert_eq!(aws.counts(DEAD), (0, 0));
}

#[test]
fn ctrl_c_in_the_terminal_says_what_was_done() {
    let aws = Aws::with_orders(false);
    write_many(&aws, 45);
    let proxy = Proxy::start(&aws.url, on("SendMessageBatch", Fate::Delayed(Duration::from_millis(300))));
    let mut terminal = terminal(&proxy, "dlq retry --queue orders --yes");
    terminal.expect("10 of 45 letters, ");
    terminal.interrupt();
    terminal.ends(130);
    let screen = terminal.screen();
    assert!(screen.contains(" sent from orders-dead to orders"), "{screen}");
    assert!(screen.contains("redrive: interrupted"), "{screen}");
    let (sent, left) = (aws.counts(ORDERS), aws.counts(DEAD));
    assert_eq!((sent.0 + left.0, left.1), (45, 0), "{screen}");
}
