//! `--edit`: opens a letter in the user's editor.

use std::fmt;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

use super::document;
use crate::dlq::blocking::{read_line, until_stopped};
use crate::letters::{Letter, Redrive};
use crate::output::{self, Stream, tell};
use crate::scratch::Desk;
use crate::sqs::LetterLease;

/// Time for the editor to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(20);

/// A shell command, as for git.
#[derive(Debug, Clone)]
pub(crate) struct Editor(String);

/// The shell did not find the command, or may not run it. The next letter would fail in the same way.
/// <https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_08_02>
#[derive(Debug)]
pub(crate) struct NoEditor(String, ExitStatus);

impl fmt::Display for NoEditor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "could not run the editor {} ({}): set VISUAL or EDITOR", self.0, self.1)
    }
}

impl std::error::Error for NoEditor {}

/// Result of an edit.
#[derive(Debug)]
pub(crate) enum Edited {
    /// The edited letter with its file, which is removed when the value is dropped.
    Changed(Box<Redrive>, Desk),
    Unchanged,
    /// The user pressed Ctrl-C, or a signal arrived.
    Stopped,
}

/// Returns true if there is a terminal for the editor, even if stdin is a pipe.
pub(super) fn has_terminal() -> bool {
    io::stdin().is_terminal() || File::open("/dev/tty").is_ok()
}

impl Editor {
    /// # Errors
    /// Neither variable is set.
    pub(crate) fn from_env() -> anyhow::Result<Self> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let command = variable("VISUAL").or_else(|| variable("EDITOR"));
        command.map(Self).context("--edit needs an editor: set VISUAL or EDITOR")
    }

    /// Opens the letter until the result can be sent, or the user gives up. While the editor runs, Ctrl-C is its own. Other
    /// signals end it.
    ///
    /// # Errors
    /// The editor failed, or its result cannot be sent.
    pub(crate) async fn edit(
        &self,
        of: &Letter,
        letter: &Redrive,
        largest: usize,
        lease: &LetterLease,
    ) -> anyhow::Result<Edited> {
        let before = document::head(of) + &document::write(letter);
        let desk = Desk::with("letter.json", &before).context("could not make a file for the editor")?;
        loop {
            let (editor, path) = (self.clone(), desk.file());
            until_stopped(lease.stop().terminated(), move |over| editor.open(&path, over)).await??;
            // Many editors replace the file, so it is opened again.
            let text = std::fs::read_to_string(desk.file()).context("could not read the edited letter");
            if lease.is_stopped() {
                if text.is_ok_and(|text| text != before) {
                    desk.keep(&of.id);
                }
                return Ok(Edited::Stopped);
            }
            let text = text?;
            match document::read(&text, letter, largest) {
                Ok(Some(edited)) => return Ok(Edited::Changed(Box::new(edited), desk)),
                Ok(None) => return Ok(Edited::Unchanged),
                Err(reason) => match try_again(&of.id, &reason, lease).await? {
                    Some(true) => (),
                    Some(false) => {
                        if !io::stdin().is_terminal() {
                            desk.keep(&of.id);
                        }
                        bail!("cannot be sent as edited: {reason}")
                    }
                    None => return Ok(Edited::Stopped),
                },
            }
        }
    }

    fn open(&self, path: &Path, over: &AtomicBool) -> anyhow::Result<()> {
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("{} \"$@\"", self.0)).arg(&self.0).arg(path);
        // The editor needs the terminal, even if ids come through a pipe.
        if !io::stdin().is_terminal()
            && let Ok(terminal) = File::open("/dev/tty")
        {
            command.stdin(terminal);
        }
        match File::options().write(true).open("/dev/tty") {
            Ok(terminal) if !Stream::Stdout.is_terminal() => command.stdout(terminal),
            Err(_) if !Stream::Stdout.is_terminal() => command.stdout(Stdio::null()),
            _ => &mut command,
        };
        let before = tcgetattr(io::stdin()).ok();
        let started = command.spawn().with_context(|| format!("could not start the editor {}", self.0));
        let ended = wait(started?, over).context("could not wait for the editor")?;
        match ended {
            Some(status) if status.success() => Ok(()),
            Some(status) if matches!(status.code(), Some(126 | 127)) => {
                Err(NoEditor(self.0.clone(), status).into())
            }
            Some(status) => bail!("the editor {} failed ({status})", self.0),
            None => {
                if let Some(before) = before {
                    // It fails only if the terminal is gone.
                    let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
                }
                Ok(())
            }
        }
    }
}

/// Waits for the editor. Returns none if it was ended by a stop.
fn wait(mut editor: Child, over: &AtomicBool) -> io::Result<Option<ExitStatus>> {
    while !over.load(Ordering::Relaxed) {
        if let Some(status) = editor.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(TICK);
    }
    // With SIGTERM an editor can restore the terminal and keep its own files in order.
    let _ = kill_process(Pid::from_child(&editor), Signal::TERM);
    let deadline = Instant::now() + GRACE;
    while editor.try_wait()?.is_none() && Instant::now() < deadline {
        std::thread::sleep(TICK);
    }
    Ok(None)
}

/// Asks whether to edit again, if there is a terminal. Returns none if it is time to stop.
async fn try_again(id: &str, reason: &str, lease: &LetterLease) -> anyhow::Result<Option<bool>> {
    if !io::stdin().is_terminal() {
        return Ok(Some(false));
    }
    tell(format!("redrive: letter {id}: {reason}"));
    // If nobody can read the question, the end of the input is not a yes.
    let _ = output::ask("Edit it again? [Y/n] ");
    let answer = until_stopped(lease.stopped(), read_line).await?.context("could not read the answer")?;
    Ok(answer.map(|answer| !answer.is_empty() && matches!(answer.trim(), "" | "y" | "Y" | "yes")))
}
