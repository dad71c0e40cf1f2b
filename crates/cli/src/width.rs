//! Widths of texts and tables. Pure except for reading the terminal's width.

use clap::Args;

use crate::output::{Line, Stream};

/// The width of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    /// A terminal with this many columns.
    Terminal(usize),
    /// No terminal. A sentence stays on one line, so that programs find it.
    Elsewhere,
}

/// Layout of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// No line is wider than this. Without a terminal, each row is one line.
    Fit(Width),
    /// One line for each row, with full texts.
    Wide,
}

/// For verbs that print tables.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Wide {
    /// Print whole ids and texts, even if they are wider than the terminal
    #[arg(long)]
    wide: bool,
}

impl Wide {
    /// Returns the layout of a table on stdout.
    pub(crate) fn layout(self) -> Layout {
        if self.wide { Layout::Wide } else { Layout::Fit(Width::of(Stream::Stdout)) }
    }
}

impl Width {
    pub(crate) fn of(stream: Stream) -> Self {
        stream.size().map_or(Self::Elsewhere, |(_, columns)| Self::Terminal(columns))
    }

    /// Wraps a sentence, with `first` before the first line and `rest` before the others.
    pub(crate) fn wrap(self, first: &str, rest: &str, sentence: impl Into<Line>) -> Vec<Line> {
        match self {
            Self::Elsewhere => vec![Line::from(first).and(sentence)],
            Self::Terminal(columns) => sentence.into().wrap(columns, first, rest),
        }
    }
}
