//! What is told of an attempt, column by column. Pure.

use std::time::{Duration, SystemTime};

use super::{Shown, clock};
use crate::schedule::plan::Plan;
use crate::span;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    Attempt,
    ComesAfter,
    At,
    Earliest,
    Latest,
    ThenWaits,
    AtLeast,
    AtMost,
}

impl Column {
    pub(super) fn of(plan: &Plan, sent: Option<SystemTime>) -> Vec<Self> {
        use Column::{At, AtLeast, AtMost, Attempt, ComesAfter, Earliest, Latest, ThenWaits};
        let all = [Attempt, ComesAfter, At, Earliest, Latest, ThenWaits, AtLeast, AtMost];
        let is_there = |column: &Self| match column {
            At => sent.is_some(),
            Earliest | Latest | AtLeast | AtMost => plan.has_jitter(),
            Attempt | ComesAfter | ThenWaits => true,
        };
        all.into_iter().filter(is_there).collect()
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Attempt => "attempt",
            Self::ComesAfter => "comes after",
            Self::At => "at",
            Self::Earliest => "earliest",
            Self::Latest => "latest",
            Self::ThenWaits => "then waits",
            Self::AtLeast => "at least",
            Self::AtMost => "at most",
        }
    }

    /// Where there is no room for all, those with the highest number go first.
    pub(super) fn spare(self) -> u8 {
        match self {
            Self::Attempt => 0,
            Self::At => 1,
            Self::ComesAfter => 2,
            Self::ThenWaits => 3,
            Self::AtLeast | Self::AtMost => 4,
            Self::Earliest | Self::Latest => 5,
        }
    }
}

pub(super) fn cells(shown: &Shown, columns: &[Column], sent: Option<SystemTime>) -> Vec<String> {
    let or_dash = |time: Option<Duration>| time.map_or("-".to_owned(), span::words);
    let cell = |column: &Column| match (shown, column) {
        (_, Column::Attempt) => shown.number(),
        (Shown::More(count), Column::ComesAfter) => format!("{count} more"),
        (Shown::More(_), _) => String::new(),
        (Shown::Row(row), Column::ComesAfter) => span::words(row.attempt.at),
        (Shown::Row(row), Column::At) => sent.map(|sent| clock(sent, row.attempt.at)).unwrap_or_default(),
        (Shown::Row(row), Column::Earliest) => span::words(row.begins.0),
        (Shown::Row(row), Column::Latest) => or_dash(row.begins.1),
        (Shown::Row(row), Column::ThenWaits) => or_dash(row.attempt.delay),
        (Shown::Row(row), Column::AtLeast) => or_dash(row.delays.map(|(least, _)| least)),
        (Shown::Row(row), Column::AtMost) => or_dash(row.delays.map(|(_, most)| most)),
    };
    columns.iter().map(cell).collect()
}
