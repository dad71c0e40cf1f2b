//! Formats the schedule for people: a row for each attempt, and the end. Pure.

use std::time::Duration;

use anstyle::{AnsiColor, Style};
use redrive::LastDelivery;

use super::course::{Course, End, Row, Schedule};
use super::known::Consumer;
use crate::counted::counted;
use crate::output::Line;
use crate::span;
use crate::width::Width;

const BAD: Style = AnsiColor::Red.on_default();

pub(super) fn text(schedule: &Schedule, width: Width) -> Vec<Line> {
    let wrap = |line: Line| width.wrap("", "  ", line);
    let above = [heading(schedule), rule(schedule), String::new()].map(Line::from).into_iter().flat_map(wrap);
    let table = table(&schedule.rows()).into_iter().map(Line::from);
    let below = [Line::default()].into_iter().chain(ends(schedule)).flat_map(wrap);
    above.chain(table).chain(below).collect()
}

fn heading(schedule: &Schedule) -> String {
    let known = &schedule.known;
    let kind = if schedule.is_fifo { "FIFO" } else { "standard" };
    let deliveries = match known.max_receive_count {
        Some(max) => counted(max as usize, "delivery"),
        None => "no redrive policy".to_owned(),
    };
    let letters = known.dead_letter_retention.map(|kept| format!(", dead letters {}", span::words(kept)));
    format!(
        "{} ({kind}): {deliveries}; messages are kept for {}{}",
        known.name,
        span::words(known.retention),
        letters.unwrap_or_default()
    )
}

fn rule(schedule: &Schedule) -> String {
    match &schedule.known.consumer {
        Consumer::Redrive => "retries wait for redrive's backoff".to_owned(),
        Consumer::Other(since) => {
            let timeout = span::words(schedule.known.visibility_timeout);
            format!("retries wait for the visibility timeout of {timeout}, since {since}")
        }
    }
}

fn table(rows: &[Row]) -> Vec<String> {
    let titles = ["attempt", "comes after", "then waits"].map(str::to_owned);
    let cells: Vec<_> = std::iter::once(titles).chain(rows.iter().map(row)).collect();
    let widths =
        [0, 1, 2].map(|column: usize| cells.iter().map(|row| row[column].len()).max().unwrap_or_default());
    let line = |[number, after, waits]: &[String; 3]| {
        let [first, second, third] = widths;
        format!("  {number:>first$}  {after:>second$}  {waits:>third$}").trim_end().to_owned()
    };
    cells.iter().map(line).collect()
}

fn row(row: &Row) -> [String; 3] {
    let waits = row.delays.map_or("-".to_owned(), |(shortest, longest)| range(shortest, Some(longest)));
    [row.number.to_string(), range(row.earliest, row.latest), waits]
}

/// Formats a range, without an end if there may be none.
fn range(first: Duration, last: Option<Duration>) -> String {
    let words = span::words(first);
    match last {
        None => format!("from {words}"),
        Some(last) if last == first => words,
        Some(last) => format!("{words} to {}", span::words(last)),
    }
}

fn ends(schedule: &Schedule) -> Vec<Line> {
    let mut lines = end(schedule, &schedule.usual);
    if schedule.has_jitter() {
        for (delays, course) in [("shortest", &schedule.shortest), ("longest", &schedule.longest)] {
            let end = end(schedule, course).swap_remove(0);
            lines.push(Line::from(format!("with the {delays} delays: ")).and(end));
        }
    }
    lines
}

/// Describes the end of the message and of its letter.
fn end(schedule: &Schedule, course: &Course) -> Vec<Line> {
    let after = |time: Duration| format!("after {}", span::words(time));
    let (dead, by, expires) = match course.end {
        End::DeadLetter { at, by, letter_expires } => (at, by, letter_expires),
        End::Expired { at } => {
            let made = match schedule.known.max_receive_count {
                Some(max) => format!("{} of {}", course.count, counted(max as usize, "delivery")),
                None => counted(course.count, "delivery"),
            };
            let lost = format!("expired {}: SQS deletes the message, and there is no dead letter", after(at));
            return vec![Line::styled(BAD, lost).and(format!(" ({made})"))];
        }
    };
    let is_moved = by == LastDelivery::RedrivePolicy;
    let how = if is_moved { "moved by the redrive policy" } else { "written by the function" };
    let why = match (is_moved, schedule.is_fifo) {
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
    vec![format!("dead letter {}, {how}", after(dead)).into(), expiry]
}
