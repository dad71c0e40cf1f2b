//! A verb of this command in a process.

use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child as Process, ChildStderr, ChildStdout, Command};
use tokio::time::timeout;

/// How long a verb may take to end after it was asked to: it makes letters visible again.
const GRACE: Duration = Duration::from_secs(20);

/// A line that it wrote.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// To standard output.
    Data(String),
    /// To standard error.
    Said(String),
}

/// Dropped, it is asked to end.
#[derive(Debug)]
pub(super) struct Child {
    process: Process,
    data: Option<Lines<BufReader<ChildStdout>>>,
    said: Option<Lines<BufReader<ChildStderr>>>,
}

impl Child {
    /// Starts it with these words, and with a text for its standard input.
    ///
    /// # Errors
    /// It cannot be started.
    pub(super) fn start(
        program: &PathBuf,
        words: &[String],
        input: String,
        editor: Option<String>,
    ) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C in the terminal is for the page, which then asks the verbs to end.
        command.process_group(0).env_remove("VISUAL");
        if let Some(editor) = editor {
            command.env("EDITOR", editor);
        }
        let mut process = command.spawn()?;
        if let Some(mut stdin) = process.stdin.take() {
            // A verb that does not read it says why on standard error.
            tokio::spawn(async move { stdin.write_all(input.as_bytes()).await });
        }
        let data = process.stdout.take().map(|stdout| BufReader::new(stdout).lines());
        let said = process.stderr.take().map(|stderr| BufReader::new(stderr).lines());
        Ok(Self { process, data, said })
    }

    /// The next line, or none after the last.
    pub(super) async fn next(&mut self) -> Option<Line> {
        loop {
            let (line, is_data) = tokio::select! {
                line = next_of(&mut self.data), if self.data.is_some() => (line.map(Line::Data), true),
                line = next_of(&mut self.said), if self.said.is_some() => (line.map(Line::Said), false),
                else => return None,
            };
            match (line, is_data) {
                (Some(line), _) => return Some(line),
                (None, true) => self.data = None,
                (None, false) => self.said = None,
            }
        }
    }

    /// What a short verb says, or why it failed.
    pub(super) async fn run(program: &PathBuf, words: &[String]) -> Result<String, String> {
        let mut child =
            Self::start(program, words, String::new(), None).map_err(|error| error.to_string())?;
        let mut last = String::new();
        while let Some(Line::Data(line) | Line::Said(line)) = child.next().await {
            last = line;
        }
        if child.code().await == 0 { Ok(last) } else { Err(last) }
    }

    pub(super) fn ask_to_end(&self) {
        if let Some(pid) = self.process.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)) {
            // It may have ended.
            let _ = kill_process(pid, Signal::TERM);
        }
    }

    /// Its exit code once it has said all, 128 and the number of the signal if one ended it.
    pub(super) async fn code(&mut self) -> i32 {
        use std::os::unix::process::ExitStatusExt;
        match timeout(GRACE, self.process.wait()).await {
            Ok(Ok(status)) => status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default()),
            Ok(Err(_)) | Err(_) => 1,
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.ask_to_end();
    }
}

async fn next_of<R: tokio::io::AsyncRead + Unpin>(lines: &mut Option<Lines<BufReader<R>>>) -> Option<String> {
    lines.as_mut()?.next_line().await.ok().flatten()
}
