//! Counts letters by reason, and those of a reason by error. Pure.

mod groups;
mod likeness;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::SystemTime;

use anstyle::Style;
use serde::{Deserialize, Serialize};

pub(crate) use self::groups::groups;
use self::likeness::Outline;
use super::letter::Letter;
use crate::counted::thousands;
use crate::escape::{cut, padded, width};
use crate::output::Line;
use crate::span::span;
use crate::tell::letters;
use crate::width::{Layout, Width};

/// Most reasons and most kinds of errors that are counted apart. Nobody reads more.
const MOST_REASONS: usize = 200;
const MOST_KINDS: usize = 100;
const PRINTED_REASONS: usize = 15;
/// Most kinds of errors of a reason in the table. If there are more, kinds that differ only in some words are counted as one.
const PRINTED_KINDS: usize = 5;
/// Characters of an error in a line without a terminal, and the fewest on one.
const ERROR: usize = 70;
const LEAST_ERROR: usize = 20;
const REASON: usize = 24;
const WIDE: usize = 200;
const GAP: usize = 2;
const HEADS: [&str; 3] = ["LETTERS", "OLDEST", "NEWEST"];

#[derive(Debug, Default)]
pub(crate) struct Kinds {
    reasons: BTreeMap<String, Reason>,
    /// Letters of all further reasons.
    others: Group,
}

/// Count and times of some letters.
#[derive(Debug, Default, Clone)]
struct Group {
    count: usize,
    oldest: Option<SystemTime>,
    newest: Option<SystemTime>,
    /// Names of their queues, if there are several.
    queues: BTreeSet<Rc<str>>,
}

#[derive(Debug, Default)]
struct Reason {
    all: Group,
    kinds: Vec<ErrorKind>,
    /// True if there are too many kinds to count further ones apart.
    is_full: bool,
}

#[derive(Debug, Clone)]
struct ErrorKind {
    /// Outline of the first error.
    example: Outline,
    /// The part that all errors have in common.
    outline: Outline,
    /// The error, as long as all letters have the same.
    error: Option<String>,
    group: Group,
}

/// Number of letters with an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ErrorCount {
    pub(crate) reason: String,
    /// The common part of the errors, with `#` for numbers that differ. Empty if no error is known.
    pub(crate) error: String,
    pub(crate) letters: usize,
}

/// A row of the table.
#[derive(Debug)]
struct Row {
    group: Group,
    /// None for a part of the reason above.
    reason: Option<String>,
    error: String,
}

/// Returns true if two errors differ only in numbers.
pub(super) fn is_same_error(one: &str, other: &str) -> bool {
    Outline::of(one) == Outline::of(other)
}

impl Group {
    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.oldest = [self.oldest, other.oldest].into_iter().flatten().min();
        self.newest = self.newest.max(other.newest);
        self.queues.extend(other.queues.iter().cloned());
    }

    fn cells(&self, now: SystemTime) -> [String; 3] {
        let age = |time: Option<SystemTime>| {
            time.map_or_else(|| "-".to_owned(), |time| span(now.duration_since(time).unwrap_or_default()))
        };
        [thousands(self.count), age(self.oldest), age(self.newest)]
    }

    fn queues(&self) -> String {
        self.queues.iter().map(|name| &**name).collect::<Vec<_>>().join(", ")
    }
}

impl Kinds {
    pub(crate) fn add(&mut self, letter: &Letter) {
        self.add_in(letter, None);
    }

    /// Adds a letter of one of several queues.
    pub(crate) fn add_in(&mut self, letter: &Letter, queue: Option<&Rc<str>>) {
        let queues = queue.into_iter().cloned().collect();
        let group = Group { count: 1, oldest: letter.sent_at(), newest: letter.sent_at(), queues };
        let reason = letter.reason();
        if !self.reasons.contains_key(reason) && self.reasons.len() >= MOST_REASONS {
            return self.others.add(&group);
        }
        self.reasons.entry(reason.to_owned()).or_default().add(letter.error(), &group);
    }

