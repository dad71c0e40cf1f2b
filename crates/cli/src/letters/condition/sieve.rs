//! Conditions at work on one letter after the other, and what is to be said of them in the end. Pure.

use std::collections::BTreeSet;
use std::time::SystemTime;

use redrive_sqs::cut_to;

use super::{Condition, Conditions};
use crate::letters::letter::Letter;

/// So many reasons are named.
const REASONS: usize = 10;

/// Whether a letter is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    Fails,
    /// The letter has no note, and nobody looked into the function's log.
    Unknown,
    Holds,
}

/// What was met of the fields that conditions name.
#[derive(Debug)]
pub(crate) struct Sieve {
    conditions: Conditions,
    /// For each condition: whether a letter had its field.
    met: Vec<bool>,
    letters: usize,
    unknown: u64,
    reasons: BTreeSet<String>,
}

impl Sieve {
    pub(crate) fn new(conditions: Conditions) -> Self {
        let met = vec![false; conditions.0.len()];
        Self { conditions, met, letters: 0, unknown: 0, reasons: BTreeSet::new() }
    }

    /// The worst verdict of a condition: one that fails needs no log.
    pub(crate) fn judge(&mut self, letter: &Letter, now: SystemTime) -> Verdict {
        self.letters += 1;
        for (condition, met) in self.conditions.0.iter().zip(&mut self.met) {
            *met |= condition.field.find(letter, now).is_some();
        }
        if self.reasons.len() <= REASONS
            && self.conditions.0.iter().any(|condition| condition.field.is_reason())
        {
            self.reasons.insert(cut_to(letter.reason(), 64).into_owned());
        }
        let verdicts = self.conditions.0.iter().map(|condition| condition.judge(letter, now));
        let verdict = verdicts.min().unwrap_or(Verdict::Holds);
        self.unknown += u64::from(verdict == Verdict::Unknown);
        verdict
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.conditions.is_empty()
    }

    pub(crate) fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    /// Letters of which nobody knows; one that was judged twice counts twice.
    pub(crate) fn unknown(&self) -> u64 {
        self.unknown
    }

    /// Fields that no letter has: perhaps a slip.
    pub(crate) fn absent(&self) -> Vec<String> {
        let conditions = self.conditions.0.iter().zip(&self.met);
        let is_odd =
            |condition: &Condition| condition.field.is_of_sender() && !condition.claim.is_of_presence();
        let absent = conditions.filter(|(condition, met)| self.letters > 0 && !**met && is_odd(condition));
        let line = |condition: &Condition| {
            let absent = format!("no letter received has {}", cut_to(condition.field_name(), 100));
            match condition.claim.is_negative() {
                true => format!("{absent}, so {} holds for all of them", cut_to(&condition.text, 100)),
                false => absent,
            }
        };
        absent.map(|(condition, _)| line(condition)).collect()
    }

    /// `reasons here: malformed, panic`, if a condition is about them.
    pub(crate) fn reasons(&self) -> Option<String> {
        let named: Vec<&str> = self.reasons.iter().take(REASONS).map(String::as_str).collect();
        let more = if self.reasons.len() > REASONS { ", ..." } else { "" };
        (!named.is_empty()).then(|| format!("reasons here: {}{more}", named.join(", ")))
    }
}

/// What to tell of so many letters that a condition could not judge, and how the log is asked.
pub(crate) fn without_note(count: u64, advice: &str) -> Option<String> {
    let what = match count {
        0 => return None,
        1 => "1 letter has no note, so its error is unknown and it was not selected".to_owned(),
        _ => format!("{count} letters have no note, so their errors are unknown and they were not selected"),
    };
    Some(format!("{what}: {advice}"))
}
