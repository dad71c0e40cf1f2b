//! Prints letters with one line each, or several if that is too wide. Pure.

use std::collections::HashSet;
use std::time::SystemTime;

use anstyle::Style;

use super::row::{Fit, KEPT, Row};
use crate::escape::{recut, width};
use crate::output::Line;
use crate::width::{Layout, Width};

/// Columns of the body without a terminal, and its fewest columns on one.
const BODY: usize = 80;
const LEAST_BODY: usize = 20;

/// Head of the last column.
const HEAD: &str = "BODY";
const HEADS: [&str; 7] = ["ID", "AGE", "LEFT", "ATTEMPTS", "GROUP", "REASON", "ERROR"];

/// The rows that expire first.
#[derive(Debug)]
pub(super) struct Table {
    most: usize,
    rows: Vec<Row>,
    added: usize,
    folded: usize,
    /// Letters of the same message count as one only if their contents are equal.
    messages: HashSet<(Box<str>, [u8; 32])>,
}

impl Table {
    pub(super) fn new(most: usize) -> Self {
        Self { most, rows: Vec::new(), added: 0, folded: 0, messages: HashSet::new() }
    }

    /// Returns true if it is the first letter with its message and content. Others are folded into it.
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

    /// Counts the letters that have no line.
    pub(super) fn left_out(&self) -> usize {
        self.added - self.rows()
    }

    /// Fits the table into the columns: with whole ids, else with short ones, else with several lines for each letter. `body`
    /// is the user's limit on columns for the body.
    pub(super) fn lines(&mut self, now: SystemTime, layout: Layout, body: Option<usize>) -> Vec<Line> {
        self.shorten();
        let columns = match layout {
            Layout::Wide => return self.rows_of(now, Fit::Wide, body.unwrap_or(KEPT)),
            Layout::Fit(Width::Elsewhere) => return self.rows_of(now, Fit::Whole, body.unwrap_or(BODY)),
            Layout::Fit(Width::Terminal(columns)) => columns,
        };
        for fit in [Fit::Whole, Fit::ShortIds] {
            let room = columns.checked_sub(self.used(now, fit));
            if let Some(room) = room.filter(|room| *room >= least(body)) {
                return self.rows_of(now, fit, body.unwrap_or(room));
            }
        }
        self.rows.iter().flat_map(|row| row.stacked(now, columns, body)).collect()
    }

    /// Returns true if these lines have shortened ids.
    pub(super) fn has_short_ids(&self, now: SystemTime, layout: Layout, body: Option<usize>) -> bool {
        let Layout::Fit(Width::Terminal(columns)) = layout else { return false };
        let fits = |fit| self.used(now, fit) + least(body) <= columns;
        !fits(Fit::Whole) && fits(Fit::ShortIds)
    }

    /// Returns the columns that are not empty, each with its width.
    fn columns(&self, now: SystemTime, fit: Fit) -> Vec<(usize, usize)> {
        let rows: Vec<_> = self.rows.iter().map(|row| row.cells(now, fit)).collect();
        (0..HEADS.len())
            .filter(|&column| column < 4 || rows.iter().any(|cells| cells[column] != "-"))
            .map(|column| {
                let widest = rows.iter().map(|cells| width(&cells[column])).max().unwrap_or(0);
                (column, widest.max(HEADS[column].len()))
            })
            .collect()
    }

    /// Returns the width of all columns but the body.
    fn used(&self, now: SystemTime, fit: Fit) -> usize {
        self.columns(now, fit).iter().map(|(_, width)| width + 2).sum()
    }

    fn rows_of(&self, now: SystemTime, fit: Fit, body: usize) -> Vec<Line> {
        let columns = self.columns(now, fit);
        let line = |cells: &[String], body: &str| {
            let padded = |&(column, wide): &(usize, usize)| {
                let (cell, blank) = (&cells[column], " ".repeat(wide.saturating_sub(width(&cells[column]))));
                if matches!(column, 1..=3) { format!("{blank}{cell}  ") } else { format!("{cell}{blank}  ") }
            };
            columns.iter().map(padded).collect::<String>() + body
        };
        let head = line(&HEADS.map(str::to_owned), if body > 0 { HEAD } else { "" });
        let mut lines = vec![Line::styled(Style::new().bold(), head.trim_end())];
        let rows = self.rows.iter().map(|row| line(&row.cells(now, fit), &recut(&row.body, body)));
        lines.extend(rows.map(|row| row.trim_end().into()));
        lines
    }

