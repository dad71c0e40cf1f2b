//! Signals end every verb that holds letters, and the letters are visible again.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::letters::DEAD;
use crate::proxy::{Fate, Proxy};
use crate::support::{Aws, REGION};

const PATIENCE: Duration = Duration::from_secs(30);

fn spawn(command: &mut Command, url: &str, folder: &Path) -> Child {
    let command = command.args(["--endpoint-url", url, "--region", REGION]).env_remove("AWS_PROFILE");
    let command = command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped());
    command.stderr(Stdio::piped()).spawn().expect("the command runs")
}

fn redrive(verb: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_redrive"));
    command.args(verb);
    command
}

fn kill(signal: &str, child: &Child) {
    let killed = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(killed.expect("kill runs").success());
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < until, "never: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The exit code, if it ended by itself, and what it said.
fn end(mut child: Child) -> (Option<i32>, String) {
    let mut stderr = String::new();
    child.stderr.take().expect("it is piped").read_to_string(&mut stderr).expect("it is text");
    (child.wait().expect("the child is ours").code(), stderr)
}

#[test]
fn whatever_holds_letters_makes_them_visible_again() {
    let aws = Aws::with_orders(false);
    for body in ["one", "two", "three"] {
        aws.letter(body);
    }
    let folder = tempfile::tempdir().expect("a folder");
    // Each looks at all letters and finds none that it wants, for as long as a receive waits in vain.
    let verbs: [&[&str]; 5] = [
        &["dlq", "list", "--queue", "orders"],
        &["dlq", "show", "--queue", "orders", "no-such"],
        &["dlq", "export", "--queue", "orders", "letters.jsonl"],
        &["dlq", "retry", "--queue", "orders", "--yes", "--where", "reason = none"],
        &["dlq", "delete", "--queue", "orders", "--yes", "--where", "reason = none"],
    ];
    for verb in verbs {
        for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
            let child = spawn(&mut redrive(verb), &aws.url, folder.path());
            until("the letters are held", || aws.counts(DEAD) == (0, 3));
            kill(signal, &child);
            let (ended, stderr) = end(child);
            assert_eq!(ended, Some(code), "{verb:?} {signal}: {stderr}");
            let expected = "redrive: interrupted, and the 3 letters that were held are visible again\n";
            assert!(stderr.ends_with(expected), "{verb:?} {signal}: {stderr}");
            assert_eq!(aws.counts(DEAD), (3, 0), "{verb:?} {signal}");
            assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 0, "{signal}");
        }
    }
}

#[test]
fn a_hangup_that_is_ignored_ends_nothing() {
    let aws = Aws::with_orders(false);
    aws.letter("one");
    let folder = tempfile::tempdir().expect("a folder");
    let script = r#"trap "" HUP; exec "$0" "$@""#;
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_redrive"), "dlq", "list", "--queue", "orders"]);
    let child = spawn(&mut command, &aws.url, folder.path());
    until("the letter is held", || aws.counts(DEAD) == (0, 1));
    kill("-HUP", &child);
    let (ended, stderr) = end(child);
    assert_eq!((ended, stderr.as_str()), (Some(0), "1 letter in orders-dead\n"));
}

