//! A circuit breaker for each dependency: after several outages in a row, messages that need it do not run, except one at a
//! time that tries it.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Time;

/// After so many outages in a row, without a success between them, a dependency is down.
pub(super) const OUTAGES: u32 = 3;
/// How long a dependency that is down is left alone before one message tries it.
pub(crate) const REST: Duration = Duration::from_secs(60);
/// A dependency that no message has tried for so long is forgotten: none may need it any more.
const FORGOTTEN: Duration = Duration::from_secs(3_600);
/// How many dependencies are tracked, so that names without end take no memory without end.
const MOST: usize = 1_000;

/// The name of what messages need that name no dependency.
pub(crate) const UNNAMED: &str = "";

/// Those of all dependencies that had outages since their last success. Times are of the wall clock.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Breakers(BTreeMap<Box<str>, Breaker>);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Breaker {
    outages: u32,
    /// `None` while the breaker is closed.
    open: Option<Open>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Open {
    since: Time,
    /// When the next message may try. The breaker is half-open from then until one does.
    until: Time,
}

impl Breaker {
    /// The times of a breaker that is open, or half-open.
    fn open(&self, now: Time) -> Option<Open> {
        self.open.filter(|open| now < open.until + FORGOTTEN)
    }
}

impl Open {
    fn is_due(self, now: Time) -> bool {
        // A wall clock that was set back must not keep the breaker open.
        self.until <= now || self.until > now + REST
    }
}

impl Breakers {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a message may run by now.
    pub(super) fn may_run(&self, names: &[String], now: Time) -> bool {
        let open = |name| self.0.get(name).and_then(|breaker| breaker.open(now));
        each(names).filter_map(open).all(|open| open.is_due(now))
    }

    /// Whether a message may run. If it tries a dependency, the others wait for it, or for [`REST`] if it says nothing.
    pub(crate) fn admit(&mut self, names: &[String], now: Time) -> bool {
        if !self.may_run(names, now) {
            return false;
        }
        for name in each(names) {
            if let Some(open) = self.0.get_mut(name).and_then(|breaker| breaker.open.as_mut()) {
                *open = Open { since: open.since.min(now), until: now + REST };
            }
        }
        true
    }

    /// A message has ended that says nothing of these: the next one may try them.
    pub(crate) fn end_rest(&mut self, names: &[String], now: Time) {
        for name in each(names) {
            if let Some(open) = self.0.get_mut(name).and_then(|breaker| breaker.open.as_mut()) {
                open.until = open.until.min(now);
            }
        }
    }

    /// Counts an outage, and says whether the dependency is down from now on.
    pub(crate) fn outage(&mut self, name: &str, now: Time) -> bool {
        if self.0.len() >= MOST && !self.0.contains_key(name) {
            self.0.retain(|_, breaker| breaker.open(now).is_some());
            if self.0.len() >= MOST {
                return false;
            }
        }
        let breaker = self.0.entry(name.into()).or_default();
        breaker.outages = breaker.outages.saturating_add(1);
        let opens = breaker.open(now).is_none() && breaker.outages >= OUTAGES;
        if opens {
            breaker.open = Some(Open { since: now, until: now + REST });
        }
        opens
    }

    /// A message that needs this and began then has succeeded. Says whether the dependency was down. A message that began
    /// before it was down proves nothing.
    pub(crate) fn success(&mut self, name: &str, began: Time) -> bool {
        let proves = |breaker: &Breaker| breaker.open.is_none_or(|open| open.since <= began);
        let breaker = if self.0.get(name).is_some_and(proves) { self.0.remove(name) } else { None };
        breaker.is_some_and(|breaker| breaker.open.is_some())
    }

    /// Whether this is down, also while a message tries it.
    pub(crate) fn is_down(&self, name: &str, now: Time) -> bool {
        self.down_since(name, now).is_some()
    }

    /// Since when this is down.
    pub(crate) fn down_since(&self, name: &str, now: Time) -> Option<Time> {
        Some(self.0.get(name)?.open(now)?.since)
    }

    /// When the next message may try this, if none may now.
    pub(crate) fn due_at(&self, name: &str, now: Time) -> Option<Time> {
        let open = self.0.get(name)?.open(now)?;
        Some(open.until).filter(|_| !open.is_due(now))
    }

    /// How many dependencies are down.
    pub(crate) fn down(&self, now: Time) -> usize {
        self.0.values().filter(|breaker| breaker.open(now).is_some()).count()
    }

    /// Each with its outages and the times of an open one.
    #[cfg(test)]
    pub(super) fn each(&self) -> impl Iterator<Item = (&str, u32, Option<(Time, Time)>)> {
        let times = |breaker: &Breaker| breaker.open.map(|open| (open.since, open.until));
        self.0.iter().map(move |(name, breaker)| (&**name, breaker.outages, times(breaker)))
    }
}

