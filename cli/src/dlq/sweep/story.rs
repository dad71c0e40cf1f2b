//! What a run says: of each letter, and in the end.

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::super::escape::escape_terminal;
use super::super::letter::Letter;
use super::calls::Failed;
use super::ledger::Why;
use super::tally::Tally;

/// How often to say how far it is where there is no bar.
const NOW_AND_THEN: Duration = Duration::from_secs(10);

/// So many failures are told one by one; the rest are counted.
const TOLD: u64 = 20;

/// How to talk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Talk {
    /// A line for each letter as JSON.
    Json,
    /// Problems and a sum.
    Plain,
}

/// What is done to the letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    Send,
    Delete,
    /// Either, as somebody says of each.
    Ask,
}

#[derive(Debug)]
pub(crate) struct Story {
    talk: Talk,
    deed: Deed,
    dry_run: bool,
    bar: Option<ProgressBar>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    tally: Tally,
    said: Instant,
    /// Nobody reads any more.
    broken: Option<io::Error>,
}

impl Story {
    /// `expected` is how many letters there are to look at.
    pub(crate) fn new(talk: Talk, deed: Deed, dry_run: bool, with_bar: bool, expected: u64) -> Self {
        let bar = (with_bar && !dry_run && io::stderr().is_terminal()).then(|| bar(expected));
        let state = State { tally: Tally::default(), said: Instant::now(), broken: None };
        Self { talk, deed, dry_run, bar, state: Mutex::new(state) }
    }

    /// It would be sent or deleted.
    pub(crate) fn would(&self, letter: &Letter, group: Option<&str>) {
        self.count(|tally| tally.done += 1);
        let would = match self.deed {
            Deed::Send | Deed::Ask => "would-send",
            Deed::Delete => "would-delete",
        };
        match self.talk {
            Talk::Json => self.json(letter, would, json!({ "group_id": group, "reason": letter.reason() })),
            Talk::Plain => {
                let group = group.map(|group| format!(" group {group}")).unwrap_or_default();
                let line = format!("{}{group} {} {}", letter.id, letter.reason(), letter.error());
                self.line(escape_terminal(&line).trim_end());
            }
        }
    }

    /// It was sent, and then deleted.
    pub(crate) fn sent(&self, letter: &Letter, sent_as: Option<&str>) {
        self.count(|tally| tally.done += 1);
        match self.talk {
            Talk::Plain => (),
            Talk::Json => self.json(letter, "sent", json!({ "sent_as": sent_as })),
        }
        self.now_and_then();
    }

    /// It was deleted, as was asked for.
    pub(crate) fn deleted(&self, letter: &Letter) {
        self.count(|tally| match self.deed {
            Deed::Ask => tally.deleted += 1,
            Deed::Send | Deed::Delete => tally.done += 1,
        });
        match self.talk {
            Talk::Plain => (),
            Talk::Json => self.json(letter, "deleted", json!({})),
        }
        self.now_and_then();
    }

    /// It was deleted, or would be, because another letter of its message was sent.
    pub(crate) fn duplicate(&self, letter: &Letter) {
        let count = self.count(|tally| {
            tally.duplicates += 1;
            tally.duplicates
        });
        let (result, words) = match self.dry_run {
            true => ("would-delete-duplicate", "is a second one of the same message, and would be deleted"),
            false => ("duplicate-deleted", "was a duplicate of the same message and was deleted"),
        };
        match self.talk {
            Talk::Json => self.json(letter, result, json!({})),
            Talk::Plain if count <= TOLD => self.say(&format!("letter {} {words}", letter.id)),
            Talk::Plain => (),
        }
    }

    /// It stays.
    pub(crate) fn left(&self, letter: &Letter, why: Why) {
        self.count(|tally| *tally.left.entry(why).or_default() += 1);
        if self.talk == Talk::Json && why != Why::NotWanted {
            self.json(letter, "left", json!({ "error": why.to_string() }));
        }
    }

    /// It stays though it was asked for by its id.
    pub(crate) fn named_but_left(&self, letter: &Letter, why: Why) {
        self.count(|tally| tally.named_but_left += 1);
        self.say(&format!("letter {} stays: {why}", letter.id));
    }

    /// It was not sent or deleted, and stays.
    pub(crate) fn failed(&self, letter: &Letter, deed: Deed, failed: &Failed) {
        let perhaps = failed.perhaps_done && deed == Deed::Send;
        let count = self.count(|tally| {
            tally.failed += 1;
            tally.perhaps_sent += u64::from(perhaps);
            tally.failed
        });
        let result = if perhaps { "perhaps-sent" } else { "failed" };
        let end = if perhaps { "; it may have been sent anyway" } else { "" };
        if self.talk == Talk::Json {
            self.json(letter, result, json!({ "error": failed.reason }));
        }
        if perhaps || (self.talk == Talk::Plain && count <= TOLD) {
            self.say(&format!("letter {} stays: {}{end}", letter.id, failed.reason));
        }
    }

