//! The letters, a line each. Pure but for the width of the terminal.

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use anstyle::Style;

use crate::dlq::letter::Letter;
use crate::dlq::when::ago;
use crate::escape::{cut, width};
use crate::output::{Line, Stream};
use crate::span::span;

/// What a line shows of a text, at most.
const ERROR: usize = 40;
const REASON: usize = 20;
const GROUP: usize = 20;
const BODY: usize = 200;
/// The body's columns if there is no terminal, and the least that it has.
const BODY_ELSEWHERE: usize = 80;
const LEAST_BODY: usize = 20;

/// A letter's line.
#[derive(Debug)]
pub(super) struct Row {
    message_id: String,
    content: [u8; 32],
    id: String,
    sent_at: Option<SystemTime>,
    expires_at: Option<SystemTime>,
    attempts: Option<u32>,
    group: String,
    reason: String,
    error: String,
    body: String,
}

/// The rows that expire first.
#[derive(Debug)]
pub(super) struct Table {
    most: usize,
    rows: Vec<Row>,
    added: usize,
    folded: usize,
    /// Letters of one message are one only if they say the same.
    messages: HashSet<(Box<str>, [u8; 32])>,
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
            group: cut(letter.group().unwrap_or("-"), GROUP),
            reason: cut(letter.reason(), REASON),
            error: cut(if letter.error().is_empty() { "-" } else { letter.error() }, ERROR),
            body: cut(&letter.body, BODY),
        }
    }

    fn cells(&self, now: SystemTime) -> [String; 7] {
        let left = |time: SystemTime| span(time.duration_since(now).unwrap_or_default());
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        [
            self.id.clone(),
            or_dash(self.sent_at.map(|time| ago(time, now))),
            or_dash(self.expires_at.map(left)),
            or_dash(self.attempts.map(|attempts| attempts.to_string())),
            self.group.clone(),
            self.reason.clone(),
            self.error.clone(),
        ]
    }
}

impl Table {
    pub(super) fn new(most: usize) -> Self {
        Self { most, rows: Vec::new(), added: 0, folded: 0, messages: HashSet::new() }
    }

    /// Whether it is the first letter of its message with its content: others are folded into it.
    pub(super) fn add(&mut self, row: Row) -> bool {
        if !self.messages.insert((row.message_id.as_str().into(), row.content)) {
            self.folded += 1;
            return false;
        }
        self.added += 1;
        self.rows.push(row);
        if self.rows.len() > self.most.saturating_mul(2).saturating_add(100) {
            self.shorten();
        }
        true
    }

    pub(super) fn folded(&self) -> usize {
        self.folded
    }

    pub(super) fn rows(&self) -> usize {
        self.added.min(self.most)
    }

    /// The letters that have no line.
    pub(super) fn left_out(&self) -> usize {
        self.added - self.rows()
    }

    /// `body` is how many columns it may take.
    pub(super) fn lines(&mut self, now: SystemTime, body: Option<usize>) -> Vec<Line> {
        self.shorten();
        let rows: Vec<_> = self.rows.iter().map(|row| (row.cells(now), row.body.as_str())).collect();
        let heads = ["ID", "AGE", "LEFT", "ATTEMPTS", "GROUP", "REASON", "ERROR"];
        // A column in which nobody has anything is left out.
        let columns: Vec<(usize, usize)> = (0..heads.len())
            .filter(|&column| column < 4 || rows.iter().any(|(cells, _)| cells[column] != "-"))
            .map(|column| {
                let widest = rows.iter().map(|(cells, _)| width(&cells[column])).max().unwrap_or(0);
                (column, widest.max(heads[column].len()))
            })
            .collect();
        let used: usize = columns.iter().map(|(_, width)| width + 2).sum();
        let body = body.unwrap_or_else(|| body_columns(used));
        let line = |cells: &[String], body: &str| {
            let padded = |&(column, wide): &(usize, usize)| {
                let (cell, blank) = (&cells[column], " ".repeat(wide.saturating_sub(width(&cells[column]))));
                if matches!(column, 1..=3) { format!("{blank}{cell}  ") } else { format!("{cell}{blank}  ") }
            };
            columns.iter().map(padded).collect::<String>() + body
        };
        let head = line(&heads.map(str::to_owned), if body > 0 { "BODY" } else { "" });
        let mut lines = vec![Line::styled(Style::new().bold(), head.trim_end())];
        lines.extend(rows.iter().map(|(cells, start)| line(cells, &cut(start, body)).trim_end().into()));
        lines
    }

    fn shorten(&mut self) {
        self.rows.sort_by_key(|row| row.expires_at);
        self.rows.truncate(self.most);
    }
}

fn body_columns(used: usize) -> usize {
    match Stream::Stdout.size() {
        Some((_, columns)) => columns.saturating_sub(used).max(LEAST_BODY),
        None => BODY_ELSEWHERE,
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};

    use super::*;

    fn letter(id: &str, sent: u64, body: &str) -> Letter {
        let message = Message::builder()
            .message_id(id)
            .body(body)
            .attributes(MessageSystemAttributeName::SentTimestamp, (sent * 1_000).to_string())
            .attributes(MessageSystemAttributeName::ApproximateReceiveCount, "4");
        Letter::new(message.build())
    }

    fn print(letters: &[Letter], most: usize) -> String {
        let mut table = Table::new(most);
        for letter in letters {
            table.add(Row::of(letter, Duration::from_secs(86_400)));
        }
        let lines = table.lines(SystemTime::UNIX_EPOCH + Duration::from_secs(7_200), Some(10));
        lines.iter().map(|line| line.plain() + "\n").collect()
    }

    #[test]
    fn the_letters_that_expire_first_stand_first_and_no_body_steers_the_terminal() {
        let letters =
            [letter("b", 3_600, "{\"n\": 1234567}"), letter("a", 0, "\u{1b}[2Jx"), letter("c", 7_100, "c")];
        assert_eq!(
            print(&letters, 2),
            "ID  AGE  LEFT  ATTEMPTS  REASON          BODY\na    2h   22h         3  redrive-policy  \\u{1b}[2Jx\nb    1h   \
             23h         3  redrive-policy  {\"n\": 123…\n"
        );
    }

    #[test]
    fn two_letters_of_one_message_are_one_line() {
        let mut table = Table::new(10);
        let row = |id, body| Row::of(&letter(id, 0, body), Duration::from_secs(60));
        assert!(table.add(row("a", "x")));
        assert!(!table.add(row("a", "x")));
        assert!(table.add(row("b", "x")));
        assert!(table.add(row("a", "y")), "it names the message and is another");
        assert_eq!((table.folded(), table.rows(), table.left_out()), (1, 3, 0));
    }

    #[test]
    fn of_many_letters_only_the_first_to_expire_are_kept() {
        let mut table = Table::new(3);
        for number in (0..1_000).rev() {
            table.add(Row::of(&letter(&format!("id{number}"), number, "x"), Duration::from_secs(60)));
            assert!(table.rows.len() <= 107);
        }
        assert_eq!((table.rows(), table.left_out()), (3, 997));
        let lines = table.lines(SystemTime::UNIX_EPOCH, Some(0));
        assert!(lines[1].plain().starts_with("id0 "), "{lines:?}");
        assert_eq!(lines.len(), 4);
    }
}