    fn shorten(&mut self) {
        self.rows.sort_by_key(|row| row.expires_at);
        self.rows.truncate(self.most);
    }
}

/// Returns the least width of the last column. With less, the table is not drawn.
fn least(body: Option<usize>) -> usize {
    body.map_or(LEAST_BODY, |body| if body > 0 { body.max(HEAD.len()) } else { 0 })
}

#[cfg(test)]
mod tests {
    use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};
    use proptest::prelude::*;

    use std::time::Duration;

    use super::*;
    use crate::dlq::letter::Letter;

    fn letter(id: &str, sent: u64, body: &str) -> Letter {
        let message = Message::builder()
            .message_id(id)
            .body(body)
            .attributes(MessageSystemAttributeName::SentTimestamp, (sent * 1_000).to_string())
            .attributes(MessageSystemAttributeName::DeadLetterQueueSourceArn, "arn")
            .attributes(MessageSystemAttributeName::ApproximateReceiveCount, "4");
        Letter::new(message.build())
    }

    fn print(letters: &[Letter], most: usize, layout: Layout, body: Option<usize>) -> String {
        let mut table = Table::new(most);
        for letter in letters {
            table.add(Row::of(letter, Duration::from_secs(86_400)));
        }
        let lines = table.lines(SystemTime::UNIX_EPOCH + Duration::from_secs(7_200), layout, body);
        lines.iter().map(|line| line.plain() + "\n").collect()
    }

    const ELSEWHERE: Layout = Layout::Fit(Width::Elsewhere);

    #[test]
    fn the_letters_that_expire_first_come_first_and_bodies_are_escaped() {
        let letters =
            [letter("b", 3_600, "{\"n\": 1234567}"), letter("a", 0, "\u{1b}[2Jx"), letter("c", 7_100, "c")];
        assert_eq!(
            print(&letters, 2, ELSEWHERE, Some(10)),
            "ID  AGE  LEFT  ATTEMPTS  REASON          BODY\na    2h   22h         3  redrive-policy  \\u{1b}[2Jx\nb    1h   \
             23h         3  redrive-policy  {\"n\": 123…\n"
        );
    }

    #[test]
    fn the_table_has_whole_ids_short_ones_or_lines_of_its_own_for_each_letter() {
        let letters =
            [letter("0f6a1c2e-7b1d-4c55-9a51-1f2e3d4c5b6a", 0, "{\"name\": \"漢字漢字漢字漢字漢字漢字\"}")];
        let print = |columns| print(&letters, 10, Layout::Fit(Width::Terminal(columns)), None);
        assert_eq!(
            print(100),
            "ID                                    AGE  LEFT  ATTEMPTS  REASON          BODY\n\
             0f6a1c2e-7b1d-4c55-9a51-1f2e3d4c5b6a   2h   22h         3  redrive-policy  {\"name\": \"漢字漢字漢字漢…\n"
        );
        assert_eq!(
            print(75),
            "ID        AGE  LEFT  ATTEMPTS  REASON          BODY\n\
             0f6a1c2e   2h   22h         3  redrive-policy  {\"name\": \"漢字漢字漢字漢字…\n"
        );
        assert_eq!(
            print(40),
            "0f6a1c2e-7b1d-4c55-9a51-1f2e3d4c5b6a\n  2h old, 22h left, 3 attempts\n  redrive-policy\n  \
             {\"name\": \"漢字漢字漢字漢字漢字漢字\"}\n"
        );
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_terminal(
            id in "[a-f0-9-]{1,40}", body in "[ -~漢字é\u{301}👩‍👧]{0,300}", columns in 1_usize..200,
            most in proptest::option::of(0_usize..100),
        ) {
            let shown = print(&[letter(&id, 0, &body)], 10, Layout::Fit(Width::Terminal(columns)), most);
            for line in shown.lines() {
                prop_assert!(width(line) <= columns, "{columns}: {line:?}");
            }
        }
    }

    #[test]
    fn a_body_of_one_column_has_room_for_its_head() {
        let shown =
            |columns| print(&[letter("a-a0-aa-", 0, "")], 10, Layout::Fit(Width::Terminal(columns)), Some(1));
        assert!(shown(49).starts_with("a-a0-aa-\n"), "{}", shown(49));
        assert!(shown(52).starts_with("ID"), "{}", shown(52));
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
        let lines = table.lines(SystemTime::UNIX_EPOCH, ELSEWHERE, Some(0));
        assert!(lines[1].plain().starts_with("id0 "), "{lines:?}");
        assert_eq!(lines.len(), 4);
    }
}
