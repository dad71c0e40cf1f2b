//! The schedule for people: a row for each attempt, with its wait drawn beside it, and how it ends. Pure.

mod columns;

use std::time::{Duration, SystemTime};

use anstyle::{AnsiColor, Style};
use redrive::LastDelivery;

use self::columns::{Column, cells};
use super::course::{Course, End, Rule};
use super::plan::{Plan, Row};
use super::plot::Plot;
use crate::counted::counted;
use crate::output::Line;
use crate::span;
use crate::width::Width;

/// Between the table and the plot, and as wide as a number where the plot is below the table.
const MARGIN: usize = 2;
const NUMBER: usize = 6;

/// Before each column.
const GAP: usize = 2;

/// Runs of rows with one delay are folded when they are longer.
const RUN: usize = 4;

const BAD: Style = AnsiColor::Red.on_default();

/// Everything, as wide as `width`, with fewer columns where it is narrow. With a time of sending the attempts have their own
/// times.
pub(super) fn text(plan: &Plan, sent: Option<SystemTime>, width: Width) -> Vec<Line> {
    let shown = folded(&plan.rows());
    let table = table(&shown, plan, sent, width.columns());
    let taken = table.iter().map(String::len).max().unwrap_or_default();
    let mut lines = width.wrap("", "  ", heading(plan));
    lines.extend(width.wrap("", "  ", rule(plan)));
    lines.push(Line::default());
    match Plot::new(plan, width.columns().saturating_sub(taken + MARGIN)) {
        Some(plot) => lines.extend(beside(&table, taken + MARGIN, &shown, &plot)),
        None => {
            let numbers: Vec<String> = std::iter::once(String::new())
                .chain(shown.iter().map(Shown::number))
                .map(|number| format!("{number:>NUMBER$}"))
                .collect();
            lines.extend(table.iter().map(Line::from));
            if let Some(plot) = Plot::new(plan, width.columns().saturating_sub(NUMBER + MARGIN)) {
                lines.extend(beside(&numbers, NUMBER + MARGIN, &shown, &plot));
            }
        }
    }
    lines.push(Line::default());
    lines.extend(
        ends(plan, sent)
            .into_iter()
            .flat_map(|(indent, line)| width.wrap(indent, &format!("{indent}  "), line)),
    );
    lines
}

/// The titles and a line for what is shown of each, with as many columns as there is room for.
fn table(shown: &[Shown], plan: &Plan, sent: Option<SystemTime>, room: usize) -> Vec<String> {
    let mut columns = Column::of(plan, sent);
    loop {
        let rows = shown.iter().map(|shown| cells(shown, &columns, sent));
        let titles = columns.iter().map(|column| column.title().to_owned()).collect();
        let cells: Vec<Vec<String>> = std::iter::once(titles).chain(rows).collect();
        let widths: Vec<usize> = (0..columns.len())
            .map(|column| cells.iter().map(|row| row[column].len()).max().unwrap_or_default())
            .collect();
        let least = columns.iter().map(|column| column.spare()).max().unwrap_or_default();
        if widths.iter().map(|width| width + GAP).sum::<usize>() <= room || least == 0 {
            let line = |row: &Vec<String>| {
                row.iter().zip(&widths).map(|(cell, width)| format!("  {cell:>width$}")).collect()
            };
            return cells.iter().map(line).collect();
        }
        columns.retain(|column| column.spare() != least);
    }
}

/// The plot to the right of the lines, of which the first is a title, and its axis below them.
fn beside(lines: &[String], column: usize, shown: &[Shown], plot: &Plot<'_>) -> Vec<Line> {
    let bars = std::iter::once(None).chain(shown.iter().map(|shown| match shown {
        Shown::Row(row) => Some(plot.bar(row)),
        Shown::More(_) => None,
    }));
    let drawn = lines.iter().zip(bars).map(|(line, bar)| match bar {
        Some(bar) => Line::from(format!("{line:<column$}")).and(bar),
        None => Line::from(line.trim_end()),
    });
    let axis = [plot.end(), plot.labels()].map(|line| Line::from(" ".repeat(column)).and(line));
    drawn.chain(axis).collect()
}

enum Shown {
    Row(Row),
    /// So many more with the delay of those around it.
    More(usize),
}

impl Shown {
    fn number(&self) -> String {
        match self {
            Self::Row(row) => row.number.to_string(),
            Self::More(_) => "...".to_owned(),
        }
    }
}

