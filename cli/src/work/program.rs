//! Runs a program for a message, in a process group of its own.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::bail;
use redrive_sqs::Quoted;
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, Command};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::exit::{Ended, How};
use super::task::Task;
use crate::tell::tell;

/// Between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(10);
/// How long standard error may stay open after everything was killed: by a process that has left the group.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// A longer line is passed on in pieces.
const LINE: usize = 16 * 1_024;

/// A program and its arguments.
#[derive(Debug, Clone)]
pub(super) struct Program {
    path: PathBuf,
    arguments: Vec<OsString>,
    time_limit: Option<Duration>,
    groups: Arc<Mutex<Vec<Pid>>>,
}

/// A program that could not be run.
#[derive(Debug)]
pub(super) struct NotRun(String);

impl std::fmt::Display for NotRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Program {
    /// Looks for a program as a shell does, so that one that is not there costs no message a delivery.
    ///
    /// # Errors
    /// There is no file of this name that can be executed.
    pub(super) fn find(
        name: &OsStr,
        arguments: &[OsString],
        time_limit: Option<Duration>,
    ) -> anyhow::Result<Self> {
        let is_executable = |path: &Path| {
            path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
        };
        let found = match name.as_bytes().contains(&b'/') {
            true => Some(PathBuf::from(name)),
            false => {
                let folders = std::env::var_os("PATH").unwrap_or_default();
                std::env::split_paths(&folders)
                    .map(|folder| folder.join(name))
                    .find(|path| is_executable(path))
            }
        };
        let Some(path) = found.filter(|path| is_executable(path)) else {
            let name = name.to_string_lossy();
            bail!(
                "COMMAND is {}, allowed: a file that can be executed, or its name if it is in PATH",
                Quoted(&name)
            );
        };
        Ok(Self { path, arguments: arguments.to_vec(), time_limit, groups: Arc::default() })
    }

    /// Runs it to its end. If the future is dropped, everything that it has started is killed.
    pub(super) async fn run(&self, task: &Task) -> Result<Ended, NotRun> {
        let failed = |error: io::Error| NotRun(format!("{} could not be run: {error}", self.path.display()));
        let folder = tempfile::Builder::new().prefix("redrive-work-").tempdir().map_err(failed)?;
        let mut child = self.spawn(task, &folder).map_err(failed)?;
        let group = Group::of(&child, &self.groups);
        let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
        let writing = async {
            if let Some(mut stdin) = stdin {
                // It need not read it.
                let _ = stdin.write_all(task.body.as_bytes()).await;
            }
        };
        let (mut said, has_ended) = (Said::default(), Notify::new());
        let listening = async {
            if let Some(stderr) = stderr {
                said.listen(stderr).await;
            }
        };
        let ending = async {
            let how = self.end(&mut child, &group).await;
            group.signal(Signal::KILL);
            has_ended.notify_one();
            how
        };
        let talking = async {
            tokio::select! {
                _ = async { tokio::join!(writing, listening) } => {}
                () = async { has_ended.notified().await; sleep(LAST_WORDS).await } => {}
            }
        };
        let (how, ()) = tokio::join!(ending, talking);
        Ok(Ended { how: how.map_err(failed)?, said: said.last_line() })
    }

    fn spawn(&self, task: &Task, folder: &TempDir) -> io::Result<Child> {
        Command::new(&self.path)
            .args(&self.arguments)
            .envs(task.environment.iter().map(|(name, value)| (name, value)))
            .env("TMPDIR", folder.path())
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
    }

    /// Waits for its end, and sees to it after the time limit.
    async fn end(&self, child: &mut Child, group: &Group) -> io::Result<How> {
        let Some(limit) = self.time_limit else { return child.wait().await.map(how) };
        if let Ok(status) = timeout(limit, child.wait()).await {
            return status.map(how);
        }
        group.signal(Signal::TERM);
        tokio::select! {
            status = child.wait() => status.map(|_| ())?,
            () = sleep(GRACE) => group.signal(Signal::KILL),
        }
        child.wait().await?;
        Ok(How::TimedOut(limit))
    }

    /// Kills what still runs, since nobody waits for it any more.
    pub(super) fn kill_all(&self) {
        for group in self.groups.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

fn how(status: ExitStatus) -> How {
    match (status.code(), status.signal()) {
        // Codes are bytes.
        (Some(code), _) => How::Exit(code as u8),
        (None, signal) => How::Signal(signal.unwrap_or_default()),
    }
}

/// The program and everything that it has started, which is killed with the value.
struct Group {
    id: Option<Pid>,
    all: Arc<Mutex<Vec<Pid>>>,
}

impl Group {
    fn of(child: &Child, all: &Arc<Mutex<Vec<Pid>>>) -> Self {
        let id = child.id().and_then(|id| Pid::from_raw(id as i32));
        all.lock().unwrap_or_else(PoisonError::into_inner).extend(id);
        Self { id, all: Arc::clone(all) }
    }

    fn signal(&self, signal: Signal) {
        if let Some(id) = self.id {
            // Nobody may be left.
            let _ = kill_process_group(id, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        self.all.lock().unwrap_or_else(PoisonError::into_inner).retain(|id| Some(*id) != self.id);
    }
}

/// Passes on what a program writes to standard error, and keeps its last line.
#[derive(Debug, Default)]
struct Said {
    line: Vec<u8>,
    last: Vec<u8>,
}

impl Said {
    async fn listen(&mut self, mut stderr: ChildStderr) {
        let mut buffer = [0; 8_192];
        while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
            self.add(&buffer[..count], |line| tell(line));
        }
        self.end_line(&|line: &str| tell(line));
    }

    fn add(&mut self, bytes: &[u8], pass_on: impl Fn(&str)) {
        for &byte in bytes {
            if byte != b'\n' {
                self.line.push(byte);
            }
            if byte == b'\n' || self.line.len() == LINE {
                self.end_line(&pass_on);
            }
        }
    }

    fn end_line(&mut self, pass_on: &impl Fn(&str)) {
        if self.line.trim_ascii().is_empty() {
            self.line.clear();
        } else {
            self.last = std::mem::take(&mut self.line);
            pass_on(&String::from_utf8_lossy(&self.last));
        }
    }

    fn last_line(&self) -> String {
        String::from_utf8_lossy(self.last.trim_ascii()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_that_says_something_is_kept() {
        for (pieces, last) in [
            (&["one\ntwo\n\n  \n"][..], "two"),
            (&["one\nt", "wo"], "two"),
            (&["", "\n"], ""),
            (&["Traceback:\n  line 1\nValueError: no such order\n"], "ValueError: no such order"),
        ] {
            let mut said = Said::default();
            pieces.iter().for_each(|piece| said.add(piece.as_bytes(), |_| ()));
            said.end_line(&|_: &str| ());
            assert_eq!(said.last_line(), last, "{pieces:?}");
        }
    }
}
