//! Log lines of functions, by the ids that the lines name. Pure.

use std::collections::{BTreeMap, HashMap, VecDeque};

use serde::Serialize;

/// Most bytes that are kept in all, and of one line.
const MOST_BYTES: usize = 16 << 20;
const LONGEST_LINE: usize = 8 << 10;

/// Length of a UUID in characters.
const ID: usize = 36;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct LogLine {
    pub(super) at: f64,
    pub(super) function: String,
    pub(super) line: String,
}

/// The latest lines, with an index by id.
#[derive(Debug, Default)]
pub(super) struct Logs {
    next: u64,
    bytes: usize,
    lines: BTreeMap<u64, LogLine>,
    by_id: HashMap<String, VecDeque<u64>>,
}

impl Logs {
    pub(super) fn add(&mut self, at: f64, function: &str, line: &str) {
        let line: String = line.chars().take(LONGEST_LINE).collect();
        for id in ids(&line) {
            self.by_id.entry(id.to_owned()).or_default().push_back(self.next);
        }
        self.bytes += line.len();
        self.lines.insert(self.next, LogLine { at, function: function.to_owned(), line });
        self.next += 1;
        while self.bytes > MOST_BYTES
            && let Some((number, gone)) = self.lines.pop_first()
        {
            self.forget(number, &gone);
        }
    }

    /// Returns the lines that name a message or a request, in order.
    pub(super) fn of(&self, id: &str) -> Vec<&LogLine> {
        let numbers = self.by_id.get(id).into_iter().flatten();
        numbers.filter_map(|number| self.lines.get(number)).collect()
    }

    fn forget(&mut self, number: u64, gone: &LogLine) {
        self.bytes -= gone.line.len();
        for id in ids(&gone.line) {
            if let Some(numbers) = self.by_id.get_mut(id) {
                numbers.retain(|each| *each != number);
                if numbers.is_empty() {
                    self.by_id.remove(id);
                }
            }
        }
    }
}

/// Returns the different UUIDs in a line.
fn ids(line: &str) -> Vec<&str> {
    let is_part = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    let words = line.split(|character: char| !character.is_ascii() || !is_part(character as u8));
    let mut ids: Vec<&str> = words.filter(|word| is_id(word)).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

fn is_id(word: &str) -> bool {
    let is_dash = |index: usize| matches!(index, 8 | 13 | 18 | 23);
    word.len() == ID && word.bytes().enumerate().all(|(index, byte)| (byte == b'-') == is_dash(index))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "85a172fa-0000-4000-8000-000000000001";
    const TWO: &str = "85a172fa-0000-4000-8000-000000000002";

    #[test]
    fn a_line_is_found_by_each_id_that_it_names() {
        let mut logs = Logs::default();
        logs.add(1.0, "f", &format!(r#"{{"message_id":"{ONE}","request_id":"{TWO}","again":"{ONE}"}}"#));
        logs.add(2.0, "f", &format!("ünrelated {TWO}0 and {TWO}"));
        logs.add(3.0, "f", "no id: 85a172fa-0000");
        let times = |id: &str| logs.of(id).iter().map(|line| line.at).collect::<Vec<_>>();
        assert_eq!((times(ONE), times(TWO), times("x")), (vec![1.0], vec![1.0, 2.0], vec![]));
    }

    #[test]
    fn the_oldest_lines_go_when_they_are_too_many() {
        let mut logs = Logs::default();
        let line = format!("{ONE} {}", "x".repeat(LONGEST_LINE));
        for at in 0..(MOST_BYTES / LONGEST_LINE + 10) {
            logs.add(at as f64, "f", &line);
        }
        assert!(logs.bytes <= MOST_BYTES && logs.of(ONE).len() == logs.lines.len());
        assert_eq!(logs.of(ONE)[0].at, 10.0);
    }
}
