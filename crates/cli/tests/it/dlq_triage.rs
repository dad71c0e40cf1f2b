//! `redrive dlq triage`: handles each letter with a key.

mod ends;

use pty_process::blocking::Command;

use crate::dlq_retry::letters::{DEAD, ORDERS, arrived, bodies, note_of, take, with_letters, write_in_group};
use crate::proxy::{Fate, Proxy};
use crate::support::{Aws, REGION, on};
use crate::terminal::Terminal;

const KEYS: &str = "q quit: ";

const TRIAGE: &str = "dlq triage --queue orders";

fn triage(aws: &Aws, more: &str) -> Terminal {
    Terminal::redrive(aws, &format!("{TRIAGE} {more}"))
}

/// Waits for a letter and the question about it, and answers.
fn answer(terminal: &Terminal, place: &str, key: &str) {
    terminal.expect(place);
    expect_question(terminal);
    terminal.type_in(key);
}

/// The question is the last line.
fn expect_question(terminal: &Terminal) {
    terminal.expect_end(KEYS);
}

#[test]
fn each_letter_meets_the_fate_that_was_typed_and_the_rest_stay() {
    let aws = with_letters(5, &["panic"]);
    let mut terminal = triage(&aws, "");
    answer(&terminal, "1 of 5", "r");
    terminal.expect("sent to orders");
    answer(&terminal, "2 of 5", "d");
    terminal.expect("Delete this letter? This cannot be undone. [y/N]");
    terminal.type_in("n");
    expect_question(&terminal);
    terminal.type_in("d");
    terminal.expect_end("[y/N] ");
    terminal.type_in("y");
    terminal.expect("\ndeleted from orders-dead\n");
    answer(&terminal, "3 of 5", "s");
    terminal.expect("\nskipped; it stays where it is\n");
    answer(&terminal, "4 of 5", "q");
    terminal.ends(0);
    let screen = terminal.screen();
    assert!(screen.contains("panic: card refused (orders::Refused)"), "{screen}");
    assert!(
        screen.contains("1 sent from orders-dead to orders, 1 deleted, 1 skipped, 2 not shown"),
        "{screen}"
    );
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((1, 0), (3, 0)));
    let sent = take(&aws, ORDERS);
    let attributes = sent[0].message_attributes.as_ref().unwrap();
    assert!(attributes["redrive.origin"].string_value().unwrap().contains("\"redrives\":1"));
    let mut left = bodies(&aws, DEAD);
    left.push(sent[0].body.clone().unwrap());
    left.sort();
    left.dedup();
    assert_eq!(left.len(), 4, "one of five is gone");
}