    /// Returns the table, the most frequent reason first. Each kind of error has a line, or two if one is too narrow. `silent` is
    /// the error of letters without a note.
    pub(crate) fn lines(&self, now: SystemTime, silent: &str, layout: Layout) -> Vec<Line> {
        let rows = self.rows(silent);
        let cells: Vec<[String; 3]> = rows.iter().map(|row| row.group.cells(now)).collect();
        let reason_most = if layout == Layout::Wide { WIDE } else { REASON };
        let reasons: Vec<String> =
            rows.iter().map(|row| cut(row.reason.as_deref().unwrap_or_default(), reason_most)).collect();
        let widest = |head: &str, texts: &mut dyn Iterator<Item = &String>| {
            texts.map(|text| width(text)).max().unwrap_or(0).max(head.len())
        };
        let widths: [usize; 3] = std::array::from_fn(|column| {
            widest(HEADS[column], &mut cells.iter().map(|cells| &cells[column]))
        });
        let reason_width = widest("REASON", &mut reasons.iter());
        let queues: Vec<String> = rows.iter().map(|row| cut(&row.group.queues(), reason_most)).collect();
        let queue_width = match queues.iter().all(String::is_empty) {
            true => 0,
            false => widest("QUEUE", &mut queues.iter()) + GAP,
        };
        let used = widths.iter().sum::<usize>() + queue_width + reason_width + 4 * GAP;
        let error_most = match layout {
            Layout::Wide => WIDE,
            Layout::Fit(Width::Elsewhere) => ERROR,
            Layout::Fit(Width::Terminal(columns)) => match columns.checked_sub(used) {
                Some(room) if room >= LEAST_ERROR => room,
                Some(_) | None => return stacked(&rows, now, columns),
            },
        };
        let line = |cells: &[String; 3], queue: &str, reason: &str, error: &str| {
            let numbers: String =
                cells.iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}  ")).collect();
            let queue = padded(if queue_width > 0 { queue.to_owned() } else { String::new() }, queue_width);
            format!("{numbers}{queue}{}  {error}", padded(reason.to_owned(), reason_width))
                .trim_end()
                .to_owned()
        };
        let head = line(&HEADS.map(str::to_owned), "QUEUE", "REASON", "ERROR");
        let body = rows.iter().zip(&cells).zip(queues.iter().zip(&reasons)).map(
            |((row, cells), (queue, reason))| {
                let indent = if row.reason.is_none() { "  " } else { "" };
                Line::from(line(
                    cells,
                    queue,
                    reason,
                    &format!("{indent}{}", cut(&row.error, error_most - indent.len())),
                ))
            },
        );
        std::iter::once(Line::styled(Style::new().bold(), head)).chain(body).collect()
    }

    /// Returns the errors of most letters, the most frequent first.
    pub(crate) fn most_frequent(&self, most: usize) -> Vec<ErrorCount> {
        let of_reason = |(name, reason): (&String, &Reason)| {
            let count = |kind: &ErrorKind| ErrorCount {
                reason: cut(name, WIDE),
                error: cut(&kind.outline.text(), WIDE),
                letters: kind.group.count,
            };
            reason.kinds.iter().map(count).collect::<Vec<_>>()
        };
        let mut errors: Vec<ErrorCount> = self.reasons.iter().flat_map(of_reason).collect();
        errors.sort_by_key(|error| Reverse(error.letters));
        errors.truncate(most);
        errors
    }

    fn rows(&self, silent: &str) -> Vec<Row> {
        let mut reasons: Vec<_> = self.reasons.iter().collect();
        reasons.sort_by_key(|(_, reason)| Reverse(reason.all.count));
        let mut others = self.others.clone();
        reasons.iter().skip(PRINTED_REASONS).for_each(|(_, reason)| others.add(&reason.all));
        let printed = reasons.iter().take(PRINTED_REASONS);
        let mut rows: Vec<Row> = printed.flat_map(|(name, reason)| reason.rows(name, silent)).collect();
        if others.count > 0 {
            rows.push(Row { group: others, reason: Some("other reasons".to_owned()), error: String::new() });
        }
        rows
    }
}

