//! Ctrl-C ends a run cleanly: with the table, and exit code 0.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// How long the whole run may take.
const PATIENCE: Duration = Duration::from_secs(60);

fn start() -> Child {
    let orders = Path::new(env!("CARGO_BIN_EXE_redrive")).with_file_name("orders");
    assert!(
        orders.exists(),
        "the demo function is not built yet: run `make test`, or cargo test --workspace"
    );
    Command::new(env!("CARGO_BIN_EXE_redrive"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .args(["local", "--send", "events/last-delivery.json", "--binary"])
        .arg(orders)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command runs")
}

fn signal(name: &str, process: u32) {
    let status = Command::new("kill").args([name, &process.to_string()]).status();
    assert!(status.expect("kill runs").success());
}

/// Kills a process that has not been dropped in time, so that no test waits forever.
fn watch(process: u32) -> mpsc::Sender<()> {
    let (alive, watched) = mpsc::channel::<()>();
    std::thread::spawn(move || {
        if watched.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
            signal("-KILL", process);
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
    signal("-INT", child.id());
    stdout.read_to_string(&mut lines).expect("stdout is text");
    let status = child.wait().expect("the child is ours");
    drop(watched);
    assert_eq!(status.code(), Some(0), "{lines}");
    assert!(lines.contains("\n messages "), "{lines}");
    assert!(lines.contains("simulated time"), "{lines}");
}
