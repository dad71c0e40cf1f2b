//! `redrive local` in a process of its own, while a test talks to its endpoint.

use std::io::BufRead;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A function that `cargo test --workspace` builds beside this package's own binary.
pub(crate) fn built(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_redrive")).with_file_name(name);
    assert!(path.exists(), "{name} is not built yet: run `make test`, or cargo test --workspace");
    path
}

/// A port that nobody listens on.
pub(crate) fn free_port() -> u16 {
    let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    free.expect("a port is free").port()
}

/// A running command, killed if it is dropped before its end.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    pub(crate) fn start(directory: &Path, function: &Path, arguments: &[&str]) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_redrive"))
            .current_dir(directory)
            .args(["local", "--json", "--binary"])
            .arg(function)
            .args(arguments)
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
        let status = Command::new("kill").args(["-INT", &self.0.id().to_string()]).status();
        assert!(status.expect("kill runs").success());
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
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(begun.elapsed() < PATIENCE, "nobody listens on port {port}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
