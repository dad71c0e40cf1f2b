//! Runs `redrive local` in its own process, while a test calls its endpoint.

use std::fs::{self, File};
use std::io::BufRead;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Words;

/// How long anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);

/// A function that `cargo test --workspace` builds beside this package's own binary.
pub(crate) fn built(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_redrive")).with_file_name(name);
    assert!(path.exists(), "{name} is not built yet: run `make test`, or cargo test --workspace");
    path
}

/// The folder of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository is there")
}

/// A port that nobody listens on, that no other test is given, and that the system gives to nobody who asks for any: those begin at
/// 32768 on Linux, at 49152 elsewhere.
pub(crate) fn free_port() -> u16 {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ports");
    fs::create_dir_all(&folder).expect("a folder can be made");
    let first = std::process::id() * 16;
    let mut ports =
        (0..10_000).map(|offset| 20_000 + u16::try_from((first + offset) % 10_000).expect("it is small"));
    let is_ours = |port: &u16| {
        let lock = File::create(folder.join(port.to_string())).expect("a file can be made");
        // The lock lasts as long as the process: the file is never closed.
        let is_ours = lock.try_lock().is_ok() && TcpListener::bind(("127.0.0.1", *port)).is_ok();
        if is_ours {
            std::mem::forget(lock);
        }
        is_ours
    };
    ports.find(is_ours).expect("a port is free")
}

/// A running command, killed if it is dropped before its end.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    pub(crate) fn start(directory: &Path, function: &Path, line: &(impl Words + ?Sized)) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_redrive"))
            .current_dir(directory)
            .args(["local", "--json", "--binary"])
            .arg(function)
            .args(line.words())
            .env_remove("AWS_PROFILE")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the command runs");
        Self(child)
    }

    /// Interrupts it and returns the last line, its totals.
    pub(crate) fn stop(mut self, mut stdout: impl BufRead) -> Value {
        signal("-INT", &self.0);
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).expect("stdout is text");
        assert_eq!(self.0.wait().expect("the child is ours").code(), Some(0));
        serde_json::from_str(rest.lines().last().expect("there are totals")).expect("each line is JSON")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already if all went well.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn wait_for(port: u16) {
    until(&format!("a listener on {port}"), || TcpStream::connect(("127.0.0.1", port)).is_ok());
}

/// Waits until it is so.
#[track_caller]
pub(crate) fn until(what: &str, is_so: impl Fn() -> bool) {
    until_or(|| what.to_owned(), is_so);
}

/// Waits until it is so. If it never is, `describe` says what is there instead.
#[track_caller]
pub(crate) fn until_or(describe: impl Fn() -> String, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "never: {}", describe());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends a signal, such as `-INT`.
pub(crate) fn signal(name: &str, child: &Child) {
    signal_to(name, &child.id().to_string());
}

/// The same, to a process by its id.
pub(crate) fn signal_to(name: &str, process: &str) {
    let status = Command::new("kill").args([name, process]).status();
    assert!(status.expect("kill runs").success());
}
