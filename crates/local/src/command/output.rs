//! Writes everything that the command prints on stdout and stderr. No other module writes there (`tests/it/structure.rs`).
//!
//! Much of the output is text of others: senders of messages, authors of functions and templates, or services that answer as
//! AWS. Such text becomes harmless when it becomes part of a [`Line`], and only lines and JSON can be written. So it cannot
//! move the cursor, change colors, reach the clipboard, reverse the reading direction or begin a line, even if a verb forgets
//! to escape it. Styles are values beside the text, not characters in it, so that no text can bring its own.

mod escape;
mod json;
mod line;
mod progress;
mod stream;
mod usage;

use std::io;

use serde::Serialize;

pub use escape::{escape, push_escaped};
pub use json::json;
pub use line::Line;
pub use progress::Progress;
pub use stream::Stream;
pub use usage::parse;

/// Prints a line of the result.
///
/// # Errors
/// Returns an error if stdout is gone.
pub fn print(line: impl Into<Line>) -> io::Result<()> {
    print_all(&[line.into()])
}

/// Prints lines of the result in one write.
///
/// # Errors
/// Returns an error if stdout is gone.
pub fn print_all(lines: &[Line]) -> io::Result<()> {
    Stream::Stdout.write_lines(lines)
}

/// Prints a value as a line of JSON.
///
/// # Errors
/// Returns an error if stdout is gone.
pub fn print_json(value: &impl Serialize) -> io::Result<()> {
    Stream::Stdout.write(&(json(value, serde_json::to_string)? + "\n"))
}

/// Prints a value as JSON on several lines, for people too.
///
/// # Errors
/// Returns an error if stdout is gone.
pub fn print_json_pretty(value: &impl Serialize) -> io::Result<()> {
    Stream::Stdout.write(&(json(value, serde_json::to_string_pretty)? + "\n"))
}

/// Prints text that contains only redrive's own words unchanged: a shell script, a manual page.
///
/// # Errors
/// Returns an error if stdout is gone.
pub fn print_own(text: &str) -> io::Result<()> {
    Stream::Stdout.write(text)
}

/// Draws lines over those that it drew before, as many as the terminal has room for.
///
/// # Errors
/// Returns an error if stdout is gone.
pub fn redraw(list: &[Line], below: &[Line]) -> io::Result<()> {
    let rows = Stream::Stdout.size().map_or(usize::MAX, |(rows, _)| rows);
    Stream::Stdout.write(&stream::in_place(list, below, rows))
}

/// Writes a line on stderr. If nobody reads it, the command continues.
pub fn tell(line: impl Into<Line>) {
    // If stderr is gone, nobody is left to notify.
    let _ = tell_all(&[line.into()]);
}

/// Writes lines on stderr in one write.
///
/// # Errors
/// Returns an error if stderr is gone.
pub fn tell_all(lines: &[Line]) -> io::Result<()> {
    Stream::Stderr.write_lines(lines)
}

/// Writes a question. The answer follows on the same line.
///
/// # Errors
/// Returns an error if stderr is gone.
pub fn ask(question: impl Into<Line>) -> io::Result<()> {
    Stream::Stderr.write(&Stream::Stderr.shown(&question.into()))
}
