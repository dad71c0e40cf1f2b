//! Prints results to stdout and everything else to stderr.

use serde::Serialize;

use crate::counted::counted;
use crate::output::{self, Line};
use crate::problem::{OrProblem, Problem};
pub(crate) use redrive_local::command::output::tell;

/// Prints a result.
///
/// # Errors
/// It cannot be written.
pub(crate) fn print_line(line: impl Into<Line>) -> Result<(), Problem> {
    output::print(line).or_failed()
}

/// Prints a result as a line of JSON.
///
/// # Errors
/// It cannot be written.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Problem> {
    output::print_json(value).or_failed()
}

/// Formats a count of letters: `1 letter`, `2,000 letters`.
pub(crate) fn letters(count: usize) -> String {
    counted(count, "letter")
}
