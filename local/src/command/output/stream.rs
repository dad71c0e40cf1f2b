//! stdout and stderr themselves.

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

    /// Rows and columns, if it is a terminal.
    pub fn size(self) -> Option<(usize, usize)> {
        let terminal = match self {
            Self::Stdout => Term::stdout(),
            Self::Stderr => Term::stderr(),
        };
        terminal.size_checked().map(|(rows, columns)| (rows.into(), columns.into()))
    }

    /// With its styles, if there is a terminal that has any and nobody has switched them off.
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

    /// By one call to the system, so that lines of several processes do not mix.
    pub(super) fn write(self, text: &str) -> io::Result<()> {
        progress::aside(|| match self {
            Self::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(text.as_bytes())?;
                stdout.flush()
            }
            Self::Stderr => io::stderr().write_all(text.as_bytes()),
        })
    }
}

/// From the first row on, over what is there, without the blink of an empty screen; what has no room is left out.
pub(super) fn in_place(lines: &[Line], rows: usize) -> String {
    let lines = lines.iter().take(rows.saturating_sub(1));
    let lines: String = lines.map(|line| format!("{}\x1b[K\n", Stream::Stdout.shown(line))).collect();
    format!("\x1b[H{lines}\x1b[J")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redraw_clears_what_was_longer_before_and_keeps_to_the_screen() {
        let lines = ["a", "b", "c"].map(Line::from);
        assert_eq!(in_place(&lines[..2], 24), "\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J");
        assert_eq!(in_place(&lines, 3), "\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J");
    }
}
