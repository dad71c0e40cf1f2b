//! `redrive local --worker`: the binary itself polls the embedded queue.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{ChildStdout, Command};

use serde_json::Value;

use crate::support::ends::ends;
use crate::support::running::{PATIENCE, Running, built, free_port, root, signal, signal_to, until};
use crate::support::{Ran, local};

/// Runs the demo function as a worker until its queue is empty, on these messages.
fn run(flags: &str) -> Vec<Value> {
    let line = format!("--json --worker --until-idle --binary {} {flags}", built("orders").display());
    Ran::of(&mut local(&root(), &line)).ended(0).json_lines()
}

fn of_kind<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["kind"] == kind).collect()
}

#[test]
fn messages_are_done_or_retried_with_backoff_and_dead_lettered() {
    let events = run("--speed max --parameter MessageTimeLimit=1 --send events/demo.jsonl");
    let expected = [
        "done 1",
        "done 1",
        "done 1",
        "done 2",
        "done 3",
        "done 4",
        "done 2",
        "panic 1",
        "card-refused 1",
        "malformed 1",
        "exhausted 10",
        "done 1",
    ];
    let ends = ends(&events);
    assert_eq!(ends[..10], expected[..10]);
    assert_eq!(ends[11], expected[11]);
    assert!(ends[10].ends_with(" 10"), "{ends:?}");
    let backs = of_kind(&events, "back_in");
    let down = of_kind(&events, "sent")[10]["message_id"].clone();
    let waits: Vec<_> = backs
        .iter()
        .filter(|event| event["message_id"] == down)
        .filter_map(|event| event["seconds"].as_u64())
        .collect();
    assert_eq!(waits[..9], [2, 4, 8, 16, 32, 64, 128, 256, 512]);
    let totals = events.last().expect("there are totals");
    assert_eq!((&totals["invocations"], &totals["left"]), (&Value::from(0), &Value::from(0)));
    assert_eq!(of_kind(&events, "invocation_started").len(), 0);
    assert_eq!(of_kind(&events, "worker_ended")[0]["status"], "exit status: 0");
    // Of the queue's letters, and of what the worker published when it was told to end.
    let went_off = |name: &str| {
        of_kind(&events, "alarm").iter().any(|event| event["name"] == name && event["state"] == "ALARM")
    };
    assert!(went_off("redrive-DeadLetter") && went_off("redrive-DeadLettered"), "{events:#?}");
}

/// What it has printed once this word is in it, and the rest to come.
fn lines_until(word: &str, running: &mut Running) -> (BufReader<ChildStdout>, String) {
    let mut stdout = BufReader::new(running.0.stdout.take().expect("stdout is piped"));
    let mut lines = String::new();
    while !lines.contains(word) {
        assert_ne!(stdout.read_line(&mut lines).expect("stdout is text"), 0, "it ended early: {lines}");
    }
    (stdout, lines)
}

#[test]
fn ctrl_c_lets_the_worker_end_and_leaves_nothing_behind() {
    let mut running = Running::start(&root(), &built("orders"), "--worker --send events/mixed.json");
    let (mut stdout, mut lines) = lines_until("back_in", &mut running);
    let worker = worker_of(running.0.id());
    signal("-INT", &running.0);
    stdout.read_to_string(&mut lines).expect("stdout is text");
    assert_eq!(running.0.wait().expect("the child is ours").code(), Some(0), "{lines}");
    assert!(lines.contains(r#""status":"exit status: 0","output""#), "{lines}");
    assert!(!is_alive(&worker), "{lines}");
}

#[test]
fn a_worker_does_not_outlive_a_command_that_is_killed() {
    let mut running = Running::start(&root(), &built("orders"), "--worker");
    // What is printed afterwards still has a reader.
    let _stdout = lines_until("worker_started", &mut running);
    let worker = worker_of(running.0.id());
    assert!(is_alive(&worker));
    drop(running);
    until("the end of the worker", || !is_alive(&worker));
}

#[test]
fn a_worker_that_crashes_is_started_again_and_its_messages_come_back() {
    let messages = std::env::temp_dir().join(format!("redrive-crash-{}.jsonl", std::process::id()));
    let body =
        r#"{"body":{"order_id":"A-1","lines":[{"sku":"tea","quantity":1}],"gateway":{"hangs_for":1}}}"#;
    fs::write(&messages, body).expect("it is written");
    let line = format!("--worker --speed max --send {}", messages.display());
    let mut running = Running::start(&root(), &built("orders"), &line);
    let mut stdout = BufReader::new(running.0.stdout.take().expect("stdout is piped")).lines();
    let mut events: Vec<Value> = Vec::new();
    let mut next = |kind: &str| loop {
        let line = stdout.next().expect("it goes on").expect("it is text");
        let event: Value = serde_json::from_str(&line).expect("each line is JSON");
        events.push(event.clone());
        if event["kind"] == kind {
            return event;
        }
    };
    next("received");
    let first = worker_of(running.0.id());
    signal_to("-KILL", &first);
    let ended = next("worker_ended");
    assert_eq!((&ended["status"], &ended["restart_in"]), (&"signal: 9 (SIGKILL)".into(), &1.into()));
    assert_eq!(next("done")["attempt"], 2);
    assert_ne!(worker_of(running.0.id()), first);
    assert_eq!(of_kind(&events, "failed").len(), 1);
    fs::remove_file(&messages).expect("it is ours");
}

#[test]
fn a_binary_that_ends_before_it_polls_fails_the_command() {
    let line = "--worker --until-idle --binary /bin/false --send events/last-delivery.json";
    let ran = Ran::of(&mut local(&root(), line));
    ran.ended(1);
    assert!(ran.stderr.contains("3 times in a row; the last time: exit status: 1"), "{ran:?}");
}

#[test]
fn the_page_is_told_of_the_attempts_of_a_worker() {
    let port = free_port();
    let line = format!("--worker --ui {port} --speed max --send events/mixed.json");
    let running = Running::start(&root(), &built("orders"), &line);
    until("a page", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("it is set");
    let request = format!("GET /events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut told = BufReader::new(stream).lines();
    let mut all = String::new();
    while !all.contains(r#""outcome":"failed","wait":4"#) || !all.contains(r#""kind":"dead""#) {
        let line = told.next().expect("it goes on").expect("it is text");
        all.push_str(&line);
    }
    assert!(all.contains(r#""has_workers":true"#) && all.contains(r#""outcome":"done""#), "{all}");
    assert!(!all.contains(r#""outcome":"client""#), "{all}");
    drop(running);
}

#[test]
fn real_queues_have_no_worker_here() {
    for flags in ["--aws", "--endpoint-url http://127.0.0.1:1"] {
        let ran = Ran::of(&mut local(&root(), &format!("--worker {flags}")));
        ran.ended(2);
        assert!(ran.stderr.contains("cannot be used with"), "{ran:?}");
    }
}

/// The id of the worker that a process has started.
fn worker_of(process: u32) -> String {
    let output = Command::new("ps").args(["-o", "pid=,comm=", "--ppid", &process.to_string()]).output();
    let output = String::from_utf8(output.expect("ps runs").stdout).expect("names are text");
    let worker = output.lines().find_map(|line| line.trim().strip_suffix(" orders"));
    worker.unwrap_or_else(|| panic!("no worker in {output}")).trim().to_owned()
}

fn is_alive(process: &str) -> bool {
    Command::new("kill").args(["-0", process]).output().expect("kill runs").status.success()
}
