//! Questions, a bar and Ctrl-C in front of somebody.

use std::time::Duration;

use super::letters::{DEAD, ORDERS, with_letters, write_many};
use crate::proxy::{Fate, Proxy};
use crate::support::{Aws, on};
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
