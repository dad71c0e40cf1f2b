//! stdout and stderr.

use std::io::{self, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use console::Term;

use super::line::Line;
use super::progress;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
}

impl Stream {
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Stdout => io::stdout().is_terminal(),
            Self::Stderr => io::stderr().is_terminal(),
        }
    }

    /// Returns rows and columns, if the stream is a terminal.
    pub fn size(self) -> Option<(usize, usize)> {
        let terminal = match self {
            Self::Stdout => Term::stdout(),
            Self::Stderr => Term::stderr(),
        };
        terminal.size_checked().map(|(rows, columns)| (rows.into(), columns.into()))
    }

    /// Returns the line with its styles, if the stream is a terminal with styles and nobody switched them off.
    pub(super) fn shown(self, line: &Line) -> String {
        let choice = match self {
            Self::Stdout => AutoStream::choice(&io::stdout()),
            Self::Stderr => AutoStream::choice(&io::stderr()),
        };
        if choice == ColorChoice::Never { line.plain() } else { line.with_styles().to_owned() }
    }

    pub(super) fn write_lines(self, lines: &[Line]) -> io::Result<()> {
        self.write(&lines.iter().map(|line| self.shown(line) + "\n").collect::<String>())
    }

    /// Writes a text in one system call, so that lines of several processes do not mix.
    pub(super) fn write(self, text: &str) -> io::Result<()> {
        let write = || match self {
            Self::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(text.as_bytes())?;
                stdout.flush()
            }
            Self::Stderr => io::stderr().write_all(text.as_bytes()),
        };
        // A pipe that nobody reads must not hold up the progress.
        if self.is_terminal() { progress::aside(write) } else { write() }
    }
}

/// Returns the lines drawn over the screen from the first row on, without the blink of an empty screen. A line gives the
/// number of lines without room. The lines below the list keep half of the screen if they need it.
pub(super) fn in_place(list: &[Line], below: &[Line], rows: usize) -> String {
    let rows = rows.saturating_sub(1);
    let all_below = below.len().min(rows.saturating_sub(list.len().min(rows / 2)));
    let (list, below) = (within(list, rows - all_below), within(below, all_below));
    let lines = list.iter().chain(&below);
    let lines: String = lines.map(|line| format!("{}\x1b[K\n", Stream::Stdout.shown(line))).collect();
    format!("\x1b[H{lines}\x1b[J")
}

fn within(lines: &[Line], rows: usize) -> Vec<Line> {
    match rows.checked_sub(1) {
        None => vec![],
        Some(_) if lines.len() <= rows => lines.to_vec(),
        Some(shown) => {
            let more = lines.len() - shown;
            let more = format!("{more} more {}", if more == 1 { "line" } else { "lines" });
            lines[..shown].iter().cloned().chain([more.into()]).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_do_not_fit_are_counted_and_the_last_lines_stay() {
        let lines = |count: usize, name: &str| {
            (1..=count).map(|at| format!("{name}{at}").into()).collect::<Vec<Line>>()
        };
        for (list, below, rows, expected) in [
            (2, 1, 9, "a1 a2 b1"),
            (5, 1, 5, "a1 a2 3 more lines b1"),
            (2, 1, 3, "2 more lines b1"),
            (9, 9, 7, "a1 a2 7 more lines b1 b2 7 more lines"),
            (1, 9, 7, "a1 b1 b2 b3 b4 5 more lines"),
            (3, 0, 3, "a1 2 more lines"),
            (3, 1, 1, ""),
        ] {
            let shown = in_place(&lines(list, "a"), &lines(below, "b"), rows);
            let shown =
                shown.trim_start_matches("\x1b[H").trim_end_matches("\x1b[J").replace("\x1b[K\n", " ");
            assert_eq!(shown.trim_end(), expected, "{list} {below} {rows}");
        }
    }

    #[test]
    fn a_redraw_clears_what_was_longer_before_and_keeps_to_the_screen() {
        let lines = ["a", "b", "c"].map(Line::from);
        assert_eq!(in_place(&lines[..2], &[], 24), "\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J");
        assert_eq!(in_place(&lines, &[], 3), "\x1b[Ha\x1b[K\n2 more lines\x1b[K\n\x1b[J");
    }
}
