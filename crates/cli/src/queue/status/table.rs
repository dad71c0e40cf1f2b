//! Formats a report for people. Pure.

use std::fmt::Write;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use redrive_sqs::queue_name;

use super::report::{Alarm, Earlier, QueueReport, Report, Source, UnreadPart};
use crate::escape::{cut, width};
use crate::output::Line;
use crate::queue::mappings::Mapping;
use crate::span::span;
use crate::width::{Layout, Width};

const LABEL: usize = 22;
/// Least columns for a value beside its label. With less, it goes below.
const LEAST_VALUE: usize = 38;
/// Length of the longest name of a queue.
const NAME: usize = 80;

/// A row's text for a queue.
type Cell = fn(&QueueReport) -> String;

/// Formats the report with colors. Source and dead letters are side by side if there is room.
pub(super) fn table(report: &Report, layout: Layout) -> Vec<Line> {
    let columns = match layout {
        Layout::Fit(Width::Terminal(columns)) => columns,
        Layout::Fit(Width::Elsewhere) | Layout::Wide => usize::MAX,
    };
    let mut lines = queues(report, columns);
    lines.push(Line::default());
    let (is_wide, indent) = (columns >= LABEL + LEAST_VALUE, " ".repeat(LABEL));
    for (label, value) in parts(report) {
        lines.extend(match (is_wide, label) {
            (true, label) if columns == usize::MAX => vec![Line::from(format!("{label:<LABEL$}")).and(value)],
            (true, label) => value.fit(columns, &format!("{label:<LABEL$}"), &indent),
            (false, "") => value.fit(columns, "  ", "    "),
            (false, label) => [vec![cut(label, columns).into()], value.fit(columns, "  ", "    ")].concat(),
        });
    }
    lines
}

fn queues(report: &Report, most: usize) -> Vec<Line> {
    let columns: Vec<&QueueReport> = report.queue.iter().chain(&report.dead_letter_queue).collect();
    let is_dead = |index: usize| report.queue.is_none() || index == 1;
    let rows: [(&str, Cell); 7] = [
        ("", |queue| cut(&queue.name, NAME)),
        ("visible", |queue| queue.visible.to_string()),
        ("in flight", |queue| queue.in_flight.to_string()),
        ("delayed", |queue| queue.delayed.to_string()),
        ("oldest", oldest),
        ("retention", |queue| seconds(queue.retention_seconds)),
        ("visibility timeout", |queue| seconds(queue.visibility_timeout_seconds)),
    ];
    let width = |queue: &&QueueReport| rows.iter().map(|(_, cell)| width(&cell(queue))).max();
    let widths: Vec<usize> = columns.iter().map(|queue| width(queue).unwrap_or_default()).collect();
    let gaps = 2 * columns.len().saturating_sub(1);
    if LABEL + widths.iter().sum::<usize>() + gaps > most {
        let stacked = columns.iter().enumerate().flat_map(|(index, queue)| {
            rows.iter().map(move |(label, cell)| {
                let style = style(label, queue, is_dead(index));
                let room = most.saturating_sub(if label.is_empty() { 0 } else { LABEL });
                let cell = Line::styled(style, cut(&cell(queue), room));
                match *label {
                    "" => cell,
                    label => Line::from(cut(&format!("  {label:<20}"), most)).and(cell),
                }
            })
        });
        return stacked.collect();
    }
    let line = |(label, cell): (&str, Cell)| {
        columns.iter().enumerate().fold(Line::from(format!("{label:<LABEL$}")), |line, (index, queue)| {
            let cell = cell(queue);
            let blank = widths[index].saturating_sub(self::width(&cell)) + if index == 0 { 0 } else { 2 };
            line.and(" ".repeat(blank)).and(Line::styled(style(label, queue, is_dead(index)), cell))
        })
    };
    rows.into_iter().map(line).collect()
}

fn style(label: &str, queue: &QueueReport, is_dead: bool) -> Style {
    match label {
        "" => Style::new().bold(),
        "visible" if is_dead && queue.visible > 0 => AnsiColor::Yellow.on_default(),
        _ => Style::new(),
    }
}

fn oldest(queue: &QueueReport) -> String {
    match (queue.oldest_seconds, queue.oldest_from) {
        (Some(age), Some(Source::Cloudwatch)) => format!("about {}", seconds(age)),
        (Some(age), Some(Source::PartialLook)) => format!("{} or more", seconds(age)),
        (Some(age), Some(Source::Look) | None) => seconds(age),
        (None, _) if queue.is_empty() => "-".to_owned(),
        (None, _) => "unknown".to_owned(),
    }
}

