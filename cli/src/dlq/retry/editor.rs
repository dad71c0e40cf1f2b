//! `--edit`: a letter in the user's editor.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, anyhow, bail};

use super::document;
use super::outgoing::{Destination, Outgoing};

/// A command of the shell, as git takes it.
#[derive(Debug, Clone)]
pub(crate) struct Editor(String);

/// What came of it.
#[derive(Debug)]
pub(crate) enum Edited {
    Changed(Box<Outgoing>),
    Unchanged,
}

impl Editor {
    /// # Errors
    /// Neither variable is set.
    pub(crate) fn from_env() -> anyhow::Result<Self> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let command = variable("VISUAL").or_else(|| variable("EDITOR"));
        command.map(Self).context("--edit needs an editor: set VISUAL or EDITOR")
    }

    /// Shows the letter until what comes back can be sent, or nobody wants to try again.
    ///
    /// # Errors
    /// The editor failed, or what it left cannot be sent.
    pub(crate) async fn edit(&self, id: &str, letter: &Outgoing, to: Destination) -> anyhow::Result<Edited> {
        let file = tempfile::Builder::new().prefix("redrive-").suffix(".json").tempfile();
        let mut file = file.context("could not make a file for the editor")?;
        file.write_all(document::write(letter).as_bytes()).context("could not write for the editor")?;
        loop {
            let (editor, path) = (self.clone(), file.path().to_owned());
            let opened = tokio::task::spawn_blocking(move || editor.open(&path)).await;
            opened.map_err(|_| anyhow!("the editor could not be waited for"))??;
            // Many editors replace the file, so it is opened anew.
            let text = std::fs::read_to_string(file.path()).context("could not read what the editor left")?;
            match document::read(&text, letter, to) {
                Ok(Some(edited)) => return Ok(Edited::Changed(Box::new(edited))),
                Ok(None) => return Ok(Edited::Unchanged),
                Err(reason) if !try_again(id, &reason)? => bail!("cannot be sent as edited: {reason}"),
                Err(_) => (),
            }
        }
    }

    fn open(&self, path: &Path) -> anyhow::Result<()> {
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("{} \"$@\"", self.0)).arg(&self.0).arg(path);
        // Ids or results may go through a pipe; the editor needs the terminal.
        if !io::stdin().is_terminal()
            && let Ok(terminal) = File::open("/dev/tty")
        {
            command.stdin(terminal);
        }
        match File::options().write(true).open("/dev/tty") {
            Ok(terminal) if !io::stdout().is_terminal() => command.stdout(terminal),
            Err(_) if !io::stdout().is_terminal() => command.stdout(Stdio::null()),
            _ => &mut command,
        };
        let status = command.status().with_context(|| format!("could not start the editor {}", self.0))?;
        if !status.success() {
            bail!("the editor {} failed ({status})", self.0);
        }
        Ok(())
    }
}

/// Asks, where there is somebody to ask.
fn try_again(id: &str, reason: &str) -> anyhow::Result<bool> {
    if !io::stdin().is_terminal() {
        return Ok(false);
    }
    let _ = write!(io::stderr(), "redrive: letter {id}: {reason}\nEdit it again? [Y/n] ");
    let mut answer = String::new();
    let read = io::stdin().read_line(&mut answer).context("could not read the answer")?;
    Ok(read > 0 && matches!(answer.trim(), "" | "y" | "Y" | "yes"))
}