/// What a message needs.
pub(super) fn each(names: &[String]) -> impl Iterator<Item = &str> {
    names.iter().map(String::as_str).chain(names.is_empty().then_some(UNNAMED))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Duration::from_secs(1_000_000 + seconds)
    }

    /// What a message needs.
    fn needs(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.into()).collect()
    }

    fn down(name: &str) -> Breakers {
        let mut breakers = Breakers::default();
        assert_eq!([0, 1, 2].map(|second| breakers.outage(name, at(second))), [false, false, true]);
        breakers
    }

    #[test]
    fn three_outages_in_a_row_stop_messages_that_need_the_dependency_and_no_others() {
        let mut breakers = down("bank");
        assert!(
            !breakers.admit(&needs(&["bank"]), at(2)) && !breakers.admit(&needs(&["post", "bank"]), at(61))
        );
        assert!(breakers.admit(&needs(&["post"]), at(2)) && breakers.admit(&needs(&[]), at(2)));
        assert_eq!((breakers.down(at(2)), breakers.is_down(UNNAMED, at(2))), (1, false));
        let mut breakers = down(UNNAMED);
        assert!(!breakers.admit(&needs(&[]), at(2)));
        assert!(breakers.admit(&needs(&["bank"]), at(2)), "it says what it needs");
    }

    #[test]
    fn a_success_in_between_starts_the_count_again() {
        let mut breakers = Breakers::default();
        for second in 0..20 {
            assert!(!breakers.outage("bank", at(second)) && !breakers.outage("bank", at(second)));
            assert!(!breakers.success("bank", at(second)), "it was not down");
        }
        assert!(breakers.is_empty());
    }

    #[test]
    fn one_message_tries_each_minute_until_one_succeeds() {
        let (mut breakers, bank) = (down("bank"), needs(&["bank"]));
        assert_eq!(breakers.due_at("bank", at(3)), Some(at(62)));
        assert!(breakers.admit(&bank, at(62)) && !breakers.admit(&bank, at(62)));
        assert!(!breakers.outage("bank", at(70)), "it was down already");
        assert!(!breakers.admit(&bank, at(121)));
        assert!(breakers.admit(&bank, at(122)), "the first message may have died");
        assert!(breakers.success("bank", at(122)) && breakers.admit(&bank, at(123)));
    }

    #[test]
    fn a_message_waits_until_all_it_needs_may_be_tried() {
        let (mut breakers, both) = (down("bank"), needs(&["bank", "post"]));
        assert!((10..13).any(|second| breakers.outage("post", at(second))));
        assert!(!breakers.admit(&both, at(70)), "the post rests until 72");
        assert!(breakers.admit(&both, at(72)) && !breakers.admit(&needs(&["bank"]), at(72)));
    }

    #[test]
    fn a_success_that_began_before_the_outages_proves_nothing() {
        let mut breakers = down("bank");
        assert!(!breakers.success("bank", at(1)) && breakers.is_down("bank", at(3)));
        assert!(breakers.success("bank", at(2)));
    }

    #[test]
    fn a_message_that_says_nothing_lets_the_next_one_try() {
        let (mut breakers, bank) = (down("bank"), needs(&["bank"]));
        assert!(breakers.admit(&bank, at(62)) && !breakers.admit(&bank, at(63)));
        breakers.end_rest(&bank, at(63));
        assert!(breakers.admit(&bank, at(63)) && !breakers.admit(&bank, at(63)));
    }

    #[test]
    fn what_nobody_has_tried_for_an_hour_is_forgotten() {
        let breakers = down("bank");
        assert_eq!([3_661, 3_662].map(|second| breakers.down(at(second))), [1, 0]);
        assert_eq!(breakers.down_since("bank", at(3_661)), Some(at(2)));
        assert_eq!((breakers.is_down("bank", at(3_662)), breakers.due_at("bank", at(3_662))), (false, None));
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_keep_a_breaker_open() {
        let mut breakers = down("bank");
        let before = at(2) - Duration::from_secs(3_600);
        assert!(breakers.admit(&needs(&["bank"]), before) && breakers.success("bank", before));
    }

    #[test]
    fn names_without_end_take_no_memory_without_end() {
        let mut breakers = Breakers::default();
        for number in 0..2 * MOST {
            for _ in 0..3 {
                breakers.outage(&number.to_string(), at(0));
            }
        }
        assert_eq!(breakers.each().count(), MOST);
        assert!(breakers.is_down("0", at(0)) && !breakers.is_down(&MOST.to_string(), at(0)));
        assert!(
            !breakers.outage("new", at(3_700)) && breakers.each().count() == 1,
            "the old ones are forgotten"
        );
    }
}