fn folded(rows: &[Row]) -> Vec<Shown> {
    let mut shown = Vec::new();
    for run in rows.chunk_by(|one, next| one.delays == next.delays) {
        let (first, last) = (run[0], run[run.len() - 1]);
        if run.len() <= RUN {
            shown.extend(run.iter().copied().map(Shown::Row));
        } else {
            shown.extend([Shown::Row(first), Shown::More(run.len() - 2), Shown::Row(last)]);
        }
    }
    shown
}

fn heading(plan: &Plan) -> String {
    let terms = &plan.terms;
    let kind = if terms.is_fifo { "FIFO" } else { "standard" };
    let deliveries = match terms.max_receive_count {
        Some(max) => counted(max as usize, "delivery"),
        None => "no redrive policy".to_owned(),
    };
    let letters = terms.dead_letter_retention.map(|kept| format!(", dead letters {}", span::words(kept)));
    format!(
        "{} ({kind}): {deliveries}; messages are kept for {}{}",
        plan.name,
        span::words(terms.retention),
        letters.unwrap_or_default()
    )
}

fn rule(plan: &Plan) -> String {
    match &plan.terms.rule {
        Rule::Redrive(_) => "retries wait for redrive's backoff".to_owned(),
        Rule::VisibilityTimeout { timeout, since } => {
            let timeout = span::words(*timeout);
            format!("retries wait for the visibility timeout of {timeout}, since {since}")
        }
    }
}

pub(super) fn clock(sent: SystemTime, after: Duration) -> String {
    humantime::format_rfc3339_seconds(sent + after).to_string()
}

/// Each with how far it is indented.
fn ends(plan: &Plan, sent: Option<SystemTime>) -> Vec<(&'static str, Line)> {
    let mut lines: Vec<_> = end(&plan.usual, plan, sent).into_iter().map(|line| ("", line)).collect();
    let is_dead = |course: &Course| matches!(course.end, End::DeadLetter { .. });
    let usual = is_dead(&plan.usual);
    for (course, word) in [(&plan.shortest, "shortest"), (&plan.longest, "longest")] {
        if is_dead(course) != usual {
            lines.push(("", format!("with the {word} delays that the jitter allows:").into()));
            lines.extend(end(course, plan, sent).into_iter().map(|line| ("  ", line)));
        }
    }
    if plan.has_jitter() && [&plan.shortest, &plan.longest].into_iter().all(is_dead) {
        let (earliest, latest) = (span::words(plan.shortest.end.at()), span::words(plan.longest.end.at()));
        lines.push(("", format!("with the jitter, dead letter after {earliest} to {latest}").into()));
    }
    lines
}

fn end(course: &Course, plan: &Plan, sent: Option<SystemTime>) -> Vec<Line> {
    let after = |time: Duration| {
        let at = sent.map_or(String::new(), |sent| format!(", at {}", clock(sent, time)));
        format!("after {}{at}", span::words(time))
    };
    let (dead, by, expires) = match course.end {
        End::DeadLetter { at, by, letter_expires } => (at, by, letter_expires),
        End::Expired { at } => {
            let made = match plan.terms.max_receive_count {
                Some(max) => format!("{} of {}", course.count, counted(max as usize, "delivery")),
                None => counted(course.count, "delivery"),
            };
            let lost = format!("expired {}: SQS deletes the message, and there is no dead letter", after(at));
            return vec![Line::styled(BAD, lost).and(format!(" ({made})"))];
        }
    };
    let is_moved = by == LastDelivery::RedrivePolicy;
    let how = if is_moved { "moved by the redrive policy" } else { "written by the function" };
    let told = format!("dead letter {}, {how}", after(dead));
    let why = match (is_moved, plan.terms.is_fifo) {
        (true, false) => "SQS counts from when the message was sent",
        (true, true) => "a FIFO queue counts from when the letter was moved",
        (false, _) => "the letter is a new message",
    };
    let expiry = match expires {
        None => "letter expires: the retention of the dead-letter queue is unknown".into(),
        Some(at) if at <= dead => {
            let lost = format!("letter expires {}, before it is written: it is never visible", after(at));
            Line::styled(BAD, lost).and(format!(" ({why})"))
        }
        Some(at) => format!("letter expires {} ({why})", after(at)).into(),
    };
    vec![told.into(), expiry]
}

#[cfg(test)]
mod tests;
