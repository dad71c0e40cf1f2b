//! How wide a text may be. Pure but for the look at the terminal.

use clap::Args;

use crate::output::{Line, Stream};

/// Where a text goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    /// With so many columns.
    Terminal(usize),
    /// Where a sentence stays one line, so that programs find it.
    Elsewhere,
}

/// How a table is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// So that no line of it is wider than this; where no terminal has a width, each row is one line.
    Fit(Width),
    /// With all that there is, one line for each row.
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
    /// For a table on stdout.
    pub(crate) fn layout(self) -> Layout {
        if self.wide { Layout::Wide } else { Layout::Fit(Width::of(Stream::Stdout)) }
    }
}

impl Width {
    pub(crate) fn of(stream: Stream) -> Self {
        stream.size().map_or(Self::Elsewhere, |(_, columns)| Self::Terminal(columns))
    }

    /// A sentence after `first`, and after `rest` what of it does not fit into the first line.
    pub(crate) fn wrap(self, first: &str, rest: &str, sentence: impl Into<Line>) -> Vec<Line> {
        match self {
            Self::Elsewhere => vec![Line::from(first).and(sentence)],
            Self::Terminal(columns) => sentence.into().wrap(columns, first, rest),
        }
    }
}
