//! Runs a verb of this command in a process.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use redrive_sqs::cut_to;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader};
use tokio::process::{Child as Process, ChildStderr, ChildStdout, Command};
use tokio::time::timeout;

/// Time for a verb to end after SIGTERM. It makes its letters visible again.
const GRACE: Duration = Duration::from_secs(20);

/// Most characters of a line. Nobody reads more.
const LONGEST_SAID: usize = 1_000;

/// A line of its output.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum OutputLine {
    /// A line of standard output.
    Stdout(String),
    /// A line of standard error.
    Stderr(String),
}

/// A running verb. Dropping it sends SIGTERM.
#[derive(Debug)]
pub(super) struct Child {
    process: Process,
    data: Option<Reader<ChildStdout>>,
    said: Option<Reader<ChildStderr>>,
}

/// A stream, with the beginning of a line.
#[derive(Debug)]
struct Reader<S> {
    stream: BufReader<S>,
    line: Vec<u8>,
}

impl Child {
    /// Starts a verb with these arguments, and with a text for its standard input.
    ///
    /// # Errors
    /// It cannot be started.
    pub(super) fn start(
        program: &Path,
        words: &[String],
        input: String,
        editor: Option<String>,
    ) -> Result<Self, String> {
        let mut command = Command::new(program);
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C in the terminal is for the page, which then ends the verbs.
        command.process_group(0).env_remove("VISUAL");
        if let Some(editor) = editor {
            command.env("EDITOR", editor);
        }
        let started = command.spawn();
        let mut process =
            started.map_err(|error| format!("could not start {}: {error}", program.display()))?;
        if let Some(mut stdin) = process.stdin.take() {
            // If a verb does not read it, it reports the reason on standard error.
            tokio::spawn(async move { stdin.write_all(input.as_bytes()).await });
        }
        let data = process.stdout.take().map(Reader::new);
        let said = process.stderr.take().map(Reader::new);
        Ok(Self { process, data, said })
    }

    /// Returns the next line, or none at the end.
    pub(super) async fn next(&mut self) -> Option<OutputLine> {
        loop {
            let (line, is_data) = tokio::select! {
                line = next_of(&mut self.data), if self.data.is_some() => (line.map(OutputLine::Stdout), true),
                line = next_of(&mut self.said), if self.said.is_some() => {
                    (line.map(|line| OutputLine::Stderr(cut_to(&line, LONGEST_SAID).into_owned())), false)
                }
                else => return None,
            };
            match (line, is_data) {
                (Some(line), _) => return Some(line),
                (None, true) => self.data = None,
                (None, false) => self.said = None,
            }
        }
    }

    /// Runs a short verb, and returns its output, or the reason of its failure.
    pub(super) async fn run(program: &Path, words: &[String]) -> Result<String, String> {
        let mut child = Self::start(program, words, String::new(), None)?;
        let mut last = String::new();
        while let Some(OutputLine::Stdout(line) | OutputLine::Stderr(line)) = child.next().await {
            last = line;
        }
        if child.code().await == 0 { Ok(last) } else { Err(last) }
    }

    pub(super) fn ask_to_end(&self) {
        if let Some(pid) = self.process.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)) {
            // It may have ended already.
            let _ = kill_process(pid, Signal::TERM);
        }
    }

    /// Returns its exit code after its last line: 128 plus the signal's number if a signal ended it. Kills it if it does not end.
    pub(super) async fn code(&mut self) -> i32 {
        let ended = match timeout(GRACE, self.process.wait()).await {
            Ok(ended) => ended,
            Err(_) => self.process.kill().await.and(self.process.wait().await),
        };
        ended.map_or(1, |status| status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default()))
    }

    /// Ends it and waits for that, because only then are its letters visible again.
    pub(super) async fn end(mut self) {
        self.ask_to_end();
        (self.data, self.said) = (None, None);
        self.code().await;
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.ask_to_end();
    }
}

impl<S: AsyncRead + Unpin> Reader<S> {
    fn new(stream: S) -> Self {
        Self { stream: BufReader::new(stream), line: vec![] }
    }
}

/// Reads the next line. If the future is canceled, the part that was read is kept.
async fn next_of<S: AsyncRead + Unpin>(reader: &mut Option<Reader<S>>) -> Option<String> {
    let Reader { stream, line } = reader.as_mut()?;
    let is_over = stream.read_until(b'\n', line).await.is_err() || line.is_empty();
    let text = String::from_utf8_lossy(line).trim_end_matches('\n').to_owned();
    line.clear();
    (!is_over).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Child {
        Child::start(Path::new("sh"), &["-c".to_owned(), script.to_owned()], "in\n".to_owned(), None).unwrap()
    }

    #[tokio::test]
    async fn all_lines_come_from_both_streams() {
        let mut child = sh("cat; printf 'a\\377\\nb'; echo no >&2; exit 3");
        let (mut data, mut said) = (vec![], vec![]);
        while let Some(line) = child.next().await {
            match line {
                OutputLine::Stdout(line) => data.push(line),
                OutputLine::Stderr(line) => said.push(line),
            }
        }
        assert_eq!((data, said), (["in", "a\u{fffd}", "b"].map(str::to_owned).into(), vec!["no".to_owned()]));
        assert_eq!(child.code().await, 3);
    }

    #[tokio::test]
    async fn a_verb_that_is_asked_to_end_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ended");
        let script =
            format!("trap 'touch {}; exit 0' TERM; echo ready; while :; do sleep 0.05; done", file.display());
        let mut child = sh(&script);
        assert_eq!(child.next().await, Some(OutputLine::Stdout("ready".to_owned())));
        child.end().await;
        assert!(file.exists());
    }
}
