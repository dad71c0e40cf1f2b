//! When messages that share a key may start: a token bucket for each key.

use std::collections::HashMap;
use std::time::Duration;

use super::Time;
use super::decide::Policy;
use super::rate::Bucket;
use crate::rate::Rate;

/// How many keys have their own buckets, so that keys without end take no memory without end. All others share one.
const MOST: usize = 10_000;
/// How often keys that have all their tokens are forgotten, while there are too many.
const FORGETS: Duration = Duration::from_secs(1);

/// A wall clock may be set back by less than this, and is then waited for.
const SET_BACK: Duration = Duration::from_secs(1);

/// What follows for messages of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Now,
    /// They wait in the worker until then.
    At(Time),
    /// They go back to the queue for so long.
    After(Duration),
}

/// Messages that start one after the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidates {
    pub(super) messages: usize,
    /// They may have gone back before, to wait for their turn.
    pub(super) came_before: bool,
    /// One of them must not go back, because it would not be delivered again.
    pub(super) must_stay: bool,
    /// Until when they may wait in the worker, if it has room for them.
    pub(super) may_wait_until: Option<Time>,
}

#[derive(Debug, Clone)]
pub(super) struct Turns {
    rate: Rate,
    keys: HashMap<Box<str>, Key>,
    others: Key,
    forgot: Time,
}

#[derive(Debug, Clone)]
struct Key {
    bucket: Bucket,
    /// Until when messages that went back have their turns. Others queue up behind them.
    line_until: Time,
}

/// The rates of a function, which all batches of its process share.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rates {
    of_all: Option<Turns>,
    of_keys: Option<Turns>,
}

impl Rates {
    /// Decides by both rates when these messages may start, and for how long they wait at most if their key has no tokens.
    pub(super) fn turn(
        &mut self,
        policy: &Policy<'_>,
        key: Option<&str>,
        (candidates, longest): (Candidates, Duration),
        now: Time,
    ) -> Turn {
        let of_all = policy.rate.map(|rate| self.of_all.get_or_insert_with(|| Turns::new(rate)));
        let waits_until = of_all.as_ref().map_or(now, |all| all.next_at("", now)).max(now + longest);
        let of_key = key.zip(policy.rate_of_key).map_or(Turn::Now, |(key, rate)| {
            let most = if candidates.must_stay { Time::MAX } else { waits_until };
            let may_wait_until = candidates.may_wait_until.map(|until| until.min(most));
            let candidates = Candidates { may_wait_until, ..candidates };
            self.of_keys.get_or_insert_with(|| Turns::new(rate)).turn(key, candidates, now)
        });
        let Some(of_all) = of_all.filter(|_| !matches!(of_key, Turn::After(_))) else { return of_key };
        let of_all = of_all.turn("", candidates, now);
        match (of_key, of_all) {
            (Turn::At(one), Turn::At(other)) => Turn::At(one.max(other)),
            (Turn::At(at), Turn::Now) => Turn::At(at),
            (_, Turn::After(after)) => {
                let keys = self.of_keys.as_mut().zip(key);
                keys.into_iter().for_each(|(keys, key)| keys.give_back(key, candidates.messages, now));
                Turn::After(after)
            }
            (_, of_all) => of_all,
        }
    }

    #[cfg(test)]
    pub(super) fn each(&self) -> impl Iterator<Item = &Turns> {
        self.of_all.iter().chain(&self.of_keys)
    }
}

impl Key {
    fn new(rate: Rate, now: Time) -> Self {
        Self { bucket: Bucket::full(rate, now), line_until: Time::ZERO }
    }
}

impl Turns {
    pub(super) fn new(rate: Rate) -> Self {
        Self { rate, keys: HashMap::new(), others: Key::new(rate, Time::ZERO), forgot: Time::ZERO }
    }

    /// Decides when these messages may start, and takes their tokens unless they go back.
    pub(super) fn turn(&mut self, name: &str, candidates: Candidates, now: Time) -> Turn {
        let Candidates { messages, came_before, must_stay, may_wait_until } = candidates;
        self.forget(now);
        let key = if self.keys.len() >= MOST && !self.keys.contains_key(name) {
            &mut self.others
        } else {
            self.keys.entry(name.into()).or_insert_with(|| Key::new(self.rate, now))
        };
        if key.bucket.counted_at() > now + SET_BACK {
            *key = Key::new(self.rate, now);
        }
        let next = key.bucket.next_at(now);
        let is_in_line = !came_before && key.line_until > now;
        let may_wait = may_wait_until.is_some_and(|until| next <= until && (must_stay || !is_in_line));
        if next <= now && !is_in_line || must_stay && !may_wait {
            // Those over the rate take no tokens, so that others do not have to make up for them.
            if next <= now {
                key.bucket.take(messages, now);
            }
            return Turn::Now;
        }
        if may_wait {
            key.bucket.take(messages, now);
            return Turn::At(next);
        }
        let turn = next.max(key.line_until);
        key.line_until = turn.saturating_add(self.rate.time_for(messages));
        Turn::After(turn.saturating_sub(now))
    }

    /// When the next message of a key may start.
    fn next_at(&self, name: &str, now: Time) -> Time {
        self.keys.get(name).map_or(now, |key| key.bucket.next_at(now))
    }

    /// Messages of a key that had their turn do not start.
    fn give_back(&mut self, name: &str, messages: usize, now: Time) {
        let key = self.keys.get_mut(name).unwrap_or(&mut self.others);
        key.bucket.give_back(messages, now);
    }

