//! A process that runs a function's executable, with its output.

use std::collections::BTreeMap;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

use super::tail::Tail;
use super::{Function, Log};

/// How long a wrapper may take to end the process that it started. redrive's layer gives the function 2 s.
const WRAPPER_GRACE: Duration = Duration::from_millis(3_000);

/// How long the last lines of an ended process may take to arrive.
const OUTPUT_GRACE: Duration = Duration::from_millis(200);

/// A process. Dropping it kills it. [`end`](Self::end) also waits until it is gone.
#[derive(Debug)]
pub(crate) struct Program {
    child: Child,
    /// True if the process starts the function and forwards SIGTERM to it.
    is_wrapper: bool,
    /// The shell that kills a worker when this process ends.
    watchdog: Option<Child>,
    tail: Tail,
    /// The readers of stdout and stderr.
    readers: JoinSet<()>,
}

impl Program {
    /// Starts the executable in the directory of its code, with only this environment.
    ///
    /// # Errors
    /// Returns an error if it cannot be run.
    pub(super) fn spawn(
        function: &Function,
        environment: BTreeMap<String, String>,
        log: &Log,
    ) -> io::Result<Self> {
        // It has its own process group, so that Ctrl-C reaches it only through this process.
        let mut child = Command::new(&function.config.command)
            .args(&function.config.arguments)
            .current_dir(function.root())
            .env_clear()
            .envs(environment)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let (mut readers, tail) = (JoinSet::new(), Tail::default());
        if let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) {
            readers.spawn(pass_lines(stdout, log.clone(), tail.clone()));
            readers.spawn(pass_lines(stderr, log.clone(), tail.clone()));
        }
        let is_wrapper = !function.config.arguments.is_empty();
        Ok(Self { child, is_wrapper, watchdog: None, tail, readers })
    }

    /// Makes a shell kill the process when this one ends in any way, which a worker would not notice. The shell waits for the
    /// end of a pipe to which nobody writes.
    ///
    /// # Errors
    /// Returns an error if there is no shell.
    pub(super) fn watched(mut self) -> io::Result<Self> {
        let Some(id) = self.child.id() else { return Ok(self) };
        let watchdog = Command::new("/bin/sh")
            .args(["-c", "read -r _; kill -KILL \"$0\"", &id.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        self.watchdog = Some(watchdog);
        Ok(self)
    }

    pub(super) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits until the process ends by itself, and returns how.
    pub(crate) async fn exited(&mut self) -> String {
        exit_text(self.child.wait().await)
    }

    pub(crate) fn terminate(&self) {
        let process = self.child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        if let Some(process) = process {
            // If the signal fails, the process is already gone.
            let _ = kill_process(process, Signal::TERM);
        }
    }

    pub(crate) async fn kill(&mut self) {
        if self.is_wrapper {
            self.terminate();
            let _ = tokio::time::timeout(WRAPPER_GRACE, self.child.wait()).await;
        }
        // Kills the processes that it started, unless they left its group. If that fails, they are already gone.
        if let Some(group) = self.child.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.kill().await;
    }

    /// Kills the process, waits until it is gone and its output has been passed on, and returns its last lines.
    pub(crate) async fn end(mut self) -> Vec<String> {
        self.kill().await;
        if let Some(mut watchdog) = self.watchdog.take() {
            // The shell must end first, because the process id may soon belong to another process.
            let _ = watchdog.start_kill();
            let _ = watchdog.wait().await;
        }
        // A process that it left behind may keep the pipes open.
        let _ =
            tokio::time::timeout(OUTPUT_GRACE, async { while self.readers.join_next().await.is_some() {} })
                .await;
        self.tail.take()
    }
}

async fn pass_lines(stream: impl AsyncRead + Unpin, log: Log, tail: Tail) {
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    // A read error ends the output.
    while stream.read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned();
        tail.add(&text);
        log.own(text);
        line.clear();
    }
}

fn exit_text(status: io::Result<ExitStatus>) -> String {
    status.map_or_else(|error| format!("its end is unknown: {error}"), |status| status.to_string())
}
