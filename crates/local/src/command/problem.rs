//! The reason why the command failed, as one line and an exit code.

use std::fmt;
use std::io;
use std::process::ExitCode;

use crate::command::output;

/// An error that ends the command.
#[derive(Debug)]
pub enum Problem {
    /// The request is invalid: exit code 2, as for an unknown flag.
    Input(anyhow::Error),
    /// The attempt failed: exit code 1.
    Failed(anyhow::Error),
    /// Nothing matches the request: exit code 3.
    NoMatch(anyhow::Error),
    /// A signal with this number ended the command: the exit code is the one that shells use.
    Ended(anyhow::Error, u8),
}

/// Numbers of the signals that end the command.
pub const HANGUP: u8 = 1;
pub const INTERRUPT: u8 = 2;
pub const TERMINATE: u8 = 15;

/// Returns a shell's exit code for a process that a signal ended.
pub fn code_of_signal(signal: u8) -> u8 {
    128 + signal
}

impl Problem {
    /// Returns true if nobody reads the output any more.
    pub fn is_broken_pipe(&self) -> bool {
        let (Self::Input(error) | Self::Failed(error) | Self::NoMatch(error) | Self::Ended(error, _)) = self;
        error
            .chain()
            .filter_map(|cause| cause.downcast_ref::<io::Error>())
            .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Returns the exit code.
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

/// Turns an error into one of two problems.
pub trait OrProblem<T> {
    /// Blames the input.
    fn or_input(self) -> Result<T, Problem>;
    /// Blames the environment.
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

/// Prints why the command ends, and returns its exit code.
pub fn exit(result: Result<(), Problem>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // The reader, such as `head`, has seen enough.
        Err(problem) if problem.is_broken_pipe() => ExitCode::SUCCESS,
        Err(problem) => {
            output::tell(format!("redrive: {problem}"));
            problem.code().into()
        }
    }
}
