//! Fits a letter onto a screen. Pure.

use std::time::{Duration, SystemTime};

use anstyle::Style;

use crate::dlq::letter::Letter;
use crate::dlq::show::of_sender;
use crate::dlq::when::ago;
use crate::escape::cut;
use crate::output::Line;
use crate::span::span;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// Fewest lines of the body, even on a small screen.
const LEAST_BODY: usize = 3;
/// Lines for the question, its answer and a space.
const FREE: usize = 4;

/// Size of the terminal in rows and columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Screen {
    pub(super) rows: usize,
    pub(super) columns: usize,
}

/// Shows enough of a letter to decide about it. `place` is its position, as in "3 of 10".
pub(super) fn card(
    letter: &Letter,
    place: &str,
    retention: Duration,
    now: SystemTime,
    screen: Screen,
) -> Vec<Line> {
    let shown = |line: &str| Line::from(cut(line, screen.columns));
    let title = cut(&format!("{place}  {}", letter.id), screen.columns);
    let mut lines = vec![Line::default(), Line::styled(BOLD, title)];
    lines.extend(facts(letter, retention, now).iter().map(|line| shown(line)));
    let body = body(letter);
    let room = screen.rows.saturating_sub(lines.len() + FREE).max(LEAST_BODY);
    // An ellipsis in place of a single line would take as much room.
    let fits = if body.len() <= room { body.len() } else { room - 1 };
    lines.extend(body[..fits].iter().map(|line| shown(&format!("  {}", line.plain()))));
    if fits < body.len() {
        let more = format!("  … {} more lines: press b", body.len() - fits);
        lines.push(Line::styled(DIM, more));
    }
    lines
}

/// Formats the whole body.
pub(super) fn body(letter: &Letter) -> Vec<Line> {
    of_sender(&letter.body).1
}

fn facts(letter: &Letter, retention: Duration, now: SystemTime) -> Vec<String> {
    let mut first = Vec::new();
    first.extend(letter.sent_at().map(|time| format!("{} old", ago(time, now))));
    let left = |time: SystemTime| span(time.duration_since(now).unwrap_or_default());
    first.extend(letter.expires_at(retention).map(|time| format!("{} left", left(time))));
    first.extend(letter.attempts().map(|attempts| match attempts {
        1 => "1 attempt".to_owned(),
        attempts => format!("{attempts} attempts"),
    }));
    first.extend(letter.group().map(|group| format!("group {group}")));
    let exception = match letter.exception() {
        "" => String::new(),
        exception => format!(" ({exception})"),
    };
    let why = match letter.error() {
        "" => letter.reason().to_owned(),
        error => format!("{}: {error}{exception}", letter.reason()),
    };
    let mut note = Vec::new();
    if letter.message_id() != letter.id {
        note.push(format!("message {}", letter.message_id()));
    }
    let named = [("function", letter.function()), ("request", letter.request_id())];
    note.extend(
        named.iter().filter(|(_, value)| !value.is_empty()).map(|(name, value)| format!("{name} {value}")),
    );
    note.extend(letter.origin.as_ref().map(|origin| match origin.redrives {
        1 => "sent back once before".to_owned(),
        redrives => format!("sent back {redrives} times before"),
    }));
    let lines = [first.join(", "), why, note.join(", ")];
    lines.iter().filter(|line| !line.is_empty()).map(|line| format!("  {line}")).collect()
}

#[cfg(test)]
mod tests {
    use aws_sdk_sqs::types::{Message, MessageAttributeValue, MessageSystemAttributeName as System};
    use proptest::prelude::*;
    use redrive::DeadLetter;

    use super::*;
    use crate::escape::width;

    const NOTE: &str = r#"{"reason":"rejected","error":"card refused","exception":"orders::Refused","failed_at":
        "1970-01-01T00:00:30Z","attempts":3,"message_id":"m-1","source":"arn:aws:sqs:eu-west-1:123456789012:orders",
        "function":"shop-orders"}"#;

    fn letter(body: &str) -> Letter {
        let note = MessageAttributeValue::builder().data_type("String").string_value(NOTE).build();
        let message = Message::builder()
            .message_id("l-1")
            .body(body)
            .message_attributes(DeadLetter::ATTRIBUTE, note.unwrap())
            .attributes(System::SentTimestamp, "0")
            .attributes(System::MessageGroupId, "a");
        Letter::new(message.build())
    }

    fn shown(body: &str, rows: usize, columns: usize) -> String {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(7_200);
        let card =
            card(&letter(body), "2 of 7", Duration::from_secs(86_400 * 14), now, Screen { rows, columns });
        card.iter().map(|line| line.plain() + "\n").collect()
    }

    #[test]
    fn a_letter_is_told_in_few_lines() {
        assert_eq!(
            shown(r#"{"order":"A-1"}"#, 40, 80),
            "\n2 of 7  l-1\n  2h old, 13d 22h left, 3 attempts, group a\n  rejected: card refused (orders::Refused)\n  \
             message m-1, function shop-orders\n  │ {\n  │   \"order\": \"A-1\"\n  │ }\n"
        );
    }

    #[test]
    fn a_long_body_is_cut_to_the_screen() {
        let body: Vec<_> = (0..50).map(|n| n.to_string()).collect();
        let card = shown(&body.join("\n"), 20, 80);
        assert!(card.contains("\n  … 40 more lines: press b"), "{card}");
        assert!(card.lines().count() + FREE <= 20, "{card}");
    }

    proptest! {
        #[test]
        fn no_body_leaves_the_screen(body in "[ -~\u{1b}\n\r漢\u{202e}]{0,200}", rows in 16..60_usize, columns in 50..200_usize) {
            let card = shown(&body, rows, columns);
            prop_assert!(card.lines().count() + FREE <= rows + 1);
            for line in card.lines() {
                prop_assert!(width(line) <= columns && !line.chars().any(char::is_control));
            }
        }
    }
}
