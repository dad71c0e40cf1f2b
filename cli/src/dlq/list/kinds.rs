//! Letters counted by reason and error. Pure.

use std::collections::BTreeMap;
use std::time::SystemTime;

use anstyle::Style;

use crate::dlq::letter::Letter;
use crate::dlq::when::ago;
use crate::escape::{cut, padded, width};
use crate::output::Line;
use crate::width::{Layout, Width};

/// More kinds than anybody reads.
const MOST: usize = 1_000;
const PRINTED: usize = 20;
/// What a line shows of a text at most, unless there is a terminal with other room.
const ERROR: usize = 70;
const LEAST_ERROR: usize = 20;
const REASON: usize = 24;
const WIDE: usize = 200;
/// What stands before the reason and behind it.
const NUMBERS: usize = 25;
const GAP: usize = 2;

#[derive(Debug, Default)]
pub(super) struct Kinds {
    kinds: BTreeMap<(String, String), Kind>,
    /// Letters of further kinds.
    others: usize,
}

#[derive(Debug)]
struct Kind {
    /// The error, as long as all have the same.
    error: Option<String>,
    count: usize,
    oldest: Option<SystemTime>,
    newest: Option<SystemTime>,
}

impl Kinds {
    pub(super) fn add(&mut self, letter: &Letter) {
        let key = (letter.reason().to_owned(), outline(letter.error()));
        if !self.kinds.contains_key(&key) && self.kinds.len() >= MOST {
            self.others += 1;
            return;
        }
        let sent = letter.sent_at();
        let kind = self.kinds.entry(key).or_insert_with(|| Kind {
            error: Some(letter.error().to_owned()),
            count: 0,
            oldest: sent,
            newest: sent,
        });
        kind.count += 1;
        kind.error = kind.error.take().filter(|error| error == letter.error());
        kind.oldest = kind.oldest.min(sent).or(kind.oldest).or(sent);
        kind.newest = kind.newest.max(sent);
    }

    /// The most frequent first, a line each, or two where a line has no room for an error. `silent` is said of letters
    /// without a note.
    pub(super) fn lines(&self, now: SystemTime, silent: &str, layout: Layout) -> Vec<Line> {
        let mut kinds: Vec<_> = self.kinds.iter().collect();
        kinds.sort_by_key(|(_, kind)| std::cmp::Reverse(kind.count));
        let age = |time: Option<SystemTime>| time.map_or_else(|| "-".to_owned(), |time| ago(time, now));
        let reason_most = if layout == Layout::Wide { WIDE } else { REASON };
        let widths = kinds.iter().map(|((reason, _), _)| width(&cut(reason, reason_most)));
        let reason_width = widths.max().unwrap_or(0).max("REASON".len());
        let error_most = match layout {
            Layout::Wide => WIDE,
            Layout::Fit(Width::Elsewhere) => ERROR,
            Layout::Fit(Width::Terminal(columns)) => {
                match columns.checked_sub(NUMBERS + reason_width + GAP).filter(|room| *room >= LEAST_ERROR) {
                    Some(room) => room,
                    None => return self.stacked(&kinds, now, silent, columns),
                }
            }
        };
        let head = format!("LETTERS  OLDEST  NEWEST  {:<reason_width$}  ERROR", "REASON");
        let mut lines = vec![Line::styled(Style::new().bold(), head)];
        for ((reason, outline), kind) in kinds.iter().take(PRINTED) {
            let error = kind.error.as_deref().unwrap_or(outline);
            let error = if error.is_empty() { silent } else { error };
            let line = format!(
                "{:>7}  {:>6}  {:>6}  {}  {}",
                kind.count,
                age(kind.oldest),
                age(kind.newest),
                padded(cut(reason, reason_most), reason_width),
                cut(error, error_most)
            );
            lines.push(line.trim_end().into());
        }
        lines.extend(self.rest(&kinds).map(|rest| format!("{rest:>7}  of other kinds").into()));
        lines
    }

    fn stacked(
        &self,
        kinds: &[(&(String, String), &Kind)],
        now: SystemTime,
        silent: &str,
        columns: usize,
    ) -> Vec<Line> {
        let age = |time: Option<SystemTime>| time.map_or_else(|| "-".to_owned(), |time| ago(time, now));
        let mut lines = Vec::new();
        for ((reason, outline), kind) in kinds.iter().take(PRINTED) {
            let error = kind.error.as_deref().unwrap_or(outline);
            let error = if error.is_empty() { silent } else { error };
            let head = match kind.count {
                1 => format!("1 letter, {} old", age(kind.oldest)),
                count => format!("{count} letters, {} to {} old", age(kind.newest), age(kind.oldest)),
            };
            lines.push(Line::styled(Style::new().bold(), cut(&head, columns)));
            let why = if error.is_empty() { reason.clone() } else { format!("{reason}: {error}") };
            let why = cut(&why, columns.saturating_sub(2));
            lines.extend((!why.is_empty()).then(|| format!("  {why}").into()));
        }
        lines.extend(
            self.rest(kinds).map(|rest| cut(&format!("{rest} letters of other kinds"), columns).into()),
        );
        lines
    }

