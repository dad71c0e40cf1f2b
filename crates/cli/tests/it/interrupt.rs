//! Ctrl-C ends a run cleanly: with the table, and exit code 0.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use crate::support::running::{PATIENCE, built, root, signal, signal_to};

fn start() -> Child {
    Command::new(env!("CARGO_BIN_EXE_redrive"))
        .current_dir(root())
        .args(["local", "--send", "events/last-delivery.json", "--binary"])
        .arg(built("orders"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command runs")
}

/// Kills a process that has not been dropped in time, so that no test waits forever.
fn watch(process: u32) -> mpsc::Sender<()> {
    let (alive, watched) = mpsc::channel::<()>();
    std::thread::spawn(move || {
        if watched.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
            signal_to("-KILL", &process.to_string());
        }
    });
    alive
}

#[test]
fn ctrl_c_ends_with_the_table() {
    let mut child = start();
    let watched = watch(child.id());
    let mut stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
    let mut lines = String::new();
    while !lines.contains("failed") {
        assert_ne!(stdout.read_line(&mut lines).expect("stdout is text"), 0, "it ended early: {lines}");
    }
    signal("-INT", &child);
    stdout.read_to_string(&mut lines).expect("stdout is text");
    let status = child.wait().expect("the child is ours");
    drop(watched);
    assert_eq!(status.code(), Some(0), "{lines}");
    assert!(lines.contains("\n messages "), "{lines}");
    assert!(lines.contains("simulated time"), "{lines}");
}
