//! How wide a text may be. Pure but for the look at the terminal.

use crate::output::{Line, Stream};

/// What programs may expect of a page.
const PAGE: usize = 80;

/// Where a text goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    /// With so many columns.
    Terminal(usize),
    /// Where a sentence stays one line, so that programs find it.
    Elsewhere,
}

impl Width {
    pub(crate) fn of(stream: Stream) -> Self {
        stream.size().map_or(Self::Elsewhere, |(_, columns)| Self::Terminal(columns))
    }

    pub(crate) fn columns(self) -> usize {
        match self {
            Self::Terminal(columns) => columns,
            Self::Elsewhere => PAGE,
        }
    }

    /// A sentence after `first`, and after `rest` what of it does not fit into the first line.
    pub(crate) fn wrap(self, first: &str, rest: &str, sentence: impl Into<Line>) -> Vec<Line> {
        match self {
            Self::Elsewhere => vec![Line::from(first).and(sentence)],
            Self::Terminal(columns) => sentence.into().wrap(columns, first, rest),
        }
    }
}
