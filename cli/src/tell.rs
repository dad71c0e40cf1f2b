//! Lines for people: a result to stdout, everything beside it to stderr.

use std::fmt::Arguments;
use std::io::Write;

use crate::problem::{OrProblem, Problem};

/// Prints a result.
///
/// # Errors
/// It cannot be written.
pub(crate) fn print_line(line: &str) -> Result<(), Problem> {
    writeln!(std::io::stdout(), "{line}").or_failed()
}

/// Writes a line beside the result. If nobody reads it, what is done goes on to its end.
pub(crate) fn tell(line: Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// `1 letter`, `2 letters`.
pub(crate) fn letters(count: usize) -> String {
    match count {
        1 => "1 letter".to_owned(),
        _ => format!("{count} letters"),
    }
}