    /// It was sent, and is still there. Each is told, since someone has to see to it.
    pub(crate) fn possible_duplicate(&self, letter: &Letter, sent_as: Option<&str>, failed: &Failed) {
        self.count(|tally| tally.possible_duplicates += 1);
        let as_what = sent_as.map(|id| format!(" as {id}")).unwrap_or_default();
        if self.talk == Talk::Json {
            let more = json!({ "sent_as": sent_as, "error": failed.reason });
            self.json(letter, "possible-duplicate", more);
        }
        self.say(&format!(
            "possible duplicate: letter {} was sent{as_what} but not deleted: {}",
            letter.id, failed.reason
        ));
    }

    /// It was sent and deleted, but somebody else may have received it in between.
    pub(crate) fn perhaps_taken(&self, letter: &Letter, sent_as: Option<&str>) {
        self.count(|tally| {
            tally.done += 1;
            tally.perhaps_taken += 1;
        });
        let as_what = sent_as.map(|id| format!(" as {id}")).unwrap_or_default();
        let reason = "the hold on it had run out before it was deleted";
        if self.talk == Talk::Json {
            self.json(letter, "possible-duplicate", json!({ "sent_as": sent_as, "error": reason }));
        }
        self.say(&format!("possible duplicate: letter {} was sent{as_what}, but {reason}", letter.id));
    }

    /// It was sent without `redrive.origin`.
    pub(crate) fn without_origin(&self, letter: &Letter) {
        let count = self.count(|tally| {
            tally.without_origin += 1;
            tally.without_origin
        });
        if count <= TOLD {
            self.say(&format!("letter {} has no room for redrive.origin and is sent without it", letter.id));
        }
    }

    /// So many were not even shown.
    pub(crate) fn not_shown(&self, letters: u64) {
        if letters > 0 {
            self.count(|tally| *tally.left.entry(Why::NotShown).or_default() += letters);
        }
    }

    pub(crate) fn looked_at(&self, letters: usize) {
        if let Some(bar) = &self.bar {
            bar.inc(u64::try_from(letters).unwrap_or_default());
        }
    }

    /// Talk, for stderr.
    pub(crate) fn say(&self, line: &str) {
        // Nobody is left to tell if stderr is gone.
        let say = || drop(writeln!(io::stderr(), "redrive: {}", escape_terminal(line)));
        match &self.bar {
            Some(bar) => bar.suspend(say),
            None => say(),
        }
    }

    /// What there is to say in the end, with the sum.
    pub(crate) fn end(self) -> (Tally, Option<io::Error>) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if self.talk == Talk::Json {
            let totals = self.count(|tally| tally.json());
            self.line(&json!({ "totals": totals }).to_string());
        }
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        (state.tally, state.broken)
    }

    /// Whether whoever reads the output has seen enough.
    pub(crate) fn is_broken(&self) -> bool {
        self.with(|state| state.broken.is_some())
    }

    fn json(&self, letter: &Letter, result: &str, more: Value) {
        let mut line = json!({ "id": letter.id, "message_id": letter.message_id(), "result": result });
        if let (Value::Object(line), Value::Object(more)) = (&mut line, more) {
            line.extend(more.into_iter().filter(|(_, value)| !value.is_null()));
        }
        self.line(&line.to_string());
    }

    fn line(&self, line: &str) {
        self.with(|state| {
            if state.broken.is_none() {
                state.broken = writeln!(io::stdout(), "{line}").err();
            }
        });
    }

    fn now_and_then(&self) {
        let due = self.with(|state| {
            let due = self.bar.is_none() && state.said.elapsed() > NOW_AND_THEN;
            if due {
                state.said = Instant::now();
            }
            due.then_some(state.tally.done)
        });
        match (due, self.deed) {
            (Some(done), Deed::Send) => self.say(&format!("{done} sent so far")),
            (Some(done), Deed::Delete) => self.say(&format!("{done} deleted so far")),
            (Some(_), Deed::Ask) | (None, _) => (),
        }
    }

    fn count<T>(&self, count: impl FnOnce(&mut Tally) -> T) -> T {
        self.with(|state| count(&mut state.tally))
    }

    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// On stderr, for a terminal.
pub(crate) fn bar(expected: u64) -> ProgressBar {
    let bar = ProgressBar::new(expected);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} letters {per_sec} {eta}");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
}
