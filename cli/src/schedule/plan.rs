//! Three courses of one message: with the shortest delays that the jitter allows, the usual and the longest. Pure.

use std::time::Duration;

use super::course::{Attempt, Course, Terms};

/// What there is to show.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) name: String,
    pub(super) terms: Terms,
    pub(super) usual: Course,
    pub(super) shortest: Course,
    pub(super) longest: Course,
}

/// An attempt with what the jitter makes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) number: usize,
    pub(super) attempt: Attempt,
    /// The delay at its least and at its most; none if redrive dead-letters the message.
    pub(super) delays: Option<(Duration, Duration)>,
    /// When it begins at the earliest and at the latest; the latter is none if the message may be gone before.
    pub(super) begins: (Duration, Option<Duration>),
}

impl Plan {
    pub(super) fn of(name: String, terms: Terms) -> Self {
        let [shortest, usual, longest] = [0.0, 0.5, 1.0].map(|random| Course::of(&terms, random));
        Self { name, terms, usual, shortest, longest }
    }

    pub(super) fn has_jitter(&self) -> bool {
        self.shortest != self.longest
    }

    pub(super) fn rows(&self) -> Vec<Row> {
        let row = |(index, attempt): (usize, &Attempt)| {
            let (shortest, longest) = (self.shortest.attempts.get(index), self.longest.attempts.get(index));
            let least = shortest.and_then(|attempt| attempt.delay).or(attempt.delay);
            let most = longest.and_then(|attempt| attempt.delay).or(attempt.delay);
            Row {
                number: index + 1,
                attempt: *attempt,
                delays: least.zip(most),
                begins: (
                    shortest.map_or(attempt.at, |attempt| attempt.at),
                    longest.map(|attempt| attempt.at),
                ),
            }
        };
        self.usual.attempts.iter().enumerate().map(row).collect()
    }

    /// The latest of the ends.
    pub(super) fn last(&self) -> Duration {
        self.usual.end.at().max(self.longest.end.at())
    }
}