#[test]
fn a_letter_is_edited_and_sent() {
    let aws = Aws::with_orders(false);
    aws.letter(r#"{"cents":0}"#);
    let mut terminal = Terminal::run(Terminal::command(&aws.url, TRIAGE).env("EDITOR", "sed -i s/0/450/"));
    answer(&terminal, "1 of 1", "e");
    terminal.expect("sent to orders");
    terminal.ends(0);
    assert_eq!((bodies(&aws, ORDERS), aws.counts(DEAD)), (vec![r#"{"cents":450}"#.to_owned()], (0, 0)));
}

#[test]
fn a_letter_that_the_editor_leaves_alone_or_breaks_is_asked_about_again() {
    let aws = Aws::with_orders(false);
    aws.letter(r#"{"cents":0}"#);
    for (editor, expected) in
        [("true", "nothing was changed, so nothing was sent"), ("false", "the editor false failed")]
    {
        let mut terminal = Terminal::run(Terminal::command(&aws.url, TRIAGE).env("EDITOR", editor));
        answer(&terminal, "1 of 1", "e");
        terminal.expect(expected);
        expect_question(&terminal);
        terminal.type_in("q");
        terminal.ends(0);
        assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((0, 0), (1, 0)));
    }
}

#[test]
fn no_letter_steers_the_terminal() {
    let aws = Aws::with_orders(false);
    aws.letter("\u{9b}31m \u{202e}txt\u{85}");
    aws.letter_with(
        r#"{"a":"\u001b[2J raw: 	"}"#,
        [("redrive.dead-letter", note_of(ORDERS, "m1", "pa\\u001b]0;title\\u0007nic"))],
    );
    let mut terminal = triage(&aws, "");
    for place in ["1 of 2", "2 of 2"] {
        answer(&terminal, place, "b");
        expect_question(&terminal);
        terminal.type_in("s");
    }
    terminal.ends(0);
    let written = terminal.written();
    assert!(written.contains("\\u{9b}31m"), "{written:?}");
    assert!(written.contains("pa\\u{1b}]0;title\\u{7}nic"), "{written:?}");
    for evil in ["\u{9b}", "\u{202e}", "\u{85}", "\u{1b}]0;", "\u{1b}[2J"] {
        assert!(!written.contains(evil), "{evil:?} in {written:?}");
    }
}

#[test]
fn the_function_s_log_is_asked_when_it_is_wanted() {
    let aws = with_letters(1, &["panic"]);
    let mut terminal = triage(&aws, "--log-group /no/such");
    answer(&terminal, "1 of 1", "l");
    terminal.expect("warning: no history: ");
    expect_question(&terminal);
    terminal.type_in("?");
    terminal.expect("show its lines in the function's log");
    expect_question(&terminal);
    terminal.type_in("q");
    terminal.ends(0);
    assert_eq!(aws.counts(DEAD), (1, 0));
}

#[test]
fn only_letters_that_are_asked_for_are_shown() {
    let aws = with_letters(6, &["panic", "rejected"]);
    let mut terminal = triage(&aws, "--where 'reason = rejected' --max 2 --yes");
    answer(&terminal, "1 of up to 2", "d");
    answer(&terminal, "2 of up to 2", "d");
    terminal.ends(0);
    terminal.shows("0 sent from orders-dead to orders, 2 deleted");
    assert!(!terminal.screen().contains("[y/N]"), "{}", terminal.screen());
    let left = bodies(&aws, DEAD);
    assert!(["0", "2", "4"].iter().all(|body| left.contains(&(*body).to_owned())) && left.len() == 4);
}

#[test]
fn ids_come_through_a_pipe_and_keys_from_the_terminal() {
    let aws = with_letters(3, &["panic"]);
    let script = r#"echo m1 | "$0" "$@" --ids -"#;
    let shell = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_redrive"), "dlq", "triage", "--queue", ORDERS])
        .args(["--endpoint-url", &aws.url, "--region", REGION])
        .env_remove("AWS_PROFILE")
        .env("REDRIVE_JOURNAL", "off");
    let mut terminal = Terminal::run(shell);
    answer(&terminal, "1 of up to 3", "r");
    terminal.ends(0);
    assert_eq!(
        (bodies(&aws, ORDERS), bodies(&aws, DEAD)),
        (vec!["1".to_owned()], vec!["0".to_owned(), "2".to_owned()])
    );
}

#[test]
fn a_letter_that_was_sent_but_not_deleted_is_reported() {
    let aws = with_letters(1, &["panic"]);
    let proxy = Proxy::start(&aws.url, on("DeleteMessageBatch", Fate::Refused(403, "AccessDenied")));
    let mut terminal = Terminal::run(Terminal::command(&proxy.url, TRIAGE));
    answer(&terminal, "1 of 1", "r");
    terminal.ends(1);
    terminal.shows("possible duplicate: letter");
    terminal.shows("1 message may arrive twice");
    assert_eq!((aws.counts(ORDERS).0, aws.counts(DEAD)), (1, (1, 0)));
}

#[test]
fn a_skipped_head_keeps_its_group() {
    let aws = Aws::with_orders(true);
    for body in ["a1", "a2", "b1", "b2"] {
        write_in_group(&aws, &body[..1], body, "panic");
    }
    let mut terminal = Terminal::redrive(&aws, "dlq triage --queue orders.fifo");
    terminal.expect("letters go to the end of their groups");
    answer(&terminal, "1 of 4", "s");
    terminal.expect("skipped, with the later letters of the group");
    answer(&terminal, "2 of 4", "r");
    answer(&terminal, "3 of 4", "r");
    terminal.ends(0);
    let (sent, left) = (arrived(&aws, "orders.fifo"), arrived(&aws, "orders-dead.fifo"));
    assert!(
        sent == ["a1", "a2"] && left == ["b1", "b2"] || sent == ["b1", "b2"] && left == ["a1", "a2"],
        "{sent:?} {left:?}"
    );
}
