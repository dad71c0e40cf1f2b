//! A circuit breaker for each dependency: after several outages in a row, messages that need it do not run, except one at a
//! time that tries it.

use std::time::Duration;

use super::Time;
#[cfg(test)]
use super::names::NameHash;
use super::names::{ByName, Secret};

/// Outages in a row, without a success between them, after which a dependency is down.
pub(crate) const OUTAGES: u32 = 3;
/// The time for which a dependency that is down is left alone before one message tries it.
pub(crate) const OPEN_FOR: Duration = Duration::from_secs(60);
/// The time after which a dependency that no message has tried is forgotten, because none may need it any more.
const FORGOTTEN: Duration = Duration::from_secs(3_600);

/// The dependency of messages that name none.
pub(crate) const UNNAMED: &str = "";
/// The name of the idempotency store, which all messages need if there is one.
pub(crate) const STORE: &str = "idempotency-store";

/// The breakers of all dependencies with outages since their last success. Times are of the wall clock.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Breakers(ByName<Breaker>);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Breaker {
    outages: u32,
    /// The time of the last outage.
    last: Time,
    /// True if it is not forgotten, however many names senders make up.
    is_reserved: bool,
    /// `None` while the breaker is closed.
    open: Option<Open>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Open {
    since: Time,
    /// The time from which the next message may try. The breaker is half-open from then until one does.
    until: Time,
}

impl Breaker {
    /// Returns the times of a breaker that is open or half-open.
    fn open(&self, now: Time) -> Option<Open> {
        self.open.filter(|open| now < open.until + FORGOTTEN)
    }

    /// Returns how long the breaker matters. If there are too many, those with the earliest times are forgotten.
    fn matters_until(&self) -> Time {
        let until = self.open.map_or(self.last, |open| open.until.max(self.last));
        if self.is_reserved { Time::MAX } else { until }
    }
}

/// The answer to a message that is about to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// None of its dependencies is down.
    Free,
    /// It tries a dependency that is down.
    Trial,
    Refused,
}

impl Open {
    fn is_due(self, now: Time) -> bool {
        // A wall clock that was set back must not keep the breaker open.
        self.until <= now || self.until > now + OPEN_FOR
    }
}