    /// Letters of kinds that are not printed, if there are any.
    fn rest(&self, kinds: &[(&(String, String), &Kind)]) -> Option<usize> {
        let rest = kinds.iter().skip(PRINTED).map(|(_, kind)| kind.count).sum::<usize>() + self.others;
        (rest > 0).then_some(rest)
    }
}

/// An error without what differs from message to message: `order A-17 costs 450 cents` and `order B-2 costs 1 cents`
/// are of one kind.
fn outline(error: &str) -> String {
    let mut outline = String::new();
    for word in error.split_inclusive(|c: char| c.is_whitespace() || "\"'`,:;()[]{}<>=".contains(c)) {
        let bare = word.trim_end_matches(|c: char| c.is_whitespace() || "\"'`,:;()[]{}<>=".contains(c));
        if bare.chars().any(|c| c.is_ascii_digit()) {
            outline.push('#');
            outline.push_str(&word[bare.len()..]);
        } else {
            outline.push_str(word);
        }
    }
    outline
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use aws_sdk_sqs::types::{Message, MessageAttributeValue, MessageSystemAttributeName};

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
            "" => message,
            _ => message.message_attributes("redrive.dead-letter", note.build().unwrap()),
        };
        Letter::new(message.build())
    }

    #[test]
    fn letters_are_counted_by_reason_and_by_what_their_errors_have_in_common() {
        let mut kinds = Kinds::default();
        for (reason, error, sent) in [
            ("rejected", "order A-1: 450 cents", 0),
            ("", "", 60),
            ("rejected", "order B-2: 1 cents", 3_600),
            ("panic", "code 500", 7_200),
            ("rejected", "order A-1: 450 cents", 7_200),
            ("panic", "code 500", 7_100),
        ] {
            kinds.add(&letter(reason, error, sent));
        }
        let lines = kinds.lines(SystemTime::UNIX_EPOCH + Duration::from_secs(7_260), "no note", ELSEWHERE);
        assert_eq!(
            lines.iter().map(|line| line.plain() + "\n").collect::<String>(),
            "LETTERS  OLDEST  NEWEST  REASON          ERROR\n      3   2h 1m      1m  rejected        order #: # cents\n      \
             2  2m 40s      1m  panic           code 500\n      1      2h      2h  redrive-policy  no note\n"
        );
    }

    #[test]
    fn a_terminal_without_room_for_the_error_gets_two_lines_a_kind() {
        let mut kinds = Kinds::default();
        for sent in [0, 3_600] {
            kinds.add(&letter("rejected", "card refused, card refused, card refused", sent));
        }
        kinds.add(&letter("panic", "", 60));
        let lines = |columns| -> Vec<String> {
            let layout = Layout::Fit(Width::Terminal(columns));
            let lines = kinds.lines(SystemTime::UNIX_EPOCH + Duration::from_secs(7_200), "", layout);
            lines.iter().map(Line::plain).collect()
        };
        assert_eq!(lines(60)[1], "      2      2h      1h  rejected  card refused, card refus…");
        assert_eq!(
            lines(40),
            [
                "2 letters, 1h to 2h old",
                "  rejected: card refused, card refused,…",
                "1 letter, 1h 59m old",
                "  panic"
            ]
        );
        for columns in 1..80 {
            assert!(lines(columns).iter().all(|line| width(line) <= columns), "{columns}");
        }
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
    fn an_outline_keeps_the_words_and_drops_what_has_a_digit() {
        for (error, expected) in [
            ("", ""),
            ("card refused", "card refused"),
            ("order 7f3e-11 (tenant a1): no \"item 5\"", "order # (tenant #): no \"item #\""),
            ("é2: ü", "#: ü"),
        ] {
            assert_eq!(outline(error), expected);
        }
    }

    #[test]
    fn endless_kinds_end_in_a_sum() {
        let mut kinds = Kinds::default();
        for number in 0..2_000_usize {
            // Without a digit, each is a kind of its own.
            kinds.add(&letter("rejected", &"x".repeat(number), 0));
        }
        let lines = kinds.lines(SystemTime::UNIX_EPOCH, "", ELSEWHERE);
        assert_eq!((lines.len(), lines[21].plain().as_str()), (22, "   1980  of other kinds"));
    }
}
