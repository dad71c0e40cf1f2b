//! Runs a program for a message, in a new process group.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};
use redrive_sqs::Quoted;
use rustix::io::ioctl_fionread;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process_group, waitpgid};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::exit::{Ended, How};
use super::lines::{Lines, Output};
use super::task::{self, Task};
use crate::scratch::Shelf;

/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(10);
/// Time for which a process outside of the group may keep the outputs open after the group was killed.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A program and its arguments.
#[derive(Debug, Clone)]
pub(super) struct Program {
    path: PathBuf,
    arguments: Vec<OsString>,
    time_limit: Option<Duration>,
    groups: Arc<Mutex<Vec<Pid>>>,
    lines: Lines,
    /// Folders of the messages.
    folders: Arc<Shelf>,
}

/// A program that could not be run.
#[derive(Debug, thiserror::Error)]
#[error("{} could not be run: {error}", path.display())]
pub(super) struct NotRun {
    path: PathBuf,
    pub(super) error: io::Error,
}

impl Program {
    /// Looks for a program as a shell does, so that a missing one does not cost messages a delivery.
    ///
    /// # Errors
    /// No file of this name can be executed.
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
        Ok(Self {
            path,
            arguments: arguments.to_vec(),
            time_limit,
            groups: Arc::default(),
            lines: Lines::start(),
            folders: Arc::new(
                Shelf::new("redrive-work-").context("could not make a folder for the messages")?,
            ),
        })
    }

    /// Runs it to its end. If the future is dropped, its process group is killed.
    pub(super) async fn run(&self, task: &Task) -> Result<Ended, NotRun> {
        let failed = |error: io::Error| NotRun { path: self.path.clone(), error };
        let folder = self.folders.folder().map_err(failed)?;
        let mut child = self.spawn(task, &folder).map_err(failed)?;
        let mut group = Group::of(&child, &self.groups);
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (end, has_ended) = watch::channel(false);
        let over = || {
            let mut has_ended = has_ended.clone();
            async move {
                let _ = has_ended.wait_for(|has_ended| *has_ended).await;
                sleep(LAST_WORDS).await;
            }
        };
        let writing = async {
            let (Some(mut stdin), mut left) = (stdin, task.body.as_bytes()) else { return false };
            // The program need not read the message.
            let write = async {
                while !left.is_empty()
                    && let Ok(count @ 1..) = stdin.write(left).await
                {
                    left = &left[count..];
                }
            };
            tokio::select! {
                () = write => {}
                () = over() => {}
            }
            // A long body does not fit into the pipe, so the program has read part of one that is written. Only Linux shows how much is
            // left in the pipe.
            let unread = if cfg!(target_os = "linux") { ioctl_fionread(&stdin) } else { Ok(u64::MAX) };
            left.is_empty() || unread.is_ok_and(|unread| unread < (task.body.len() - left.len()) as u64)
        };
        let [mut out, mut err] = [(); 2].map(|()| Output::new(self.lines.clone()));
        let ending = async {
            let how = self.end(&mut child, &group).await;
            group.kill().await;
            let _ = end.send(true);
            how
        };
        let (how, has_read, (), ()) =
            tokio::join!(ending, writing, out.pass_on(stdout, over()), err.pass_on(stderr, over()));
        out.last_line().await;
        let has_missed_it = task.is_long && !has_read;
        Ok(Ended { how: how.map_err(failed)?, last_line: err.last_line().await, has_missed_it })
    }

    fn spawn(&self, task: &Task, folder: &TempDir) -> io::Result<Child> {
        let mut command = Command::new(&self.path);
        // They belong to another message if this command was run for one.
        for (name, _) in std::env::vars_os().filter(|(name, _)| task::is_of_a_message(name)) {
            command.env_remove(name);
        }
        command
            .args(&self.arguments)
            .envs(task.environment.iter().map(|(name, value)| (name, value)))
            .env("TMPDIR", folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
    }

    /// Waits for its end. After the time limit, it sends SIGTERM, and later SIGKILL.
    async fn end(&self, child: &mut Child, group: &Group) -> io::Result<How> {
        let Some(limit) = self.time_limit else { return child.wait().await.map(how) };
        if let Ok(status) = timeout(limit, child.wait()).await {
            return status.map(how);
        }
        group.signal(Signal::TERM);
        // A suspended process would not receive SIGTERM.
        group.signal(Signal::CONT);
        tokio::select! {
            status = child.wait() => status.map(|_| ())?,
            () = sleep(GRACE) => group.signal(Signal::KILL),
        }
        child.wait().await?;
        Ok(How::TimedOut(limit))
    }

    /// Kills programs that still run, because nobody waits for them any more.
    pub(super) fn kill_all(&self) {
        self.lines.end();
        for group in self.groups.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

fn how(status: ExitStatus) -> How {
    match (status.code(), status.signal()) {
        // Exit codes are bytes.
        (Some(code), _) => How::Exit(code as u8),
        (None, signal) => How::Signal(signal.unwrap_or_default()),
    }
}

/// The process group of a program, which is killed when the value is dropped.
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
            // The group may be empty.
            let _ = kill_process_group(id, signal);
        }
    }

    /// Kills processes that the program has left behind.
    async fn kill(&mut self) {
        self.signal(Signal::KILL);
        if let Some(id) = self.forget() {
            reap(id).await;
        }
    }

    fn forget(&mut self) -> Option<Pid> {
        let id = self.id.take()?;
        self.all.lock().unwrap_or_else(PoisonError::into_inner).retain(|other| *other != id);
        Some(id)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        if let (Some(id), Ok(runtime)) = (self.forget(), Handle::try_current()) {
            runtime.spawn(reap(id));
        }
    }
}

/// Reaps processes that a program has left: as process 1 of a container, redrive becomes their parent.
async fn reap(group: Pid) {
    let until = Instant::now() + LAST_WORDS;
    while getpid().is_init() && waitpgid(group, WaitOptions::NOHANG).is_ok() && Instant::now() < until {
        sleep(Duration::from_millis(1)).await;
    }
}