impl Breakers {
    pub(crate) const fn new(secret: Secret) -> Self {
        Self(ByName::new(secret))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if a message may run now.
    fn may_run(&self, names: &[String], now: Time) -> bool {
        let open = |name| self.0.get(name).and_then(|breaker| breaker.open(now));
        each(names).filter_map(open).all(|open| open.is_due(now))
    }

    /// Decides whether a message may run. While one tries a dependency that is down, the others wait, for at most [`OPEN_FOR`].
    pub fn admit(&mut self, names: &[String], now: Time) -> Admission {
        if !self.may_run(names, now) {
            return Admission::Refused;
        }
        let mut admission = Admission::Free;
        for name in each(names) {
            let Some(breaker) = self.0.get_mut(name) else { continue };
            if let Some(open) = breaker.open(now) {
                breaker.open = Some(Open { since: open.since.min(now), until: now + OPEN_FOR });
                admission = Admission::Trial;
            }
        }
        admission
    }

    /// Ends a trial that proved nothing or never ran, so that the next message may try these dependencies.
    pub fn end_trial(&mut self, names: &[String], now: Time) {
        for name in each(names) {
            if let Some(open) = self.0.get_mut(name).and_then(|breaker| breaker.open.as_mut()) {
                open.until = open.until.min(now);
            }
        }
    }

    /// Counts an outage. Returns true if the dependency has gone down with it.
    pub fn outage(&mut self, name: &str, now: Time) -> bool {
        let breaker = self.0.get_or_insert(name, Breaker::default, Breaker::matters_until);
        if breaker.open.is_some() && breaker.open(now).is_none() {
            *breaker = Breaker::default();
        }
        (breaker.last, breaker.is_reserved) = (now, [UNNAMED, STORE].contains(&name));
        breaker.outages = breaker.outages.saturating_add(1);
        let opens = breaker.open(now).is_none() && breaker.outages >= OUTAGES;
        if opens {
            breaker.open = Some(Open { since: now, until: now + OPEN_FOR });
        }
        opens
    }

    /// Counts a message that began at this time and succeeded. Returns true if the dependency was down. A message that began
    /// before the dependency went down proves nothing.
    pub fn success(&mut self, name: &str, began: Time) -> bool {
        let proves = |breaker: &Breaker| breaker.open.is_none_or(|open| open.since <= began);
        let breaker = if self.0.get(name).is_some_and(proves) { self.0.remove(name) } else { None };
        breaker.is_some_and(|breaker| breaker.open.is_some())
    }

    /// Returns true if this dependency is down, even while a message tries it.
    pub fn is_down(&self, name: &str, now: Time) -> bool {
        self.0.get(name).is_some_and(|breaker| breaker.open(now).is_some())
    }

    /// Returns when the next message may try this dependency, if none may now.
    pub fn due_at(&self, name: &str, now: Time) -> Option<Time> {
        let open = self.0.get(name)?.open(now)?;
        Some(open.until).filter(|_| !open.is_due(now))
    }

    /// Returns how many dependencies are down and may not be tried yet. One that no message needs does not count for long.
    pub fn down(&self, now: Time) -> usize {
        let is_down = |breaker: &&Breaker| breaker.open(now).is_some_and(|open| !open.is_due(now));
        self.0.values().filter(is_down).count()
    }

    /// Returns each breaker with its outages, and its times if it is open.
    #[cfg(test)]
    pub(crate) fn each(&self) -> impl Iterator<Item = (NameHash, u32, Option<(Time, Time)>)> {
        let times = |breaker: &Breaker| breaker.open.map(|open| (open.since, open.until));
        self.0.each().map(move |(name, breaker)| (name, breaker.outages, times(breaker)))
    }
}

#[cfg(test)]
impl Default for Breakers {
    fn default() -> Self {
        Self::new(Secret::FOR_TESTS)
    }
}

/// Returns the dependencies of a message.
pub(crate) fn each(names: &[String]) -> impl Iterator<Item = &str> {
    names.iter().map(String::as_str).chain(names.is_empty().then_some(UNNAMED))
}

#[cfg(test)]
mod tests {
    use super::super::names::MOST;
    use super::*;

    fn at(seconds: u64) -> Time {
        Duration::from_secs(1_000_000 + seconds)
    }

    /// Returns the dependencies of a message.
    fn needs(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.into()).collect()
    }

    fn down(name: &str) -> Breakers {
        let mut breakers = Breakers::default();
        assert_eq!([0, 1, 2].map(|second| breakers.outage(name, at(second))), [false, false, true]);
        breakers
    }

    #[test]
    fn three_outages_in_a_row_stop_only_messages_that_need_the_dependency() {
        let mut breakers = down("bank");
        assert_eq!(breakers.admit(&needs(&["bank"]), at(2)), Admission::Refused);
        assert_eq!(breakers.admit(&needs(&["post", "bank"]), at(61)), Admission::Refused);
        assert_eq!(breakers.admit(&needs(&["post"]), at(2)), Admission::Free);
        assert_eq!(breakers.admit(&needs(&[]), at(2)), Admission::Free);
        assert_eq!((breakers.down(at(2)), breakers.is_down(UNNAMED, at(2))), (1, false));
        let mut breakers = down(UNNAMED);
        assert_eq!(breakers.admit(&needs(&[]), at(2)), Admission::Refused);
        assert_eq!(breakers.admit(&needs(&["bank"]), at(2)), Admission::Free, "it says what it needs");
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
        let trials = [62, 62].map(|second| breakers.admit(&bank, at(second)));
        assert_eq!(trials, [Admission::Trial, Admission::Refused]);
        assert!(!breakers.outage("bank", at(70)), "it was down already");
        assert_eq!(breakers.admit(&bank, at(121)), Admission::Refused);
        assert_eq!(breakers.admit(&bank, at(122)), Admission::Trial, "the first message may have died");
        assert!(breakers.success("bank", at(122)));
        assert_eq!(breakers.admit(&bank, at(123)), Admission::Free);
    }

