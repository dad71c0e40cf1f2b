//! Limits messages that share a key, with a token bucket for each key.

use std::time::Duration;

use crate::Time;
use crate::names::{ByName, Secret};
use crate::pacing::rate::Rate;
use crate::pacing::tokens::Bucket;

/// The decision about messages of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RateAdmission {
    Start,
    /// They wait in the worker until then.
    Park(Time),
    /// They return to the queue for this time.
    Return(Duration),
}

/// Messages that start one after the other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidates {
    pub(crate) messages: usize,
    /// True if they may have returned to the queue before, to wait for their turn.
    pub(crate) came_before: bool,
    /// True if one of them must not return to the queue, because it would not be delivered again.
    pub(crate) must_stay: bool,
    /// The time until which they may wait in the worker, if it has room for them.
    pub(crate) may_wait_until: Option<Time>,
}

#[derive(Debug, Clone)]
pub(crate) struct KeyedLimiter {
    rate: Rate,
    keys: ByName<Key>,
}

#[derive(Debug, Clone)]
struct Key {
    bucket: Bucket,
    /// The end of the turns of messages that returned to the queue. Others queue up behind them.
    line_until: Time,
}

impl Key {
    fn new(rate: Rate, now: Time) -> Self {
        Self { bucket: Bucket::full_at(&rate, now), line_until: Time::ZERO }
    }
}

impl KeyedLimiter {
    pub(crate) const fn new(rate: Rate, secret: Secret) -> Self {
        Self { rate, keys: ByName::new(secret) }
    }

    /// Decides when these messages may start, and takes their tokens unless they return to the queue.
    pub(crate) fn turn(&mut self, name: &str, candidates: Candidates, now: Time) -> RateAdmission {
        let Candidates { messages, came_before, must_stay, may_wait_until } = candidates;
        let rate = self.rate;
        // From then on it is like an unknown key.
        let matters_until = |key: &Key| key.bucket.is_full_at(&rate).max(key.line_until);
        let key = self.keys.get_or_insert(name, || Key::new(rate, now), matters_until);
        let next = key.bucket.holds_at(1, &rate).max(now);
        let is_in_line = !came_before && key.line_until > now;
        let may_wait = may_wait_until.is_some_and(|until| next <= until && (must_stay || !is_in_line));
        if next <= now && !is_in_line || must_stay && !may_wait {
            // Messages over the rate take no tokens, so that others do not have to make up for them.
            if next <= now {
                key.bucket.take(messages, &rate, now);
            }
            return RateAdmission::Start;
        }
        if may_wait {
            key.bucket.take(messages, &rate, now);
            return RateAdmission::Park(next);
        }
        let turn = next.max(key.line_until);
        key.line_until = turn.saturating_add(rate.time_for(messages));
        RateAdmission::Return(turn.saturating_sub(now))
    }

    /// Returns for each key when its bucket is full, and when the turns of returned messages end.
    #[cfg(test)]
    pub(crate) fn each(&self) -> impl Iterator<Item = (Time, Time)> {
        self.keys.values().map(|key| (key.bucket.is_full_at(&self.rate), key.line_until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::MOST;

    const fn at(seconds: u64) -> Time {
        Duration::from_secs(seconds)
    }

    const NEW: Candidates =
        Candidates { messages: 1, came_before: false, must_stay: false, may_wait_until: None };

    fn turns() -> KeyedLimiter {
        KeyedLimiter::new(Rate::per_second(1).burst(1), Secret::FOR_TESTS)
    }

    #[test]
    fn messages_without_a_token_are_parked_or_returned() {
        let (mut turns, waits) = (turns(), Candidates { may_wait_until: Some(at(2)), ..NEW });
        assert_eq!(turns.turn("a", waits, at(0)), RateAdmission::Start);
        assert_eq!(turns.turn("a", waits, at(0)), RateAdmission::Park(at(1)));
        assert_eq!(turns.turn("b", waits, at(0)), RateAdmission::Start, "another key");
        assert_eq!(turns.turn("a", NEW, at(0)), RateAdmission::Return(at(2)), "there is no room");
        assert_eq!(
            turns.turn("a", waits, at(0)),
            RateAdmission::Return(at(3)),
            "behind the one that went back"
        );
    }

    #[test]
    fn messages_that_went_back_have_their_turns_before_new_ones() {
        let (mut turns, returned) = (turns(), Candidates { came_before: true, ..NEW });
        assert_eq!(turns.turn("a", NEW, at(0)), RateAdmission::Start);
        assert_eq!(
            [1, 2, 3].map(|after| (turns.turn("a", NEW, at(0)), RateAdmission::Return(at(after)))),
            [
                (RateAdmission::Return(at(1)), RateAdmission::Return(at(1))),
                (RateAdmission::Return(at(2)), RateAdmission::Return(at(2))),
                (RateAdmission::Return(at(3)), RateAdmission::Return(at(3)))
            ]
        );
        assert_eq!(turns.turn("a", NEW, at(1)), RateAdmission::Return(at(3)));
        assert_eq!(
            [1, 2, 3, 4].map(|second| turns.turn("a", returned, at(second))),
            [RateAdmission::Start; 4]
        );
        assert_eq!(turns.turn("a", NEW, at(5)), RateAdmission::Start, "none is in line any more");
    }

    #[test]
    fn a_message_that_must_stay_starts_if_it_cannot_wait() {
        let mut turns = turns();
        assert_eq!(
            turns.turn("a", Candidates { messages: 10, ..NEW }, at(0)),
            RateAdmission::Start,
            "a group"
        );
        let last = Candidates { must_stay: true, ..NEW };
        assert_eq!(turns.turn("a", last, at(0)), RateAdmission::Start);
        let until = |second| Candidates { may_wait_until: Some(at(second)), ..last };
        assert_eq!(
            turns.turn("a", until(10), at(0)),
            RateAdmission::Park(at(10)),
            "the one before has taken no token"
        );
        assert_eq!(turns.turn("a", until(10), at(0)), RateAdmission::Start);
    }

    #[test]
    fn a_sender_with_more_keys_than_are_known_does_not_delay_a_new_customer() {
        let mut turns = KeyedLimiter::new(Rate::per_hour(10), Secret::FOR_TESTS);
        for number in 0..10_080 {
            turns.turn(&format!("made up {number}"), NEW, at(number * 29 / 10_080));
        }
        assert_eq!(turns.turn("a new customer", NEW, at(29)), RateAdmission::Start);
    }

    #[test]
    fn the_limiter_keeps_the_keys_with_the_latest_turns() {
        let mut turns = turns();
        for _ in 0..20 {
            turns.turn("busy", NEW, at(0));
        }
        (0..10 * MOST)
            .for_each(|number| assert_eq!(turns.turn(&number.to_string(), NEW, at(1)), RateAdmission::Start));
        assert!(turns.each().count() <= MOST && !std::mem::needs_drop::<Key>(), "no key allocates");
        assert_eq!(turns.turn("busy", NEW, at(1)), RateAdmission::Return(at(19)));
    }
}