    /// Keys that have all their tokens are like those that are not known.
    fn forget(&mut self, now: Time) {
        if self.keys.len() >= MOST && now >= self.forgot + FORGETS {
            self.forgot = now;
            self.keys.retain(|_, key| key.bucket.full_at() > now || key.line_until > now);
        }
    }

    /// When each is full, and until when others have their turns.
    #[cfg(test)]
    pub(super) fn each(&self) -> impl Iterator<Item = (Time, Time)> {
        self.keys.values().map(|key| (key.bucket.full_at(), key.line_until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seconds: u64) -> Time {
        Duration::from_secs(seconds)
    }

    const NEW: Candidates =
        Candidates { messages: 1, came_before: false, must_stay: false, may_wait_until: None };

    fn turns() -> Turns {
        Turns::new(Rate::per_second(1).burst(1))
    }

    #[test]
    fn messages_without_a_token_wait_in_the_worker_or_go_back_until_their_turn() {
        let (mut turns, waits) = (turns(), Candidates { may_wait_until: Some(at(2)), ..NEW });
        assert_eq!(turns.turn("a", waits, at(0)), Turn::Now);
        assert_eq!(turns.turn("a", waits, at(0)), Turn::At(at(1)));
        assert_eq!(turns.turn("b", waits, at(0)), Turn::Now, "another key");
        assert_eq!(turns.turn("a", NEW, at(0)), Turn::After(at(2)), "there is no room");
        assert_eq!(turns.turn("a", waits, at(0)), Turn::After(at(3)), "behind the one that went back");
    }

    #[test]
    fn messages_that_went_back_have_their_turns_before_new_ones() {
        let (mut turns, returned) = (turns(), Candidates { came_before: true, ..NEW });
        assert_eq!(turns.turn("a", NEW, at(0)), Turn::Now);
        assert_eq!(
            [1, 2, 3].map(|after| (turns.turn("a", NEW, at(0)), Turn::After(at(after)))),
            [
                (Turn::After(at(1)), Turn::After(at(1))),
                (Turn::After(at(2)), Turn::After(at(2))),
                (Turn::After(at(3)), Turn::After(at(3)))
            ]
        );
        assert_eq!(turns.turn("a", NEW, at(1)), Turn::After(at(3)));
        assert_eq!([1, 2, 3, 4].map(|second| turns.turn("a", returned, at(second))), [Turn::Now; 4]);
        assert_eq!(turns.turn("a", NEW, at(5)), Turn::Now, "none is in line any more");
    }

    #[test]
    fn a_message_that_must_stay_starts_if_there_is_no_room_or_its_turn_is_far_away() {
        let mut turns = turns();
        assert_eq!(turns.turn("a", Candidates { messages: 10, ..NEW }, at(0)), Turn::Now, "a group");
        let last = Candidates { must_stay: true, ..NEW };
        assert_eq!(turns.turn("a", last, at(0)), Turn::Now);
        let until = |second| Candidates { may_wait_until: Some(at(second)), ..last };
        assert_eq!(turns.turn("a", until(10), at(0)), Turn::At(at(10)), "the one before has taken no token");
        assert_eq!(turns.turn("a", until(10), at(0)), Turn::Now);
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_stop_a_key() {
        let mut turns = turns();
        assert_eq!(turns.turn("a", NEW, at(3_600)), Turn::Now);
        assert_eq!(
            [0, 0, 1].map(|second| turns.turn("a", NEW, at(second))),
            [Turn::Now, Turn::After(at(1)), Turn::After(at(1))]
        );
    }

    fn of_both(policy: &Policy<'_>, wanted: &[(&str, u64, Turn)]) {
        let mut rates = Rates::default();
        for &(key, longest, turn) in wanted {
            let candidates = Candidates { may_wait_until: Some(at(5)), ..NEW };
            assert_eq!(rates.turn(policy, Some(key), (candidates, at(longest)), at(0)), turn, "{key}");
        }
    }

    #[test]
    fn a_message_waits_for_its_key_as_long_as_for_all() {
        let settings = crate::settings::Settings::default();
        let (rate, rate_of_key) = (Some(Rate::per_second(1).burst(1)), Some(Rate::per_second(1).burst(1)));
        let both = Policy { rate, rate_of_key, ..Policy::of(&settings, "orders", true) };
        of_both(
            &both,
            &[
                ("a", 0, Turn::Now),
                ("a", 0, Turn::At(at(1))),
                ("b", 0, Turn::At(at(2))),
                ("c", 0, Turn::At(at(3))),
                ("a", 0, Turn::At(at(4))),
                ("b", 0, Turn::At(at(5))),
                ("c", 0, Turn::After(at(6))),
                // Its key has its token back.
                ("c", 0, Turn::After(at(7))),
            ],
        );
        let keys = Policy { rate: None, ..both };
        of_both(&keys, &[("a", 1, Turn::Now), ("a", 1, Turn::At(at(1))), ("a", 1, Turn::After(at(2)))]);
    }

    #[test]
    fn keys_without_end_share_a_bucket_and_take_no_memory_without_end() {
        let mut turns = turns();
        (0..=MOST).for_each(|number| assert_eq!(turns.turn(&number.to_string(), NEW, at(1)), Turn::Now));
        assert_eq!(
            turns.turn("one more", NEW, at(1)),
            Turn::After(at(1)),
            "the one before it took the token"
        );
        assert_eq!(turns.turn("and another", NEW, at(1)), Turn::After(at(2)));
        assert_eq!(turns.keys.len(), MOST);
        assert_eq!(turns.turn("new", NEW, at(2)), Turn::Now);
        assert_eq!(turns.keys.len(), 1, "the others have their tokens again");
    }
}
