//! Questions, a bar and Ctrl-C in front of somebody.

use std::time::Duration;

use pty_process::blocking::Command;

use super::letters::{DEAD, ORDERS, counts, write, write_many};
use crate::proxy::{Fate, Proxy};
use crate::support::{Aws, REGION};
use crate::terminal::Terminal;

const CHANGING: [&str; 5] =
    ["ReceiveMessage", "SendMessageBatch", "DeleteMessageBatch", "PurgeQueue", "StartMessageMoveTask"];

fn terminal(proxy: &Proxy, arguments: &[&str]) -> Terminal {
    let command = Command::new(env!("CARGO_BIN_EXE_redrive"))
        .args(arguments)
        .args(["--endpoint-url", &proxy.url, "--region", REGION])
        .env_remove("AWS_PROFILE")
        .env("AWS_EC2_METADATA_DISABLED", "true");
    Terminal::run(command)
}

#[test]
fn refusing_a_confirmation_makes_no_call() {
    let aws = Aws::with_orders(false);
    write(&aws, 3, &["panic"]);
    for (verb, question) in [
        (vec!["retry"], "Really send the 3 letters in orders-dead to orders?"),
        (vec!["retry", "--max", "2"], "Really send up to 2 of the 3 letters in orders-dead to orders?"),
        (vec!["retry", "--native"], "Really let AWS move all 3 letters of orders-dead to orders?"),
        (vec!["delete", "--all"], "Really delete the 3 letters in orders-dead?"),
        (
            vec!["purge"],
            "Really purge orders-dead? About 3 letters cannot be brought back. Type the name orders-dead",
        ),
    ] {
        for answer in ["n", "", "yess"] {
            let proxy = Proxy::listening(&aws.url);
            let mut terminal = terminal(&proxy, &[&["dlq"], &verb[..], &["--queue", ORDERS]].concat());
            terminal.expect(question);
            terminal.enter(answer);
            assert_eq!(terminal.end(), 1, "{}", terminal.screen());
            assert!(
                terminal.screen().contains("redrive: not confirmed, nothing was "),
                "{}",
                terminal.screen()
            );
            assert_eq!(proxy.entries(&CHANGING), [], "{verb:?}");
        }
    }
    assert_eq!(counts(&aws, DEAD), (3, 0));
}

#[test]
fn without_a_terminal_nobody_is_asked_and_yes_is_needed() {
    let aws = Aws::with_orders(false);
    write(&aws, 1, &["panic"]);
    for verb in [vec!["retry"], vec!["retry", "--native"], vec!["delete", "--all"], vec!["purge"]] {
        let ran = aws.redrive(&[&["dlq"], &verb[..], &["--queue", ORDERS]].concat());
        assert_eq!(ran.code, 2);
        assert!(ran.stderr.ends_with(": give --yes\n"), "{}", ran.stderr);
    }
    assert_eq!(counts(&aws, DEAD), (1, 0));
}

#[test]
fn a_confirmed_retry_shows_a_bar_and_then_the_sum() {
    let aws = Aws::with_orders(false);
    write_many(&aws, 45);
    let proxy = Proxy::start(&aws.url, |call, _| match call.action.as_str() {
        "SendMessageBatch" => Fate::Delayed(Duration::from_millis(200)),
        _ => Fate::Answered,
    });
    let mut terminal = terminal(&proxy, &["dlq", "retry", "--queue", ORDERS]);
    terminal.expect("[y/N]");
    terminal.enter("y");
    terminal.expect_written("/45 letters");
    assert_eq!(terminal.end(), 0, "{}", terminal.screen());
    let screen = terminal.screen();
    assert!(screen.contains("45 sent from orders-dead to orders"), "{screen}");
    assert!(!screen.contains("/45 letters"), "the bar is gone: {screen}");
    assert_eq!((counts(&aws, ORDERS), counts(&aws, DEAD)), ((45, 0), (0, 0)));
}

#[test]
fn ctrl_c_in_the_terminal_says_what_was_done() {
    let aws = Aws::with_orders(false);
    write_many(&aws, 45);
    let proxy = Proxy::start(&aws.url, |call, _| match call.action.as_str() {
        "SendMessageBatch" => Fate::Delayed(Duration::from_millis(300)),
        _ => Fate::Answered,
    });
    let mut terminal = terminal(&proxy, &["dlq", "retry", "--queue", ORDERS, "--yes"]);
    terminal.expect("10/45 letters");
    terminal.interrupt();
    assert_eq!(terminal.end(), 130, "{}", terminal.screen());
    let screen = terminal.screen();
    assert!(screen.contains(" sent from orders-dead to orders"), "{screen}");
    assert!(screen.contains("redrive: interrupted"), "{screen}");
    let (sent, left) = (counts(&aws, ORDERS), counts(&aws, DEAD));
    assert_eq!((sent.0 + left.0, left.1), (45, 0), "{screen}");
}