impl Reason {
    fn add(&mut self, error: &str, group: &Group) {
        self.all.add(group);
        let outline = Outline::of(error);
        match self.kinds.iter_mut().find(|kind| kind.outline.describes(&outline)) {
            Some(kind) => {
                kind.group.add(group);
                kind.outline = kind.outline.meet(&outline);
                kind.error.take_if(|known| known != error);
            }
            None if self.is_full => (),
            None => {
                let (example, error) = (outline.clone(), Some(error.to_owned()));
                self.kinds.push(ErrorKind { example, outline, error, group: group.clone() });
                if self.kinds.len() == MOST_KINDS {
                    self.kinds = folded(&self.kinds);
                    self.is_full = self.kinds.len() > MOST_KINDS / 2;
                }
            }
        }
    }

    /// Returns one row, or one for the reason above those for each kind of error.
    fn rows(&self, name: &str, silent: &str) -> Vec<Row> {
        let mut kinds = self.kinds.clone();
        if kinds.len() > PRINTED_KINDS {
            kinds = folded(&kinds);
        }
        kinds.sort_by_key(|kind| Reverse(kind.group.count));
        if let [kind] = kinds.as_slice()
            && !self.is_full
        {
            return vec![Row {
                group: self.all.clone(),
                reason: Some(name.to_owned()),
                error: kind.words(silent),
            }];
        }
        let count = format!(
            "{} kinds of errors:",
            if self.is_full { "many".to_owned() } else { thousands(kinds.len()) }
        );
        let mut rows = vec![Row { group: self.all.clone(), reason: Some(name.to_owned()), error: count }];
        let mut rest = self.all.count;
        for kind in kinds.iter().take(PRINTED_KINDS) {
            rest -= kind.group.count;
            rows.push(Row { group: kind.group.clone(), reason: None, error: kind.words(silent) });
        }
        if rest > 0 {
            let mut group = Group::default();
            kinds.iter().skip(PRINTED_KINDS).for_each(|kind| group.add(&kind.group));
            group.count = rest;
            rows.push(Row { group, reason: None, error: "other errors".to_owned() });
        }
        rows
    }
}

impl ErrorKind {
    fn words(&self, silent: &str) -> String {
        match &self.error {
            Some(error) if error.is_empty() => silent.to_owned(),
            Some(error) => error.clone(),
            None => self.outline.text(),
        }
    }
}

/// Merges kinds that differ only in some words, such as names.
fn folded(kinds: &[ErrorKind]) -> Vec<ErrorKind> {
    let mut sorted: Vec<&ErrorKind> = kinds.iter().collect();
    sorted.sort_by(|a, b| (b.group.count, &a.outline).cmp(&(a.group.count, &b.outline)));
    let mut folded: Vec<ErrorKind> = Vec::new();
    for kind in sorted {
        let met = folded.iter_mut().find_map(|other| {
            let outline = other.outline.meet(&kind.outline);
            let is_enough = 2 * outline.fixed() >= other.example.pieces();
            let is_like = other.example.is_like(&kind.example) || other.outline.describes(&kind.outline);
            (is_enough && is_like).then_some((other, outline))
        });
        match met {
            Some((other, outline)) => {
                other.outline = outline;
                other.group.add(&kind.group);
                other.error.take_if(|error| Some(&*error) != kind.error.as_ref());
            }
            None => folded.push(kind.clone()),
        }
    }
    folded
}

