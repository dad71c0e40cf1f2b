//! What a run says of each letter, and in the end.

use std::io;
use std::time::{Duration, Instant};

use redrive_sqs::cut_to;
use serde_json::{Value, json};

use super::job::Operation;
use super::letter::{Letter, unchecked_origins};
use super::report::Report;
use super::tally::Tally;
use crate::output::{self, Progress, Stream};

/// How often to say how far it is where there is no bar.
const NOW_AND_THEN: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Reporter {
    operation: Operation,
    dry_run: bool,
    json: bool,
    bar: Option<Progress>,
    pub(super) tally: Tally,
    /// When it was last said how far it is.
    said: Instant,
    /// Nobody reads any more.
    pub(super) broken: Option<io::Error>,
}

impl Reporter {
    /// With a bar for so many letters to look at, if there is to be one.
    pub(super) fn new(operation: Operation, dry_run: bool, json: bool, expected: Option<u64>) -> Self {
        let expected = expected.filter(|_| !dry_run && Stream::Stderr.is_terminal());
        let (bar, tally) = (expected.map(bar), Tally::default());
        Self { operation, dry_run, json, bar, tally, said: Instant::now(), broken: None }
    }

    pub(super) fn report(&mut self, letter: &Letter, what: Report<'_>) {
        let count = self.tally.count(what, self.operation);
        if letter.has_unchecked_origin && what.is_sent(self.operation) {
            self.tally.unchecked_origins += 1;
        }
        match what.json(letter, self.operation, self.dry_run) {
            Some((result, more)) if self.json => {
                let mut line =
                    json!({ "id": letter.id, "message_id": letter.message_id(), "result": result });
                if let (Value::Object(line), Value::Object(more)) = (&mut line, more) {
                    line.extend(more.into_iter().filter(|(_, value)| !value.is_null()));
                }
                self.write(|| output::print_json(&line));
            }
            _ if what == Report::Chosen => {
                let group = letter.group().map(|group| format!(" group {group}")).unwrap_or_default();
                let (reason, error) = (cut_to(letter.reason(), 64), cut_to(letter.error(), 256));
                let line = format!("{}{group} {reason} {error}", letter.id);
                self.write(|| output::print(line.trim_end()));
            }
            _ => (),
        }
        if let Some(words) = what.words(&letter.id, self.dry_run).filter(|_| what.is_told(count, self.json)) {
            self.say(&words);
        }
        if matches!(what, Report::Sent(_) | Report::Deleted) {
            self.now_and_then();
        }
    }

    /// Letters that were met for the first time.
    pub(super) fn looked_at(&self, letters: usize) {
        if let Some(bar) = &self.bar {
            bar.advance(u64::try_from(letters).unwrap_or_default());
        }
    }

    /// For stderr.
    pub(super) fn say(&self, line: &str) {
        output::tell(format!("redrive: {line}"));
    }

    /// For stdout: the sum, in the words given or as JSON.
    pub(super) fn end(&mut self, sum: &str) {
        self.bar = None;
        if let Some(line) = unchecked_origins(self.tally.unchecked_origins) {
            self.say(&line);
        }
        match self.json {
            true => {
                let totals = json!({ "totals": self.tally.json() });
                self.write(|| output::print_json(&totals));
            }
            false => self.write(|| output::print(sum)),
        }
    }

    fn write(&mut self, write: impl FnOnce() -> io::Result<()>) {
        if self.broken.is_none() {
            self.broken = write().err();
        }
    }

    fn now_and_then(&mut self) {
        let is_due = self.bar.is_none() && self.said.elapsed() > NOW_AND_THEN;
        let done = match self.operation {
            Operation::Send => "sent",
            Operation::Delete => "deleted",
            Operation::Ask => return,
        };
        if is_due {
            self.said = Instant::now();
            self.say(&format!("{} {done} so far", self.tally.done));
        }
    }
}

pub(crate) fn bar(expected: u64) -> Progress {
    Progress::bar(expected, "{bar:30} {pos} of {len} letters, {rate}/s, {eta} left")
}
