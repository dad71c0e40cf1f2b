//! Why the command did not do what it was asked to, as one line and an exit code.

use std::fmt;
use std::io;
use std::process::ExitCode;

use crate::command::output;

/// What ends the command early.
#[derive(Debug)]
pub enum Problem {
    /// What was asked for cannot be meant: exit code 2, as for an unknown flag.
    Input(anyhow::Error),
    /// It was tried and failed: exit code 1.
    Failed(anyhow::Error),
    /// Nothing is what was asked for: exit code 3.
    NoMatch(anyhow::Error),
    /// A signal of this number ended it: the exit code is that of shells.
    Ended(anyhow::Error, u8),
}

/// Signals that ask to end, by their numbers.
pub const HANGUP: u8 = 1;
pub const INTERRUPT: u8 = 2;
pub const TERMINATE: u8 = 15;

/// What a shell says of a process that a signal ended.
pub fn code_of_signal(signal: u8) -> u8 {
    128 + signal
}

impl Problem {
    /// Whether nobody reads the output any more.
    pub fn is_broken_pipe(&self) -> bool {
        let (Self::Input(error) | Self::Failed(error) | Self::NoMatch(error) | Self::Ended(error, _)) = self;
        error
            .chain()
            .filter_map(|cause| cause.downcast_ref::<io::Error>())
            .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The exit code.
    pub fn code(&self) -> u8 {
        match self {
            Self::Failed(_) => 1,
            Self::Input(_) => 2,
            Self::NoMatch(_) => 3,
            Self::Ended(_, signal) => code_of_signal(*signal),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(error) | Self::Failed(error) | Self::NoMatch(error) | Self::Ended(error, _) => {
                write!(f, "{error:#}")
            }
        }
    }
}

/// Sorts an error into one of the two kinds.
pub trait OrProblem<T> {
    /// The input is to blame.
    fn or_input(self) -> Result<T, Problem>;
    /// The world is to blame.
    fn or_failed(self) -> Result<T, Problem>;
}

impl<T, E: Into<anyhow::Error>> OrProblem<T> for Result<T, E> {
    fn or_input(self) -> Result<T, Problem> {
        self.map_err(|error| Problem::Input(error.into()))
    }

    fn or_failed(self) -> Result<T, Problem> {
        self.map_err(|error| Problem::Failed(error.into()))
    }
}

/// Says why the command ends, and gives its exit code.
pub fn exit(result: Result<(), Problem>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads has seen enough, as `head` does.
        Err(problem) if problem.is_broken_pipe() => ExitCode::SUCCESS,
        Err(problem) => {
            output::tell(format!("redrive: {problem}"));
            problem.code().into()
        }
    }
}
