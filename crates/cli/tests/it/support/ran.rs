//! Runs the command, with assertions about its output.

use std::path::Path;
use std::process::{Child, Output, Stdio};

use assert_cmd::Command;
use serde_json::Value;

use super::running::PATIENCE;
use super::{REGION, Words};

/// What a command printed and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The command, with what is at this endpoint as its AWS.
pub(crate) fn command_at(url: &str, line: &(impl Words + ?Sized)) -> Command {
    let mut command = command(line);
    command.args(["--endpoint-url", url, "--region", REGION]);
    command
}

/// The command without any settings of whoever runs the tests.
pub(crate) fn command(line: &(impl Words + ?Sized)) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_redrive"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("AWS_")) {
        command.env_remove(name);
    }
    command.args(line.words()).timeout(PATIENCE);
    command
        .env("HOME", "/nonexistent")
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env("REDRIVE_JOURNAL", "off");
    command
}

/// `redrive local` in a folder, with the settings of whoever runs the tests, which Cargo may need.
pub(crate) fn local(folder: &Path, line: &(impl Words + ?Sized)) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_redrive"));
    command.current_dir(folder).arg("local").args(line.words()).timeout(2 * PATIENCE);
    command
}

/// Runs it with a stdout that nobody reads.
pub(crate) fn unread(url: &str, line: &(impl Words + ?Sized)) -> Ran {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = process(url, line);
    Ran::new(&command.stdout(writer).output().expect("the command runs"))
}

/// Starts the command in this folder, with what is at this endpoint as its AWS. Its output is piped.
pub(crate) fn spawn(url: &str, line: &(impl Words + ?Sized), folder: &Path) -> Child {
    process(url, line).current_dir(folder).stdout(Stdio::piped()).spawn().expect("the command runs")
}

/// The command in a process of its own, whose stderr is piped.
pub(crate) fn process(url: &str, line: &(impl Words + ?Sized)) -> std::process::Command {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_redrive"));
    command.args(line.words()).args(["--endpoint-url", url, "--region", REGION]).env_remove("AWS_PROFILE");
    command.env("REDRIVE_JOURNAL", "off").stdin(Stdio::null()).stderr(Stdio::piped());
    command
}

#[track_caller]
fn assert(holds: bool, expected: &str, ran: &Ran) {
    assert!(holds, "no {expected:?} in {ran:#?}");
}

impl Ran {
    /// Runs a command to its end.
    pub(crate) fn of(command: &mut Command) -> Self {
        Self::new(&command.output().expect("the command runs and ends"))
    }

    /// Waits for the end of a command.
    pub(crate) fn end(child: Child) -> Self {
        Self::new(&child.wait_with_output().expect("the child is ours"))
    }

    pub(crate) fn new(output: &Output) -> Self {
        Self {
            code: output.status.code().expect("it was not killed"),
            stdout: String::from_utf8(output.stdout.clone()).expect("stdout is text"),
            stderr: String::from_utf8(output.stderr.clone()).expect("stderr is text"),
        }
    }

    /// It ended with this code.
    #[track_caller]
    pub(crate) fn ended(&self, code: i32) -> &Self {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }

    /// It ended with this code, and printed just this.
    #[track_caller]
    pub(crate) fn printed(&self, code: i32, stdout: impl AsRef<str>) -> &Self {
        assert_eq!((self.code, self.stdout.as_str()), (code, stdout.as_ref()), "{self:#?}");
        self
    }

    /// It ended with this code, and wrote just this to stderr.
    #[track_caller]
    pub(crate) fn told(&self, code: i32, stderr: impl AsRef<str>) -> &Self {
        assert_eq!((self.code, self.stderr.as_str()), (code, stderr.as_ref()), "{self:#?}");
        self
    }

    /// It ended with this code and one line on stderr, of which this is a part.
    #[track_caller]
    pub(crate) fn refused(&self, code: i32, part: &str) -> &Self {
        assert_eq!((self.code, self.stderr.lines().count()), (code, 1), "{self:#?}");
        self.stderr_has(part)
    }

    #[track_caller]
    pub(crate) fn stdout_has(&self, part: impl AsRef<str>) -> &Self {
        assert(self.stdout.contains(part.as_ref()), part.as_ref(), self);
        self
    }

    #[track_caller]
    pub(crate) fn stdout_starts(&self, start: impl AsRef<str>) -> &Self {
        assert(self.stdout.starts_with(start.as_ref()), start.as_ref(), self);
        self
    }

    #[track_caller]
    pub(crate) fn stdout_ends(&self, end: impl AsRef<str>) -> &Self {
        assert(self.stdout.ends_with(end.as_ref()), end.as_ref(), self);
        self
    }

    #[track_caller]
    pub(crate) fn stderr_has(&self, part: impl AsRef<str>) -> &Self {
        assert(self.stderr.contains(part.as_ref()), part.as_ref(), self);
        self
    }

    #[track_caller]
    pub(crate) fn stderr_starts(&self, start: impl AsRef<str>) -> &Self {
        assert(self.stderr.starts_with(start.as_ref()), start.as_ref(), self);
        self
    }

    #[track_caller]
    pub(crate) fn stderr_ends(&self, end: impl AsRef<str>) -> &Self {
        assert(self.stderr.ends_with(end.as_ref()), end.as_ref(), self);
        self
    }

    #[track_caller]
    pub(crate) fn stdout_count(&self, part: &str, count: usize) -> &Self {
        assert_eq!(self.stdout.matches(part).count(), count, "{part:?} in {self:#?}");
        self
    }

    #[track_caller]
    pub(crate) fn stderr_count(&self, part: &str, count: usize) -> &Self {
        assert_eq!(self.stderr.matches(part).count(), count, "{part:?} in {self:#?}");
        self
    }

    /// What it printed, as one JSON value.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// What it printed, as a JSON value a line.
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
    }
}