fn stacked(rows: &[Row], now: SystemTime, columns: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let inner = columns.saturating_sub(2);
    for row in rows {
        let [count, oldest, newest] = row.group.cells(now);
        let Some(reason) = &row.reason else {
            lines.push(format!("  {}", cut(&format!("{count}: {}", row.error), inner)));
            continue;
        };
        let head = match row.group.count {
            1 => format!("1 letter, {oldest} old"),
            count => format!("{}, {newest} to {oldest} old", letters(count)),
        };
        let why = if row.error.is_empty() { reason.clone() } else { format!("{reason}: {}", row.error) };
        lines.push(cut(&head, columns));
        lines.push(format!("  {}", cut(&why, inner)));
        if !row.group.queues.is_empty() {
            lines.push(format!("  {}", cut(&format!("in {}", row.group.queues()), inner)));
        }
    }
    let is_head = |line: &String| !line.starts_with(' ');
    let styled = |line: String| match is_head(&line) {
        true => Line::styled(Style::new().bold(), line),
        false => Line::from(line.trim_end()),
    };
    lines.into_iter().filter(|line| !line.trim().is_empty()).map(styled).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use aws_sdk_sqs::types::{Message, MessageAttributeValue, MessageSystemAttributeName};
    use proptest::prelude::*;

    use super::*;

    const ELSEWHERE: Layout = Layout::Fit(Width::Elsewhere);

    fn letter(reason: &str, error: &str, sent: u64) -> Letter {
        let note = serde_json::json!({
            "reason": reason, "error": error, "failed_at": "1970-01-01T00:00:00Z", "attempts": 1,
            "message_id": "m", "source": "s",
        });
        let note = MessageAttributeValue::builder().data_type("String").string_value(note.to_string());
        let message = Message::builder()
            .message_id("m")
            .attributes(MessageSystemAttributeName::SentTimestamp, (sent * 1_000).to_string());
        let message = match reason {
            "" => message.attributes(MessageSystemAttributeName::DeadLetterQueueSourceArn, "arn"),
            _ => message.message_attributes("redrive.dead-letter", note.build().unwrap()),
        };
        Letter::new(message.build())
    }

    #[test]
    fn a_reason_without_end_or_width_makes_no_line_wide() {
        let mut kinds = Kinds::default();
        for reason in ["\u{301}".repeat(70_000), "x".repeat(70_000), "rejected".to_owned()] {
            kinds.add(&letter(&reason, &reason, 0));
        }
        for line in kinds.lines(SystemTime::UNIX_EPOCH, "", ELSEWHERE) {
            assert!(line.plain().len() < 1_000, "{}", line.plain().len());
        }
    }

    #[test]
    fn endless_kinds_end_in_a_sum() {
        let mut kinds = Kinds::default();
        for number in 0..2_000_usize {
            // Each text without a digit is a separate kind.
            kinds.add(&letter("rejected", &"x".repeat(number), 0));
        }
        let lines: Vec<_> =
            kinds.lines(SystemTime::UNIX_EPOCH, "", ELSEWHERE).iter().map(Line::plain).collect();
        assert_eq!(lines.len(), 8, "{lines:#?}");
        assert!(
            lines[1].ends_with("rejected  many kinds of errors:") && lines[1].contains("2,000 "),
            "{lines:#?}"
        );
        assert!(lines[7].ends_with("other errors") && lines[7].contains("1,995 "), "{lines:#?}");
    }

    fn lines_of(kinds: &Kinds, now: u64, layout: Layout) -> Vec<String> {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(now);
        kinds.lines(now, "no note", layout).iter().map(Line::plain).collect()
    }

    #[test]
    fn the_letters_of_a_reason_stand_together_below_their_sum() {
        let mut kinds = Kinds::default();
        for (reason, error, times) in [
            ("rejected", "card refused", 3),
            ("panic", "no key", 4),
            ("malformed", "", 1),
            ("rejected", "card expired", 1_200),
        ] {
            (0..times).for_each(|_| kinds.add(&letter(reason, error, 0)));
        }
        assert_eq!(
            lines_of(&kinds, 1_209_000, ELSEWHERE),
            [
                "LETTERS   OLDEST   NEWEST  REASON     ERROR",
                "  1,203  13d 23h  13d 23h  rejected   2 kinds of errors:",
                "  1,200  13d 23h  13d 23h               card expired",
                "      3  13d 23h  13d 23h               card refused",
                "      4  13d 23h  13d 23h  panic      no key",
                "      1  13d 23h  13d 23h  malformed  no note",
            ]
        );
        assert_eq!(
            lines_of(&kinds, 1_209_000, Layout::Fit(Width::Terminal(40))),
            [
                "1,203 letters, 13d 23h to 13d 23h old",
                "  rejected: 2 kinds of errors:",
                "  1,200: card expired",
                "  3: card refused",
                "4 letters, 13d 23h to 13d 23h old",
                "  panic: no key",
                "1 letter, 13d 23h old",
                "  malformed: no note",
            ]
        );
    }

    #[test]
    fn many_errors_of_a_reason_that_differ_in_names_are_few_rows() {
        let names =
            ["Alice Smith", "Bob Jones", "Carol", "Dave Piet van Dyk", "Eve Adams", "Zoë Öz", "Mallory"];
        let mut kinds = Kinds::default();
        for number in 0..833 {
            let name = names[number % names.len()];
            let path = name.replace(' ', "-");
            let error = match number % 2 {
                0 => format!("the customer {name} has no address in order {number}"),
                _ => format!(
                    "https://bank.example/v1/customers/{path}/cards/{number}: timed out after {number} ms"
                ),
            };
            kinds.add(&letter("rejected", &error, 0));
        }
        let lines = lines_of(&kinds, 60, Layout::Wide);
        assert_eq!(
            lines[1..],
            [
                "    833      1m      1m  rejected  2 kinds of errors:",
                "    417      1m      1m              the customer … has no address in order #",
                "    416      1m      1m              https://bank.example/v1/customers/…/cards/#: timed out after # ms",
            ]
        );
    }

    #[test]
    fn a_thousand_names_are_one_row_too() {
        let mut kinds = Kinds::default();
        let name = |number: u32| -> String {
            (0..4).map(|place| char::from(b'a' + (number >> (3 * place) & 7) as u8)).collect()
        };
        (0..3_000).for_each(|number| {
            kinds.add(&letter("rejected", &format!("there is no customer {}", name(number)), 0))
        });
        let lines = lines_of(&kinds, 60, ELSEWHERE);
        assert_eq!(lines[1..], ["  3,000      1m      1m  rejected  there is no customer …"]);
    }

    #[test]
    fn reasons_without_end_end_in_a_sum() {
        let mut kinds = Kinds::default();
        (0..1_000).for_each(|number| kinds.add(&letter(&format!("code-{number}"), "no", 0)));
        let lines = lines_of(&kinds, 60, ELSEWHERE);
        assert_eq!((lines.len(), lines[16].as_str()), (17, "    985      1m      1m  other reasons"));
    }

    proptest! {
        #[test]
        fn every_letter_is_counted_once_and_no_line_is_wider_than_the_terminal(
            errors in proptest::collection::vec(("[a-c]{1,2}", "[a-d1 :/]{0,12}"), 1..60), columns in 20_usize..150,
            queue in proptest::option::of("[a-z-]{1,80}"),
        ) {
            let mut kinds = Kinds::default();
            let queue = queue.map(Rc::from);
            errors.iter().for_each(|(reason, error)| kinds.add_in(&letter(reason, error, 0), queue.as_ref()));
            let rows = kinds.rows("");
            let sum = |is: fn(&Row) -> bool| rows.iter().filter(|row| is(row)).map(|row| row.group.count).sum::<usize>();
            prop_assert_eq!(sum(|row| row.reason.is_some()), errors.len());
            prop_assert!(sum(|row| row.reason.is_none()) <= errors.len());
            for line in lines_of(&kinds, 60, Layout::Fit(Width::Terminal(columns))) {
                prop_assert!(width(&line) <= columns, "{columns}: {line:?}");
            }
        }
    }
}
