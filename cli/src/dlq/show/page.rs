//! A letter on a page for people. Pure.

use std::fmt::Write;
use std::time::SystemTime;

use anstyle::Style;
use aws_sdk_sqs::types::MessageSystemAttributeName as System;
use redrive::{DeadLetter, Origin};

use super::Event;
use crate::dlq::letter::Letter;
use crate::dlq::line::Attribute;
use crate::dlq::pretty::pretty;
use crate::dlq::when::{ago, rfc3339};
use crate::escape::{escape_terminal, escape_terminal_lines};
use crate::find::Queue;
use crate::span::span;

const BOLD: Style = Style::new().bold();

/// All that is known of a letter.
pub(crate) fn page(letter: &Letter, events: Option<&[Event]>, queue: &Queue, now: SystemTime) -> String {
    let mut page = head(&format!("Letter {} in {}", escape_terminal(&letter.id), queue.name()));
    for (name, value) in facts(letter, queue, now).into_iter().filter(|(_, value)| !value.is_empty()) {
        line(&mut page, name, &escape_terminal(&value));
    }
    let own = [DeadLetter::ATTRIBUTE, Origin::ATTRIBUTE];
    let read = [letter.note.is_some(), letter.origin.is_some()];
    let is_told = |name: &str| own.iter().zip(read).any(|(own, read)| *own == name && read);
    let attributes: Vec<_> = letter.attributes.iter().filter(|(name, _)| !is_told(name)).collect();
    if !attributes.is_empty() {
        page.push_str(&head("\nAttributes"));
        for (name, value) in attributes {
            line(&mut page, &escape_terminal(name), &attribute(&Attribute::of(value)));
        }
    }
    match pretty(&letter.body) {
        Some(body) => {
            page.push_str(&head(&format!("\nBody ({} bytes, JSON)", letter.body.len())));
            page.push_str(&escape_terminal_lines(&body));
        }
        None => {
            page.push_str(&head(&format!("\nBody ({} bytes)", letter.body.len())));
            page.push_str(&escape_terminal_lines(&letter.body));
        }
    }
    page.push('\n');
    if let Some(events) = events {
        page.push_str(&history(events));
    }
    page
}

/// What the log says of it.
pub(crate) fn history(events: &[Event]) -> String {
    if events.is_empty() {
        return head("\nHistory: nothing in the log");
    }
    let mut page = head("\nHistory");
    events.iter().for_each(|event| add_event(&mut page, event));
    page
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
        1 => format!("once; it began as {}", origin.message_id),
        redrives => format!("{redrives} times; it began as {}", origin.message_id),
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
        ("group", system(System::MessageGroupId)),
        ("deduplication id", system(System::MessageDeduplicationId)),
        ("trace header", system(System::AwsTraceHeader)),
        ("receive count", system(System::ApproximateReceiveCount)),
    ]
}

fn attribute(attribute: &Attribute) -> String {
    match attribute {
        Attribute::String(text) => escape_terminal(text),
        Attribute::Text { r#type, value } => {
            format!("{} ({})", escape_terminal(value), escape_terminal(r#type))
        }
        Attribute::Binary { r#type, base64 } => format!("{base64} ({}, as base64)", escape_terminal(r#type)),
    }
}

fn add_event(page: &mut String, event: &Event) {
    let attempt = event.attempt.map(|attempt| format!("attempt {attempt}  ")).unwrap_or_default();
    line_of(page, &format!("  {}  {attempt}{}", event.at, escape_terminal(&event.what)));
    let error = match event.exception.as_str() {
        "" => escape_terminal(&event.error),
        exception => format!("{} ({})", escape_terminal(&event.error), escape_terminal(exception)),
    };
    let mut rest = Vec::new();
    if let Some(seconds) = event.back_in_seconds {
        rest.push(format!("back in {seconds} s"));
    }
    if !event.request_id.is_empty() {
        let took =
            event.invocation_milliseconds.map(|took| format!(" took {took:.0} ms")).unwrap_or_default();
        rest.push(format!("invocation {}{took}", escape_terminal(&event.request_id)));
    }
    for detail in [error, rest.join(", ")].iter().filter(|detail| !detail.is_empty()) {
        line_of(page, &format!("      {detail}"));
    }
}

fn line_of(page: &mut String, text: &str) {
    page.push_str(text);
    page.push('\n');
}

fn line(page: &mut String, name: &str, value: &str) {
    // Writing to a String does not fail.
    let _ = writeln!(page, "  {name:<16}  {value}");
}

fn head(text: &str) -> String {
    let (gap, text) = text.strip_prefix('\n').map_or(("", text), |text| ("\n", text));
    format!("{gap}{BOLD}{text}{BOLD:#}\n")
}
