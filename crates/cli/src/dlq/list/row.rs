//! A letter as a row of a table. Pure.

use std::time::{Duration, SystemTime};

use anstyle::Style;

use crate::dlq::letter::Letter;
use crate::dlq::when::ago;
use crate::escape::{cut, recut};
use crate::output::Line;
use crate::span::span;

/// Most characters of a text that a row keeps, and of a cell, unless the line may be as wide as it needs.
pub(super) const KEPT: usize = 200;
const ERROR: usize = 40;
const REASON: usize = 20;
const GROUP: usize = 20;
/// Length of a shortened id. `dlq show` accepts it.
const SHORT_ID: usize = 8;

/// The cells of a letter.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) message_id: String,
    pub(super) content: [u8; 32],
    id: String,
    sent_at: Option<SystemTime>,
    pub(super) expires_at: Option<SystemTime>,
    attempts: Option<u32>,
    group: String,
    reason: String,
    error: String,
    pub(super) body: String,
}

impl Row {
    pub(super) fn of(letter: &Letter, retention: Duration) -> Self {
        Self {
            message_id: letter.message_id().to_owned(),
            content: letter.content(),
            id: cut(&letter.id, 100),
            sent_at: letter.sent_at(),
            expires_at: letter.expires_at(retention),
            attempts: letter.attempts(),
            group: cut(letter.group().unwrap_or("-"), KEPT),
            reason: cut(letter.reason(), KEPT),
            error: cut(error(letter), KEPT),
            body: cut(&letter.body, KEPT),
        }
    }

    pub(super) fn cells(&self, now: SystemTime, fit: Fit) -> [String; 7] {
        let left = |time: SystemTime| span(time.duration_since(now).unwrap_or_default());
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let most = |text: &str, most| if fit == Fit::Wide { text.to_owned() } else { recut(text, most) };
        let id =
            if fit == Fit::ShortIds { self.id.chars().take(SHORT_ID).collect() } else { self.id.clone() };
        [
            id,
            or_dash(self.sent_at.map(|time| ago(time, now))),
            or_dash(self.expires_at.map(left)),
            or_dash(self.attempts.map(|attempts| attempts.to_string())),
            most(&self.group, GROUP),
            most(&self.reason, REASON),
            most(&self.error, ERROR),
        ]
    }

    /// Formats a letter on several lines, for a terminal that is too narrow for one line.
    pub(super) fn stacked(&self, now: SystemTime, columns: usize, body: Option<usize>) -> Vec<Line> {
        let [id, age, left, attempts, group, reason, error] = self.cells(now, Fit::Wide);
        let unit = if attempts == "1" { "attempt" } else { "attempts" };
        let mut facts = format!("{age} old, {left} left, {attempts} {unit}");
        if group != "-" {
            facts = format!("{facts}, group {group}");
        }
        let why = if error == "-" { reason } else { format!("{reason}: {error}") };
        let inner = columns.saturating_sub(2);
        let body = recut(&self.body, body.map_or(inner, |body| body.min(inner)));
        let rest = [recut(&facts, inner), recut(&why, inner), body];
        let rest = rest.into_iter().filter(|line| !line.is_empty()).map(|line| format!("  {line}").into());
        std::iter::once(Line::styled(Style::new().bold(), recut(&id, columns))).chain(rest).collect()
    }
}

fn error(letter: &Letter) -> &str {
    match (letter.error(), &letter.logged) {
        ("", Some(_)) if letter.note.is_none() => super::NOTHING,
        ("", _) => "-",
        (error, _) => error,
    }
}

/// How much of a letter a line shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// Everything, however wide.
    Wide,
    Whole,
    ShortIds,
}
