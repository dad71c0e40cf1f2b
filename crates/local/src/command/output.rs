//! All that the command writes to stdout and stderr; nothing else in it writes there (`tests/it/structure.rs`).
//!
//! Much of it is text of others: of those who send messages, write functions and templates, or answer as AWS. Such text
//! becomes harmless where it becomes part of a [`Line`], and nothing but lines and JSON can be written: it does not move the
//! cursor, change colors, reach the clipboard, turn the direction of reading or begin a line, whatever a verb forgets.
//! Styles are no characters in a text but values beside it, so that no text can bring its own.

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
/// stdout is gone.
pub fn print(line: impl Into<Line>) -> io::Result<()> {
    print_all(&[line.into()])
}

/// Prints lines of the result, by one write.
///
/// # Errors
/// stdout is gone.
pub fn print_all(lines: &[Line]) -> io::Result<()> {
    Stream::Stdout.write_lines(lines)
}

/// Prints a value as a line of JSON.
///
/// # Errors
/// stdout is gone.
pub fn print_json(value: &impl Serialize) -> io::Result<()> {
    Stream::Stdout.write(&(json(value, serde_json::to_string)? + "\n"))
}

/// The same in several lines, for people too.
///
/// # Errors
/// stdout is gone.
pub fn print_json_pretty(value: &impl Serialize) -> io::Result<()> {
    Stream::Stdout.write(&(json(value, serde_json::to_string_pretty)? + "\n"))
}

/// Prints what was made of redrive's own words alone, as it is: a script for a shell, a manual page.
///
/// # Errors
/// stdout is gone.
pub fn print_own(text: &str) -> io::Result<()> {
    Stream::Stdout.write(text)
}

/// Draws lines over those that it drew before, as many as the terminal has room for.
///
/// # Errors
/// stdout is gone.
pub fn redraw(list: &[Line], below: &[Line]) -> io::Result<()> {
    let rows = Stream::Stdout.size().map_or(usize::MAX, |(rows, _)| rows);
    Stream::Stdout.write(&stream::in_place(list, below, rows))
}

/// Writes a line beside the result. If nobody reads it, what is done goes on to its end.
pub fn tell(line: impl Into<Line>) {
    // Nobody is left to tell if stderr is gone.
    let _ = tell_all(&[line.into()]);
}

/// Writes lines beside the result, by one write.
///
/// # Errors
/// stderr is gone.
pub fn tell_all(lines: &[Line]) -> io::Result<()> {
    Stream::Stderr.write_lines(lines)
}

/// Writes a question; the answer stands behind it.
///
/// # Errors
/// stderr is gone.
pub fn ask(question: impl Into<Line>) -> io::Result<()> {
    Stream::Stderr.write(&Stream::Stderr.shown(&question.into()))
}
