//! Formats a letter for people. Pure.

use std::fmt::Display;
use std::time::SystemTime;

use anstyle::Style;
use aws_sdk_sqs::types::MessageSystemAttributeName as System;
use redrive::{DeadLetter, Origin};

use super::Event;
use super::payload::Payload;
use crate::dlq::letter::Letter;
use crate::dlq::line::Attribute;
use crate::dlq::pretty::pretty;
use crate::dlq::when::{ago, rfc3339};
use crate::find::Queue;
use crate::output::Line;
use crate::span::span;

const BOLD: Style = Style::new().bold();

/// Formats everything that is known about a letter.
pub(crate) fn page(letter: &Letter, events: Option<&[Event]>, queue: &Queue, now: SystemTime) -> Vec<Line> {
    let mut page = vec![head(format!("Letter {} in {}", letter.id, queue.name()))];
    let facts = facts(letter, queue, now);
    page.extend(facts.iter().filter(|(_, value)| !value.is_empty()).map(|(name, value)| line(name, value)));
    let own = [DeadLetter::ATTRIBUTE, Origin::ATTRIBUTE];
    let read = [letter.note.is_some() || letter.restored.is_some(), letter.origin.is_some()];
    let is_shown = |name: &str| own.iter().zip(read).any(|(own, read)| *own == name && read);
    let attributes: Vec<_> = letter.attributes.iter().filter(|(name, _)| !is_shown(name)).collect();
    if !attributes.is_empty() {
        page.extend([Line::default(), head("Attributes")]);
        page.extend(attributes.iter().map(|(name, value)| line(name, &attribute(&Attribute::of(value)))));
    }
    page.extend(text("Body", &letter.body));
    if let Some(events) = events {
        page.push(Line::default());
        page.extend(history(events));
    }
    page
}

/// Formats a text under a headline.
pub(super) fn text(name: &str, text: &str) -> Vec<Line> {
    let (kind, lines) = of_sender(text);
    let head = [Line::default(), head(format!("{name} ({} bytes{kind})", text.len()))];
    head.into_iter().chain(lines).collect()
}

/// Returns the kind of a sender's text, and its lines, with JSON indented. Each begins with a bar, so that none passes for
/// a line of redrive.
pub(crate) fn of_sender(text: &str) -> (&'static str, Vec<Line>) {
    let (kind, lines) = match pretty(text) {
        Some(lines) => (", JSON", lines),
        None => ("", text.to_owned()),
    };
    (kind, Line::each_of(&lines).map(|line| Line::from("│ ").and(line)).collect())
}

/// Formats the history from the log.
pub(crate) fn history(events: &[Event]) -> Vec<Line> {
    if events.is_empty() {
        return vec![head("History: no log lines found")];
    }
    std::iter::once(head("History")).chain(events.iter().flat_map(lines)).collect()
}

fn facts(letter: &Letter, queue: &Queue, now: SystemTime) -> Vec<(&'static str, String)> {
    let system = |name| letter.system(&name).unwrap_or_default().to_owned();
    let past = |time: SystemTime| format!("{} ({} ago)", rfc3339(time), ago(time, now));
    let past = |time: Option<SystemTime>| time.map(past).unwrap_or_default();
    let future = |time: SystemTime| {
        format!("{} (in {})", rfc3339(time), span(time.duration_since(now).unwrap_or_default()))
    };
    let message = if letter.message_id() == letter.id { "" } else { letter.message_id() };
    let origin = letter.origin.as_ref().map(|origin| match origin.redrives {
        1 => format!("once; its first id was {}", origin.message_id),
        redrives => format!("{redrives} times; its first id was {}", origin.message_id),
    });
    vec![
        ("reason", letter.reason().to_owned()),
        ("error", letter.error().to_owned()),
        ("exception", letter.exception().to_owned()),
        ("attempts", letter.attempts().map(|attempts| attempts.to_string()).unwrap_or_default()),
        ("function", letter.function().to_owned()),
        ("request id", letter.request_id().to_owned()),
        ("source", letter.source().unwrap_or_default().to_owned()),
        ("message id", message.to_owned()),
        ("sent", past(letter.sent_at())),
        ("failed", past(letter.note.as_ref().map(|note| note.failed_at))),
        ("in queue since", past(letter.enqueued_at())),
        ("expires", letter.expires_at(queue.retention()).map(future).unwrap_or_default()),
        ("sent back", origin.unwrap_or_default()),
        ("body in S3", Payload::of(letter).map(|payload| payload.place()).unwrap_or_default()),
        ("group", system(System::MessageGroupId)),
        ("deduplication id", system(System::MessageDeduplicationId)),
        ("trace header", system(System::AwsTraceHeader)),
        ("receive count", system(System::ApproximateReceiveCount)),
    ]
}

fn attribute(attribute: &Attribute) -> String {
    match attribute {
        Attribute::String(text) => text.clone(),
        Attribute::Text { r#type, value } => format!("{value} ({type})"),
        Attribute::Binary { r#type, base64 } => format!("{base64} ({type}, as base64)"),
    }
}

fn lines(event: &Event) -> Vec<Line> {
    let attempt = event.attempt.map(|attempt| format!("attempt {attempt}  ")).unwrap_or_default();
    let error = match event.exception.as_str() {
        "" => event.error.clone(),
        exception => format!("{} ({exception})", event.error),
    };
    let mut rest = Vec::new();
    if let Some(seconds) = event.back_in_seconds {
        rest.push(format!("back in {seconds} s"));
    }
    if !event.request_id.is_empty() {
        let took =
            event.invocation_milliseconds.map(|took| format!(" took {took:.0} ms")).unwrap_or_default();
        rest.push(format!("invocation {}{took}", event.request_id));
    }
    let details = [error, rest.join(", ")].into_iter().filter(|detail| !detail.is_empty());
    let first = format!("  {}  {attempt}{}", event.at, event.what);
    std::iter::once(first).chain(details.map(|detail| format!("      {detail}"))).map(Line::from).collect()
}

fn line(name: &str, value: &str) -> Line {
    format!("  {name:<16}  {value}").into()
}

fn head(text: impl Display) -> Line {
    Line::styled(BOLD, text)
}
