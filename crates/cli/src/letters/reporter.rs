//! Reports the result of each letter, and the totals at the end.

use std::io;
use std::time::{Duration, Instant, SystemTime};

use redrive_sqs::cut_to;
use serde_json::{Value, json};

use super::kinds::Kinds;
use super::letter::{Letter, unchecked_origins};
use super::letter_run::{LetterRun, Mode, Operation};
use super::report::Report;
use super::tally::Tally;
use crate::counted::thousands;
use crate::output::{self, Line, Progress, Stream};
use crate::width::{Layout, Width};

/// Interval between progress lines if there is no bar.
const NOW_AND_THEN: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Reporter {
    operation: Operation,
    mode: Mode,
    json: bool,
    /// Letters that a dry run would send or delete, for people.
    kinds: Kinds,
    bar: Option<Progress>,
    pub(super) tally: Tally,
    /// Time of the last progress line.
    printed: Instant,
    /// The first error of writing to stdout.
    pub(super) broken: Option<io::Error>,
}

impl Reporter {
    /// Creates a reporter, with a bar for the expected letters on a terminal.
    pub(super) fn new(job: &LetterRun, mode: Mode, expected: Option<u64>) -> Self {
        let (operation, json) = (job.work.operation(), job.json);
        let has_bar = mode != Mode::DryRun && Stream::Stderr.is_terminal();
        let (bar, tally, kinds) = (
            expected.filter(|_| has_bar).map(if mode == Mode::Preview { counting } else { bar }),
            Tally::default(),
            Kinds::default(),
        );
        let (printed, broken) = (Instant::now(), None);
        Self { operation, mode, json, kinds, bar, tally, printed, broken }
    }

    pub(super) fn report(&mut self, letter: &Letter, what: Report<'_>) {
        let count = self.tally.count(what, self.operation);
        if letter.has_unchecked_origin && what.is_sent(self.operation) {
            self.tally.unchecked_origins += 1;
        }
        if self.mode == Mode::Preview {
            // A warning helps the user to answer the question.
            let is_warning =
                matches!(what, Report::Failed(_) | Report::SentBefore(_) | Report::WithoutOrigin);
            let words = what.words(&letter.id, true).filter(|_| is_warning && what.is_printed(count, false));
            return words.iter().for_each(|words| self.print_line(words));
        }
        let dry_run = self.mode == Mode::DryRun;
        match what.json(letter, self.operation, dry_run) {
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
                self.kinds.add(letter);
                let (reason, error) = (cut_to(letter.reason(), 64), cut_to(letter.error(), 256));
                let line = format!("{}{group} {reason} {error}", letter.id);
                self.write(|| output::print(line.trim_end()));
            }
            _ => (),
        }
        if let Some(words) = what.words(&letter.id, dry_run).filter(|_| what.is_printed(count, self.json)) {
            self.print_line(&words);
        }
        if matches!(what, Report::Sent(_) | Report::Deleted) {
            self.now_and_then();
        }
    }

    /// Advances the bar by letters that were seen for the first time.
    pub(super) fn looked_at(&self, letters: usize) {
        if let Some(bar) = &self.bar {
            bar.advance(u64::try_from(letters).unwrap_or_default());
        }
    }

    /// Prints a line to stderr.
    pub(super) fn print_line(&self, line: &str) {
        output::tell(format!("redrive: {line}"));
    }

    /// Prints the totals to stdout, in these words or as JSON.
    pub(super) fn end(&mut self, sum: &str) {
        self.bar = None;
        if let Some(line) = unchecked_origins(self.tally.unchecked_origins) {
            self.print_line(&line);
        }
        match self.json {
            true => {
                let totals = json!({ "totals": self.tally.json() });
                self.write(|| output::print_json(&totals));
            }
            false => {
                let layout = Layout::Fit(Width::of(Stream::Stdout));
                let mut lines = match (self.mode == Mode::DryRun, self.tally.done) {
                    (false, _) | (true, 0..=1) => vec![],
                    (true, _) => self.kinds.lines(SystemTime::now(), "no note", layout),
                };
                if !lines.is_empty() {
                    lines.insert(0, Line::default());
                    lines.push(Line::default());
                }
                lines.push(sum.into());
                self.write(|| output::print_all(&lines));
            }
        }
    }

    fn write(&mut self, write: impl FnOnce() -> io::Result<()>) {
        if self.broken.is_none() {
            self.broken = write().err();
        }
    }

    fn now_and_then(&mut self) {
        let is_due = self.bar.is_none() && self.printed.elapsed() > NOW_AND_THEN;
        let done = match self.operation {
            Operation::Send => "sent",
            Operation::Delete => "deleted",
            Operation::Ask => return,
        };
        if is_due {
            self.printed = Instant::now();
            self.print_line(&format!("{} {done} so far", thousands(self.tally.done)));
        }
    }
}

fn counting(expected: u64) -> Progress {
    Progress::bar(expected, "counting {bar:30} {human_pos} of {human_len} letters, {eta} left")
}

pub(crate) fn bar(expected: u64) -> Progress {
    Progress::bar(expected, "{bar:30} {human_pos} of {human_len} letters, {rate}/s, {eta} left")
}
