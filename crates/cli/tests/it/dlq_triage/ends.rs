//! Every end of `redrive dlq triage` makes letters visible again and restores the terminal.

use std::io::Read;

use super::*;
use crate::support::running::{PATIENCE, signal_to, until};

#[test]
fn ctrl_c_at_either_question_makes_all_visible_again() {
    let aws = with_letters(12, &["panic"]);
    for key in ["", "d"] {
        let mut terminal = triage(&aws, "");
        answer(&terminal, "1 of 12", key);
        if key == "d" {
            terminal.expect_end("[y/N] ");
        }
        assert_eq!(aws.counts(DEAD).1, 10, "held while somebody thinks");
        terminal.interrupt();
        terminal.ends(130);
        let screen = terminal.screen();
        assert!(screen.contains("12 not shown"), "{screen}");
        assert!(
            screen.contains("redrive: interrupted, and the 10 letters in flight are visible again"),
            "{screen}"
        );
        assert_eq!(aws.counts(DEAD), (12, 0));
    }
}

#[test]
fn ctrl_d_and_signals_leave_the_terminal_and_the_letters_as_they_were() {
    let aws = with_letters(3, &["panic"]);
    for (end, code) in [("ctrl-d", 0), ("TERM", 143), ("HUP", 129), ("INT", 130)] {
        // A shell in the same terminal asks what it is like before and after.
        let script = r#"before=$(stty -g)
            sh -c 'echo "pid=$$."; exec "$0" "$@"' "$0" "$@"
            code=$?
            test "$before" = "$(stty -g)" && echo "code=$code terminal=same.""#;
        let shell = Command::new("sh")
            .args(["-c", script, env!("CARGO_BIN_EXE_redrive"), "dlq", "triage", "--queue", ORDERS])
            .args(["--endpoint-url", &aws.url, "--region", REGION])
            .env_remove("AWS_PROFILE")
            .env("REDRIVE_JOURNAL", "off");
        let mut terminal = Terminal::run(shell);
        terminal.expect("1 of 3");
        expect_question(&terminal);
        assert_eq!(aws.counts(DEAD), (0, 3));
        if end == "ctrl-d" {
            terminal.type_in("\x04");
        } else {
            let screen = terminal.screen();
            let pid =
                screen.split("pid=").nth(1).and_then(|rest| rest.split('.').next()).expect("it was said");
            signal_to(&format!("-{end}"), pid);
        }
        terminal.end();
        let screen = terminal.screen();
        assert!(screen.contains(&format!("code={code} terminal=same.")), "{end}: {screen}");
        assert_eq!(aws.counts(DEAD), (3, 0), "{end}");
    }
}

#[test]
fn ctrl_z_gives_the_terminal_back_and_fg_goes_on() {
    let aws = with_letters(2, &["panic"]);
    // Other shells put the terminal in order themselves.
    let dash = Command::new("dash").arg("-i").env("PS1", "shell> ").env("ENV", "").env_remove("AWS_PROFILE");
    let dash = dash.env("REDRIVE_JOURNAL", "off");
    let mut terminal = Terminal::run(dash);
    terminal.enter("before=$(stty -g)");
    let redrive = env!("CARGO_BIN_EXE_redrive");
    terminal.enter(&format!(
        "{redrive} dlq triage --queue {ORDERS} --endpoint-url {} --region {REGION}",
        aws.url
    ));
    terminal.expect("1 of 2");
    expect_question(&terminal);
    terminal.type_in("\x1a");
    terminal.expect_end("shell>");
    terminal.enter("test \"$before\" = \"$(stty -g)\" && echo the terminal is the $((1))st");
    terminal.expect("the terminal is the 1st");
    terminal.enter("fg");
    expect_question(&terminal);
    terminal.type_in("s");
    terminal.expect("2 of 2");
    expect_question(&terminal);
    terminal.type_in("q");
    terminal.expect("1 skipped, 1 not shown");
    terminal.expect_end("shell>");
    assert_eq!(aws.counts(DEAD), (2, 0));
    terminal.enter("exit");
    terminal.end();
}

#[test]
fn a_terminal_that_is_closed_makes_all_visible_again() {
    let aws = with_letters(3, &["panic"]);
    let (mut pty, pts) = pty_process::blocking::open().expect("there is a pseudo-terminal");
    let child = Terminal::command(&aws.url, TRIAGE).spawn(pts).expect("the command runs");
    let (asked, is_asked) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let (mut written, mut buffer) = (String::new(), [0; 1_024]);
        while !written.ends_with(KEYS) {
            let read = pty.read(&mut buffer).expect("it does not end by itself");
            written.push_str(&String::from_utf8_lossy(&buffer[..read]));
        }
        // Nobody is left who could have given up.
        let _ = asked.send(pty);
    });
    let pty = is_asked.recv_timeout(PATIENCE).expect("it asks in time");
    assert_eq!(aws.counts(DEAD), (0, 3));
    drop(pty);
    let child = std::cell::RefCell::new(child);
    until("the end", || child.borrow_mut().try_wait().expect("the child is ours").is_some());
    assert_eq!(aws.counts(DEAD), (3, 0));
}