/// Explains why an age is unknown, with the best known one.
fn unknown_age(queue: &QueueReport, is_dead: bool) -> Option<String> {
    if queue.oldest_seconds.is_some() || queue.is_empty() {
        return None;
    }
    let mut why = match is_dead {
        true => "CloudWatch has no age yet, or looking at letters has hidden it".to_owned(),
        false => "CloudWatch leaves out messages received 3 times or more".to_owned(),
    };
    if let Some(Earlier { seconds: age, seconds_ago }) = queue.last_known_oldest {
        let _ = write!(
            why,
            "; {} ago it was {}, if that message is still there",
            seconds(seconds_ago),
            seconds(age)
        );
    }
    Some(if is_dead { why + "; --look shows it" } else { why })
}

/// Describes how reliable the age from a look at the letters is.
fn looked(report: &Report) -> Option<String> {
    let seen = report.letters_seen?;
    match report.dead_letter_queue.as_ref()?.oldest_from {
        Some(Source::Look) => Some(format!("SentTimestamp of all {seen} letters, by this look")),
        Some(Source::PartialLook) => {
            Some(format!("SentTimestamp of the {seen} letters that this look saw; others may be older"))
        }
        Some(Source::Cloudwatch) | None => None,
    }
}

fn policy(queue: &QueueReport) -> String {
    match &queue.redrive_policy {
        Some(policy) => {
            let dead = queue_name(&policy.dead_letter_queue_arn);
            format!("after {} receives to {dead}", policy.max_receive_count)
        }
        None => "none: messages that always fail stay until they expire".to_owned(),
    }
}

/// Returns labels with their values. Further lines of a value have no label.
fn parts(report: &Report) -> Vec<(&'static str, Line)> {
    let mut parts: Vec<(&'static str, Line)> = Vec::new();
    let mut put = |label, what: Line| parts.push((label, what));
    if let Some(queue) = &report.queue {
        put("redrive policy", policy(queue).into());
    }
    if let Some(why) = report.why(UnreadPart::DeadLetterQueue) {
        put("dead-letter queue", format!("unknown: {why}").into());
    }
    put("first letter expires", expires(report).into());
    if let Some(why) = report.why(UnreadPart::Ages) {
        put("oldest", format!("unknown: {why}").into());
    } else {
        for (label, queue, is_dead) in
            [("oldest message", &report.queue, false), ("oldest letter", &report.dead_letter_queue, true)]
        {
            if let Some(why) = queue.as_ref().and_then(|queue| unknown_age(queue, is_dead)) {
                put(label, format!("unknown: {why}").into());
            }
        }
    }
    if let Some(how) = looked(report) {
        put("oldest letter", how.into());
    }
    let mappings = lines(report.mappings.as_deref(), report.why(UnreadPart::Mappings), mapping);
    let alarms = lines(report.alarms.as_deref(), report.why(UnreadPart::Alarms), alarm);
    for (label, lines) in [("mapping", mappings), ("alarm", alarms)] {
        for (index, line) in lines.into_iter().enumerate() {
            put(if index == 0 { label } else { "" }, line);
        }
    }
    parts
}

fn lines<T>(items: Option<&[T]>, why: Option<&str>, line: impl Fn(&T) -> Line) -> Vec<Line> {
    match items {
        None => vec![format!("unknown: {}", why.unwrap_or("not read")).into()],
        Some([]) => vec!["none".into()],
        Some(items) => items.iter().map(line).collect(),
    }
}

fn expires(report: &Report) -> String {
    match (&report.dead_letter_queue, report.first_letter_expires) {
        (None, _) if report.why(UnreadPart::DeadLetterQueue).is_some() => "unknown".to_owned(),
        (None, _) => "no dead-letter queue".to_owned(),
        (Some(dead), _) if dead.is_empty() => "no letters".to_owned(),
        (Some(_), None) => "unknown".to_owned(),
        (Some(_), Some(expiry)) => expiry.words(),
    }
}

fn mapping(mapping: &Mapping) -> Line {
    let style = match mapping.state.as_str() {
        "Enabled" => AnsiColor::Green.on_default(),
        _ => AnsiColor::Yellow.on_default(),
    };
    let mut line = format!("  {}", mapping.function);
    if let Some(size) = mapping.batch_size {
        let _ = write!(line, "  batches of {size}");
    }
    if let Some(most) = mapping.maximum_concurrency {
        let _ = write!(line, ", at most {most} at once");
    }
    Line::styled(style, &mapping.state).and(line).and(format!("  {}", mapping.uuid))
}

fn alarm(alarm: &Alarm) -> Line {
    let style = match alarm.state.as_str() {
        "OK" => AnsiColor::Green.on_default(),
        "ALARM" => AnsiColor::Red.on_default().bold(),
        _ => AnsiColor::Yellow.on_default(),
    };
    let since = alarm.since.as_deref().map(|since| format!("  since {since}")).unwrap_or_default();
    let span = alarm.for_seconds.map(|span| format!(" ({})", seconds(span))).unwrap_or_default();
    let state = Line::styled(style, format!("{:<17}", alarm.state));
    state.and(format!("  {}{since}{span}", alarm.name))
}

fn seconds(seconds: u64) -> String {
    span(Duration::from_secs(seconds))
}