    #[test]
    fn a_message_waits_until_all_it_needs_may_be_tried() {
        let (mut breakers, both) = (down("bank"), needs(&["bank", "post"]));
        assert!((10..13).any(|second| breakers.outage("post", at(second))));
        assert_eq!(breakers.admit(&both, at(70)), Admission::Refused, "the post rests until 72");
        assert_eq!(breakers.admit(&both, at(72)), Admission::Trial);
        assert_eq!(breakers.admit(&needs(&["bank"]), at(72)), Admission::Refused);
    }

    #[test]
    fn a_success_that_began_before_the_outages_proves_nothing() {
        let mut breakers = down("bank");
        assert!(!breakers.success("bank", at(1)) && breakers.is_down("bank", at(3)));
        assert!(breakers.success("bank", at(2)));
    }

    #[test]
    fn a_trial_that_proves_nothing_lets_the_next_message_try() {
        let (mut breakers, bank) = (down("bank"), needs(&["bank"]));
        let mut admit = |second| breakers.admit(&bank, at(second));
        assert_eq!([62, 63].map(&mut admit), [Admission::Trial, Admission::Refused]);
        breakers.end_trial(&bank, at(63));
        let mut admit = |second| breakers.admit(&bank, at(second));
        assert_eq!([63, 63].map(&mut admit), [Admission::Trial, Admission::Refused]);
    }

    #[test]
    fn a_dependency_untried_for_an_hour_is_forgotten() {
        let breakers = down("bank");
        assert!(breakers.is_down("bank", at(3_661)));
        assert_eq!((breakers.is_down("bank", at(3_662)), breakers.due_at("bank", at(3_662))), (false, None));
    }

    #[test]
    fn a_forgotten_breaker_does_not_revive_with_its_old_date() {
        let (mut breakers, bank) = (down("bank"), needs(&["bank"]));
        assert_eq!(breakers.admit(&bank, at(3_662)), Admission::Free);
        assert_eq!((breakers.down(at(3_663)), breakers.is_down("bank", at(3_663))), (0, false));
        assert_eq!(
            [3_670, 3_671, 3_672].map(|second| breakers.outage("bank", at(second))),
            [false, false, true]
        );
        assert!(!breakers.success("bank", at(3_671)), "what began before the new date proves nothing");
    }

    #[test]
    fn a_dependency_is_down_until_the_next_message_may_try_it() {
        let (mut breakers, bank) = (down("bank"), needs(&["bank"]));
        assert_eq!([61, 62].map(|second| breakers.down(at(second))), [1, 0]);
        assert_eq!(breakers.admit(&bank, at(70)), Admission::Trial);
        assert_eq!([71, 129, 130].map(|second| breakers.down(at(second))), [1, 1, 0]);
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_keep_a_breaker_open() {
        let mut breakers = down("bank");
        let before = at(2) - Duration::from_secs(3_600);
        assert_eq!(breakers.admit(&needs(&["bank"]), before), Admission::Trial);
        assert!(breakers.success("bank", before));
    }

    #[test]
    fn made_up_names_do_not_switch_off_the_breaker_of_another() {
        let mut breakers = down("bank");
        let made_up = |breakers: &mut Breakers, prefix: &str, times: usize| {
            for number in 0..1_000 {
                for _ in 0..times {
                    breakers.outage(&format!("{prefix} {number}"), at(3));
                }
            }
        };
        made_up(&mut breakers, "down", 3);
        assert!(breakers.is_down("bank", at(3)));
        for second in [4, 5, 6] {
            assert_eq!(breakers.outage("post", at(second)), second == 6);
            made_up(&mut breakers, "between", 1);
        }
        assert!(breakers.is_down("post", at(6)) && !breakers.is_down("made up", at(6)));
    }

    #[test]
    fn endless_names_take_limited_memory() {
        let mut breakers = down("bank");
        for number in 0..10 * MOST {
            breakers.outage(&number.to_string(), at(3));
        }
        assert!(breakers.each().count() <= MOST && !std::mem::needs_drop::<Breaker>());
        assert!(breakers.is_down("bank", at(3)), "it matters more than what has failed once");
    }
}
