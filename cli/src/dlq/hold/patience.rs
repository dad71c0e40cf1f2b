//! How long to go on asking for letters while AWS refuses to hand them out. Pure.

use std::time::{Duration, Instant};

/// The shortest and the longest pause between two calls.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(15);

/// Shared by all who receive: an answer to one of them is an answer.
#[derive(Debug)]
pub(super) struct Patience {
    most: Duration,
    /// When the first of the calls began that were refused one after the other.
    since: Option<Instant>,
}

/// What to do after a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Wait {
        pause: Duration,
        /// How long this may go on; only after the first refusal, which is worth a word.
        first: Option<Duration>,
    },
    /// It has been refused for so long.
    GiveUp(Duration),
}

impl Patience {
    pub(super) fn new(most: Duration) -> Self {
        Self { most, since: None }
    }

    /// A call that began then was refused. The pauses double, since each is as long as all before.
    pub(super) fn refused(&mut self, began: Instant, now: Instant) -> Next {
        let first = self.since.is_none().then_some(self.most);
        let past = now.saturating_duration_since(*self.since.get_or_insert(began));
        match self.most.checked_sub(past) {
            Some(rest) if !rest.is_zero() => {
                Next::Wait { pause: past.clamp(SHORTEST, LONGEST).min(rest), first }
            }
            _ => Next::GiveUp(past),
        }
    }

    pub(super) fn answered(&mut self) {
        self.since = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_end_after_a_minute_of_nothing_but_refusals() {
        let began = Instant::now();
        let mut patience = Patience::new(Duration::from_secs(60));
        let mut now = began;
        let mut pauses = Vec::new();
        while let Next::Wait { pause, first } = patience.refused(now, now) {
            assert_eq!(first.is_some(), pauses.is_empty());
            pauses.push(pause.as_secs());
            now += pause;
            assert!(pauses.len() < 100);
        }
        assert_eq!(pauses, [1, 1, 2, 4, 8, 15, 15, 14]);
        assert_eq!(now - began, Duration::from_secs(60));
    }

    #[test]
    fn an_answer_begins_it_anew() {
        let (began, minute) = (Instant::now(), Duration::from_secs(60));
        let mut patience = Patience::new(minute);
        patience.refused(began, began);
        patience.answered();
        let next = patience.refused(began + minute, began + minute);
        assert_eq!(next, Next::Wait { pause: SHORTEST, first: Some(minute) });
    }

    #[test]
    fn a_call_that_took_a_minute_to_be_refused_was_enough() {
        let (began, minute) = (Instant::now(), Duration::from_secs(60));
        assert_eq!(Patience::new(minute).refused(began, began + minute), Next::GiveUp(minute));
    }
}
