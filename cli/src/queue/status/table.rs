//! A report for people. Pure.

use std::fmt::Write;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use redrive_sqs::queue_name;

use super::report::{Alarm, QueueReport, Report, What};
use crate::output::Line;
use crate::queue::mappings::Mapping;
use crate::span::span;

const LABEL: usize = 22;

/// What a row says of a queue.
type Cell = fn(&QueueReport) -> String;

/// Lines, with colors.
pub(super) fn table(report: &Report) -> Vec<Line> {
    let mut lines = queues(report);
    lines.push(Line::default());
    lines.extend(parts(report));
    lines
}

fn queues(report: &Report) -> Vec<Line> {
    let columns: Vec<&QueueReport> = report.queue.iter().chain(&report.dead_letter_queue).collect();
    let is_dead = |index: usize| report.queue.is_none() || index == 1;
    let rows: [(&str, Cell); 7] = [
        ("", |queue| queue.name.clone()),
        ("visible", |queue| queue.visible.to_string()),
        ("in flight", |queue| queue.in_flight.to_string()),
        ("delayed", |queue| queue.delayed.to_string()),
        ("oldest", oldest),
        ("retention", |queue| seconds(queue.retention_seconds)),
        ("visibility timeout", |queue| seconds(queue.visibility_timeout_seconds)),
    ];
    let width = |queue: &&QueueReport| rows.iter().map(|(_, cell)| cell(queue).chars().count()).max();
    let widths: Vec<usize> = columns.iter().map(|queue| width(queue).unwrap_or_default()).collect();
    let line = |(label, cell): (&str, Cell)| {
        columns.iter().enumerate().fold(Line::from(format!("{label:<LABEL$}")), |line, (index, queue)| {
            let (gap, width) = (if index == 0 { "" } else { "  " }, widths[index]);
            let cell = format!("{:>width$}", cell(queue));
            line.and(gap).and(Line::styled(style(label, queue, is_dead(index)), cell))
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
    match queue.oldest_seconds {
        Some(age) => seconds(age),
        None if queue.is_empty() => "-".to_owned(),
        None => "unknown".to_owned(),
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

fn parts(report: &Report) -> Vec<Line> {
    let mut parts = Vec::new();
    let mut put = |label: &str, what: Line| parts.push(Line::from(format!("{label:<LABEL$}")).and(what));
    if let Some(queue) = &report.queue {
        put("redrive policy", policy(queue).into());
    }
    if let Some(why) = report.why(What::DeadLetterQueue) {
        put("dead-letter queue", format!("unknown: {why}").into());
    }
    put("first letter expires", expires(report).into());
    if let Some(why) = report.why(What::Ages) {
        put("", why.into());
    }
    let mappings = lines(report.mappings.as_deref(), report.why(What::Mappings), mapping);
    let alarms = lines(report.alarms.as_deref(), report.why(What::Alarms), alarm);
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
        (None, _) if report.why(What::DeadLetterQueue).is_some() => "unknown".to_owned(),
        (None, _) => "no dead-letter queue".to_owned(),
        (Some(dead), _) if dead.is_empty() => "no letters".to_owned(),
        (Some(_), None) => "unknown".to_owned(),
        (Some(_), Some(expiry)) => match (expiry.earliest_in_seconds, expiry.latest_in_seconds) {
            (earliest, latest) if earliest == latest => format!("in {}", seconds(latest)),
            (0, latest) => format!("within {}", seconds(latest)),
            (earliest, latest) => format!("in {} to {}", seconds(earliest), seconds(latest)),
        },
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
