//! Messages of a function that wait for their turn by a rate, as long as there is time.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use super::{BatchLimits, Time};

/// For which part of a batch's time messages wait. Handlers need the rest, and Lambda bills all of it.
const PART: f64 = 0.25;
/// For how long they wait at most if only their key has no token: messages of other keys need the sandbox.
pub(super) const LONGEST_OF_KEY: Duration = Duration::from_secs(2);

#[derive(Debug, Clone)]
pub(super) struct Line {
    /// Until when messages may wait.
    pub(super) until: Time,
    /// Whether SQS can be told when those whose turn is later are to come back.
    pub(super) has_client: bool,
    /// How many handlers run at a time, unless it is a bulk handler.
    places: Option<usize>,
    /// By their turns.
    waiting: BTreeMap<(Time, usize), Waiting>,
}

/// The rest of a lane.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Waiting {
    /// The messages that have tokens.
    pub(super) head: Range<usize>,
    pub(super) rest: Range<usize>,
}

impl Line {
    /// Of a batch that began at this time.
    pub(super) fn new(limits: BatchLimits, began: Time) -> Self {
        let BatchLimits { until, has_client, places, .. } = limits;
        let until = began + until.saturating_sub(began).mul_f64(PART);
        Self { until, has_client, places, waiting: BTreeMap::new() }
    }

    /// A bulk handler gets the messages of a second together.
    pub(super) fn add(&mut self, turn: Time, waiting: Waiting) {
        let turn = if self.places.is_some() { turn } else { Duration::from_secs(turn.as_secs() + 1) };
        self.waiting.insert((turn, waiting.rest.start), waiting);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// When the next may start, if so many run.
    pub(super) fn due_at(&self, running: usize) -> Option<Time> {
        let has_place = self.places.is_none_or(|places| running < places);
        self.waiting.first_key_value().map(|((at, _), _)| *at).filter(|_| has_place)
    }

    /// The next whose turn has come, if so many run.
    pub(super) fn next(&mut self, running: usize, now: Time) -> Option<Waiting> {
        self.due_at(running).filter(|at| *at <= now)?;
        self.waiting.pop_first().map(|(_, waiting)| waiting)
    }

    /// Those that are no longer to wait.
    pub(super) fn remove(&mut self, mut is_removed: impl FnMut(&Waiting) -> bool) -> Vec<Waiting> {
        self.waiting.extract_if(.., |_, waiting| is_removed(waiting)).map(|(_, waiting)| waiting).collect()
    }

    #[cfg(test)]
    pub(super) fn each(&self) -> impl Iterator<Item = (Time, &Waiting)> {
        self.waiting.iter().map(|((at, _), waiting)| (*at, waiting))
    }
}
