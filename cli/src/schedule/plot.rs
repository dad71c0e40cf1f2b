//! The waits as they follow each other, drawn with plain characters. Pure.

use std::ops::RangeInclusive;
use std::time::Duration;

use anstyle::{AnsiColor, Style};

use super::axis::Axis;
use super::course::End;
use super::plan::{Plan, Row};
use crate::output::Line;

/// Below this many columns nothing can be told, and beyond no more than before.
const WIDTHS: RangeInclusive<usize> = 20..=60;

const ATTEMPT: Style = AnsiColor::Green.on_default();
const END: Style = AnsiColor::Red.on_default();
const QUIET: Style = Style::new().dimmed();

/// A plan and its time axis.
pub(super) struct Plot<'a> {
    plan: &'a Plan,
    axis: Axis,
}

impl<'a> Plot<'a> {
    /// As wide as there is room, if there is enough.
    pub(super) fn new(plan: &'a Plan, room: usize) -> Option<Self> {
        let width = room.min(*WIDTHS.end());
        let delays = plan.usual.attempts.iter().filter_map(|attempt| attempt.delay);
        WIDTHS.contains(&width).then(|| Self { plan, axis: Axis::new(width, plan.last(), delays) })
    }

    /// `o` when it begins, `=` while it waits, `~` where it may wait still.
    pub(super) fn bar(&self, row: &Row) -> Line {
        let begin = self.axis.column(row.attempt.at);
        let failed = row.attempt.at + self.plan.terms.attempt_duration;
        let until = |delay: Duration| self.axis.column(failed + delay);
        let (sure, perhaps) = row.delays.map_or((begin, begin), |(least, most)| (until(least), until(most)));
        let waits = "=".repeat(sure.saturating_sub(begin + 1));
        let may_wait = "~".repeat(perhaps.saturating_sub(sure.max(begin + 1)));
        let attempt = Line::from(" ".repeat(begin)).and(Line::styled(ATTEMPT, "o"));
        attempt.and(waits).and(Line::styled(QUIET, may_wait))
    }

    pub(super) fn end(&self) -> Line {
        let end = self.plan.usual.end;
        let (mark, word) = match end {
            End::DeadLetter { .. } => ("D", "dead letter"),
            End::Expired { .. } => ("X", "expired"),
        };
        let column = self.axis.column(end.at());
        let (blank, told) = match column.checked_sub(word.len() + 1) {
            Some(blank) => (blank, format!("{word} {mark}")),
            None => (column, format!("{mark} {word}")),
        };
        Line::from(" ".repeat(blank)).and(Line::styled(END, told))
    }

    pub(super) fn labels(&self) -> Line {
        Line::styled(QUIET, self.axis.labels())
    }
}