#[test]
fn ctrl_c_while_the_log_is_read_ends_it_at_once() {
    let aws = Aws::with_orders(false);
    let id = aws.letter("one");
    let proxy = Proxy::start(&aws.url, |call, _| match call.action.ends_with("FilterLogEvents") {
        true => Fate::Delayed(PATIENCE),
        false => Fate::Answered,
    });
    let folder = tempfile::tempdir().expect("a folder");
    let (list, show) =
        (["dlq", "list", "--queue", "orders", "--logs"], ["dlq", "show", "--queue", "orders", &id]);
    for (asked, verb) in [&list[..], &show[..]].iter().enumerate() {
        let mut command = redrive(verb);
        let child = spawn(command.args(["--log-group", "/shop/orders"]), &proxy.url, folder.path());
        until("the log is read", || {
            proxy.calls().iter().filter(|call| call.action.ends_with("FilterLogEvents")).count() > asked
        });
        let began = Instant::now();
        kill("-INT", &child);
        let (ended, stderr) = end(child);
        assert!(began.elapsed() < Duration::from_secs(1), "{verb:?}: {:?}", began.elapsed());
        assert_eq!(ended, Some(130), "{verb:?}: {stderr}");
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
    let proxy = Proxy::start(&aws.url, |call, before| match call.action.as_str() {
        "ReceiveMessage" if before == 0 => Fate::Delayed(Duration::from_secs(5)),
        _ => Fate::Answered,
    });
    let verb = ["dlq", "export", "--queue", "orders", "letters.jsonl"];
    let second = spawn(&mut redrive(&verb), &proxy.url, folder.path());
    until("the second begins", || proxy.calls().iter().any(|call| call.action == "ReceiveMessage"));
    let first = spawn(&mut redrive(&verb), &aws.url, folder.path());
    until("both write", || std::fs::read_dir(folder.path()).expect("it is there").count() == 2);
    let ((first, said), (second, refused)) = (end(first), end(second));
    assert_eq!(first, Some(0), "{said}");
    assert_eq!(second, Some(1), "{refused}");
    assert!(refused.ends_with("letters.jsonl exists: give another name, or remove it\n"), "{refused}");
    let written = std::fs::read_to_string(folder.path().join("letters.jsonl")).expect("it is whole");
    assert_eq!(written.lines().count(), 30);
    assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 1);
}

#[test]
fn who_sends_lines_says_where_a_signal_stopped_it() {
    for (verb, to, expected) in [
        (&["dlq", "import"][..], DEAD, "redrive: interrupted: stopped at line 21, after 20 letters\n"),
        (
            &["send"],
            "orders",
            "redrive: interrupted before lines.jsonl: line 21 (25 of 45 messages were not sent)\n",
        ),
    ] {
        for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
            let aws = Aws::with_orders(false);
            let folder = tempfile::tempdir().expect("a folder");
            let lines: String = (1..=45).map(|number| format!("{{\"body\": \"{number}\"}}\n")).collect();
            std::fs::write(folder.path().join("lines.jsonl"), lines).expect("it is written");
            let proxy = Proxy::start(&aws.url, |call, before| match (call.action.as_str(), before) {
                ("SendMessageBatch", 1) => Fate::Delayed(Duration::from_secs(1)),
                _ => Fate::Answered,
            });
            let mut command = redrive(verb);
            let child = spawn(command.args(["--queue", "orders", "lines.jsonl"]), &proxy.url, folder.path());
            until("a second call", || proxy.entries(&["SendMessageBatch"]).len() == 2);
            kill(signal, &child);
            let (ended, stderr) = end(child);
            assert_eq!(ended, Some(code), "{stderr}");
            assert!(stderr.ends_with(expected), "{stderr}");
            assert_eq!(aws.counts(to), (20, 0));
        }
    }
}

#[test]
fn an_import_that_waits_for_its_input_ends_at_once() {
    let aws = Aws::with_orders(false);
    let mut command = redrive(&["dlq", "import", "--queue", "orders", "-"]);
    let command = command.args(["--endpoint-url", &aws.url, "--region", REGION]).env_remove("AWS_PROFILE");
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command runs");
    let mut stdin = child.stdin.take().expect("it is piped");
    // The first says by its word that it was read.
    std::io::Write::write_all(&mut stdin, b"{}\n{\"body\": \"two\"}\n").expect("it is read");
    let mut said = [0; 7];
    child.stderr.as_mut().expect("it is piped").read_exact(&mut said).expect("a word");
    kill("-INT", &child);
    let (code, stderr) = end(child);
    assert_eq!(code, Some(130), "{stderr}");
    assert!(stderr.contains("interrupted: stopped at line "), "{stderr}");
    drop(stdin);
}
