//! Applies conditions to letters, and collects remarks about the fields. Pure.

use std::collections::BTreeSet;
use std::time::SystemTime;

use redrive_sqs::cut_to;

use super::{Condition, Conditions};
use crate::letters::letter::Letter;

/// Number of reasons in the error if no letter matches.
const REASONS: usize = 10;

/// Result of a condition for a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    Fails,
    /// The letter has no note, and the function's log was not read.
    Unknown,
    Holds,
}

/// Conditions with the fields that letters had so far.
#[derive(Debug)]
pub(crate) struct ConditionFilter {
    conditions: Conditions,
    /// For each condition: true if a letter had its field.
    seen: Vec<bool>,
    letters: usize,
    unknown: u64,
    reasons: BTreeSet<String>,
}

impl ConditionFilter {
    pub(crate) fn new(conditions: Conditions) -> Self {
        let seen = vec![false; conditions.0.len()];
        Self { conditions, seen, letters: 0, unknown: 0, reasons: BTreeSet::new() }
    }

    /// Returns the worst verdict of the conditions. If one fails, the log is not needed.
    pub(crate) fn judge(&mut self, letter: &Letter, now: SystemTime) -> Verdict {
        self.letters += 1;
        for (condition, seen) in self.conditions.0.iter().zip(&mut self.seen) {
            *seen |= condition.field.find(letter, now).is_some();
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

    /// Counts the letters with an unknown verdict. One that was judged twice counts twice.
    pub(crate) fn unknown(&self) -> u64 {
        self.unknown
    }

    /// Returns lines about fields that no letter has, perhaps by a typing error.
    pub(crate) fn absent(&self) -> Vec<String> {
        let conditions = self.conditions.0.iter().zip(&self.seen);
        let is_odd =
            |condition: &Condition| condition.field.is_of_sender() && !condition.claim.is_of_presence();
        let absent = conditions.filter(|(condition, seen)| self.letters > 0 && !**seen && is_odd(condition));
        let line = |condition: &Condition| {
            let absent = format!("no letter received has {}", cut_to(condition.field_name(), 100));
            match condition.claim.is_negative() {
                true => format!("{absent}, so {} holds for all of them", cut_to(&condition.text, 100)),
                false => absent,
            }
        };
        absent.map(|(condition, _)| line(condition)).collect()
    }

    /// Returns `reasons here: malformed, panic` if a condition is about reasons.
    pub(crate) fn reasons(&self) -> Option<String> {
        let named: Vec<&str> = self.reasons.iter().take(REASONS).map(String::as_str).collect();
        let more = if self.reasons.len() > REASONS { ", ..." } else { "" };
        (!named.is_empty()).then(|| format!("reasons here: {}{more}", named.join(", ")))
    }
}

/// Returns a line about letters that a condition could not judge, with advice on how to read the log.
pub(crate) fn without_note(count: u64, advice: &str) -> Option<String> {
    let what = match count {
        0 => return None,
        1 => "1 letter has no note, so its error is unknown and it was not selected".to_owned(),
        _ => format!("{count} letters have no note, so their errors are unknown and they were not selected"),
    };
    Some(format!("{what}: {advice}"))
}
