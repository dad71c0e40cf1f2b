//! Signals end every verb that holds letters, and make the letters visible again.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::letters::DEAD;
use crate::proxy::{Fate, Proxy};
use crate::support::running::{PATIENCE, signal, until};
use crate::support::{Aws, REGION, Ran, at_first, process, spawn};

#[test]
fn every_verb_that_holds_letters_makes_them_visible_again() {
    let aws = Aws::with_orders(false);
    for body in ["one", "two", "three"] {
        aws.letter(body);
    }
    let folder = tempfile::tempdir().expect("a folder");
    // Each looks at all letters and finds none that it wants, for as long as a receive waits in vain.
    for verb in [
        "list",
        "show no-such",
        "export letters.jsonl",
        "retry --yes --where 'reason = none'",
        "delete --yes --where 'reason = none'",
    ] {
        for (name, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
            let child = spawn(&aws.url, &format!("dlq {verb} --queue orders"), folder.path());
            until("the letters are held", || aws.counts(DEAD) == (0, 3));
            signal(name, &child);
            Ran::end(child)
                .ended(code)
                .stderr_ends("redrive: interrupted, and the 3 letters in flight are visible again\n");
            assert_eq!(aws.counts(DEAD), (3, 0), "{verb} {name}");
            assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 0, "{name}");
        }
    }
}

#[test]
fn a_hangup_that_is_ignored_ends_nothing() {
    let aws = Aws::with_orders(false);
    aws.letter("one");
    let script = r#"trap "" HUP; exec "$0" "$@""#;
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_redrive"), "dlq", "list", "--queue", "orders"]);
    command.args(["--endpoint-url", &aws.url, "--region", REGION]).env_remove("AWS_PROFILE");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the shell runs");
    until("the letter is held", || aws.counts(DEAD) == (0, 1));
    signal("-HUP", &child);
    Ran::end(child).told(0, "1 letter in orders-dead\n");
}

#[test]
fn ctrl_c_while_the_log_is_read_ends_it_at_once() {
    let aws = Aws::with_orders(false);
    let id = aws.letter("one");
    let proxy = Proxy::start(&aws.url, |call, _| match call.action.ends_with("FilterLogEvents") {
        true => Fate::Delayed(PATIENCE),
        false => Fate::Answered,
    });
    for (asked, verb) in ["list --logs", &format!("show {id}")].iter().enumerate() {
        let line = format!("dlq {verb} --queue orders --log-group /shop/orders");
        let child = spawn(&proxy.url, &line, Path::new("."));
        until("the log is read", || {
            proxy.calls().iter().filter(|call| call.action.ends_with("FilterLogEvents")).count() > asked
        });
        let began = Instant::now();
        signal("-INT", &child);
        Ran::end(child).ended(130);
        assert!(began.elapsed() < Duration::from_secs(1), "{verb:?}: {:?}", began.elapsed());
        assert_eq!(aws.counts(DEAD), (1, 0), "{verb:?}");
    }
}

#[test]
fn two_exports_to_one_file_do_not_mix() {
    let aws = Aws::with_orders(false);
    for number in 0..30 {
        aws.letter(&number.to_string());
    }
    let folder = tempfile::tempdir().expect("a folder");
    let proxy = Proxy::start(&aws.url, at_first(1, "ReceiveMessage", Fate::Delayed(Duration::from_secs(5))));
    let export = "dlq export --queue orders letters.jsonl";
    let second = spawn(&proxy.url, export, folder.path());
    until("the second begins", || proxy.calls().iter().any(|call| call.action == "ReceiveMessage"));
    let first = spawn(&aws.url, export, folder.path());
    until("both write", || std::fs::read_dir(folder.path()).expect("it is there").count() == 2);
    Ran::end(first).ended(0);
    Ran::end(second).ended(1).stderr_ends("letters.jsonl exists: choose another name, or remove it\n");
    let written = std::fs::read_to_string(folder.path().join("letters.jsonl")).expect("it is whole");
    assert_eq!(written.lines().count(), 30);
    assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 1);
}

#[test]
fn an_import_reports_the_line_at_which_a_signal_stopped_it() {
    for (verb, to, expected) in [
        ("dlq import", DEAD, "redrive: interrupted: stopped at line 21, after 20 letters\n"),
        (
            "send",
            "orders",
            "redrive: lines.jsonl: line 21 to lines.jsonl: line 45: not sent\n\
             redrive: interrupted (25 of 45 messages were not sent)\n",
        ),
    ] {
        for (name, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
            let aws = Aws::with_orders(false);
            let folder = tempfile::tempdir().expect("a folder");
            let lines: String = (1..=45).map(|number| format!("{{\"body\": \"{number}\"}}\n")).collect();
            std::fs::write(folder.path().join("lines.jsonl"), lines).expect("it is written");
            let signaled = Arc::new(AtomicBool::new(false));
            let is_signaled = Arc::clone(&signaled);
            let proxy = Proxy::start(&aws.url, move |call, before| match (call.action.as_str(), before) {
                ("SendMessageBatch", 1) => {
                    until("a signal", || is_signaled.load(Ordering::Relaxed));
                    Fate::Delayed(Duration::from_millis(500))
                }
                _ => Fate::Answered,
            });
            let child = spawn(&proxy.url, &format!("{verb} --queue orders lines.jsonl"), folder.path());
            until("a second call", || proxy.entries(&["SendMessageBatch"]).len() == 2);
            signal(name, &child);
            signaled.store(true, Ordering::Relaxed);
            Ran::end(child).ended(code).stderr_ends(expected);
            assert_eq!(aws.counts(to), (20, 0));
        }
    }
}

#[test]
fn an_import_that_waits_for_its_input_ends_at_once() {
    let aws = Aws::with_orders(false);
    let mut command = process(&aws.url, "dlq import --queue orders -");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the command runs");
    let mut stdin = child.stdin.take().expect("it is piped");
    std::io::Write::write_all(&mut stdin, b"{\"body\": \"one\"}\n").expect("it is read");
    signal("-INT", &child);
    let status = child.wait().expect("it is ours");
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(2), "a shell says 130");
    assert_eq!(aws.counts(DEAD), (0, 0));
    drop(stdin);
}
