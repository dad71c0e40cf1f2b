//! What must not be sent for what came before it: on a FIFO queue, a line behind one of its group that was not sent, and
//! one that SQS would take for another line. Pure.

use std::collections::{BTreeMap, HashMap};

use super::parcel::{Entry, Identity, Receiver};
use crate::dlq::escape::escape_terminal;

#[derive(Debug)]
pub(super) struct Gate {
    to: Receiver,
    /// By its group, what was not sent.
    stopped: BTreeMap<String, Stopped>,
    met: HashMap<String, (usize, [u8; 32])>,
}

#[derive(Debug)]
struct Stopped {
    at: usize,
    behind: Vec<usize>,
}

/// What becomes of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pass {
    Goes,
    /// It is the letter of this line once more.
    SameAs(usize),
    /// One of its group was not sent.
    Behind,
    /// SQS would take it for this line's, and drop it.
    Swallowed(usize),
}

impl Gate {
    pub(super) fn new(to: Receiver) -> Self {
        Self { to, stopped: BTreeMap::new(), met: HashMap::new() }
    }

    /// Lines come in their order.
    pub(super) fn pass(&mut self, line: usize, entry: &Entry) -> Pass {
        if let Some(stopped) = self.group(entry).and_then(|group| self.stopped.get_mut(group)) {
            stopped.behind.push(line);
            return Pass::Behind;
        }
        let Some(Identity { id, content }) = entry.identity(&self.to) else { return Pass::Goes };
        match self.met.get(&id) {
            Some((first, same)) if *same == content => Pass::SameAs(*first),
            Some((first, _)) => {
                let first = *first;
                self.stop(line, self.group(entry).map(str::to_owned));
                Pass::Swallowed(first)
            }
            None => {
                self.met.insert(id, (line, content));
                Pass::Goes
            }
        }
    }

    /// The group of an entry, where order matters.
    pub(super) fn group<'entry>(&self, entry: &'entry Entry) -> Option<&'entry str> {
        entry.group_id().filter(|_| self.to.is_fifo())
    }

    /// A line of this group was not sent.
    pub(super) fn stop(&mut self, line: usize, group: Option<String>) {
        if let Some(group) = group.filter(|_| self.to.is_fifo()) {
            self.stopped.entry(group).or_insert(Stopped { at: line, behind: vec![] });
        }
    }

    /// A line that waited is not sent either.
    pub(super) fn stop_behind(&mut self, line: usize, entry: &Entry) {
        if let Some(stopped) = self.group(entry).and_then(|group| self.stopped.get_mut(group)) {
            stopped.behind.push(line);
        }
    }

    /// What is to be said of groups that did not go on, in words for people.
    pub(super) fn told(&self) -> Vec<String> {
        let held_up = self.stopped.iter().filter(|(_, stopped)| !stopped.behind.is_empty());
        let told = held_up.map(|(group, Stopped { at, behind })| {
            let mut behind = behind.clone();
            behind.sort_unstable();
            let (lines, were) = (lines(&behind), if behind.len() == 1 { "was" } else { "were" });
            format!(
                "group {}: line {at} was not sent, so {lines} behind it {were} not either",
                escape_terminal(group)
            )
        });
        told.collect()
    }
}

/// `line 3`, `lines 3, 5 to 8`, from sorted numbers.
pub(super) fn lines(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|one, next| one + 1 == *next).map(|run| match run {
        [one] => one.to_string(),
        [first, .., last] => format!("{first} to {last}"),
        [] => String::new(),
    });
    let runs = runs.collect::<Vec<_>>().join(", ");
    if numbers.len() == 1 { format!("line {runs}") } else { format!("lines {runs}") }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::super::parcel::Parcel;
    use super::*;

    const FIFO: Receiver = Receiver::fifo();

    fn passes(to: Receiver, texts: &[&str]) -> (Vec<Pass>, Gate) {
        let mut gate = Gate::new(to);
        let passes = texts.iter().enumerate().map(|(index, text)| {
            let parcel = Parcel::parse(text.as_bytes()).unwrap();
            gate.pass(index + 1, &parcel.into_entry(&to, SystemTime::now()).unwrap())
        });
        (passes.collect(), gate)
    }

    #[test]
    fn a_line_that_sqs_would_swallow_is_found_and_stops_its_group() {
        let (passes, gate) = passes(
            FIFO,
            &[
                r#"{"body": "1", "group_id": "a", "deduplication_id": "x"}"#,
                r#"{"body": "1", "group_id": "a", "deduplication_id": "x"}"#,
                r#"{"body": "2", "group_id": "b", "deduplication_id": "x"}"#,
                r#"{"body": "3", "group_id": "b", "deduplication_id": "y"}"#,
                r#"{"body": "4", "group_id": "a", "deduplication_id": "z"}"#,
            ],
        );
        assert_eq!(passes, [Pass::Goes, Pass::SameAs(1), Pass::Swallowed(1), Pass::Behind, Pass::Goes]);
        assert_eq!(gate.told(), ["group b: line 3 was not sent, so line 4 behind it was not either"]);
    }

    #[test]
    fn a_deduplication_id_is_the_body_s_where_the_queue_says_so_and_of_a_group_where_it_says_so() {
        let lines = [r#"{"body": "1", "group_id": "a"}"#, r#"{"body": "1", "group_id": "b"}"#];
        let by_content = Receiver::fifo().by_content();
        assert_eq!(passes(by_content, &lines).0, [Pass::Goes, Pass::Swallowed(1)]);
        assert_eq!(passes(by_content.by_group(), &lines).0, [Pass::Goes, Pass::Goes]);
    }

    #[test]
    fn on_a_standard_queue_nothing_stands_in_the_way() {
        let line = r#"{"body": "1", "group_id": "a", "deduplication_id": "x"}"#;
        let (passes, mut gate) = passes(Receiver::standard(), &[line, line]);
        assert_eq!(passes, [Pass::Goes, Pass::Goes]);
        gate.stop(3, Some("a".to_owned()));
        assert_eq!(gate.told(), [""; 0]);
    }

    #[test]
    fn numbers_that_follow_one_another_are_said_in_short() {
        assert_eq!(lines(&[3]), "line 3");
        assert_eq!(lines(&[1, 2, 5, 7, 8, 9]), "lines 1 to 2, 5, 7 to 9");
    }
}
