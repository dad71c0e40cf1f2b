//! A limit on the handlers that run at once, by the capacity of the service behind them. It grows step by step, and falls if
//! the service is slow or down.

use std::time::Duration;

use crate::Time;

/// The fewest calls of a round. It has two for each handler that may run, so that it takes about two round trips.
const ROUND: u32 = 10;
/// Calls of a round for each overload that it may have, because a few happen at any load.
const OVERLOADS: u32 = 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AdaptiveLimit {
    pub(crate) now: usize,
    pub(crate) most: usize,
    /// A round is slow if its calls take longer than this in the mean.
    slow: Duration,
    /// True while nothing was too much, so that the limit doubles.
    doubles: bool,
    /// The time of the last decrease. Calls that began before it prove nothing about the limit since.
    since: Time,
    round: Round,
}

/// The calls since the last change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Round {
    calls: u32,
    overloads: u32,
    took: Duration,
    /// True if at least half of the handlers that may run did.
    is_used: bool,
}

impl AdaptiveLimit {
    /// Creates a limit, which begins with one.
    pub(crate) fn new(most: usize, slow: Duration) -> Self {
        Self { now: 1, most, slow, doubles: true, since: Time::ZERO, round: Round::default() }
    }

    /// Begins with one again after the service went down, so that it is not called too often at once when it recovers.
    pub(crate) fn restart(&mut self, now: Time) {
        *self = Self { since: now, ..Self::new(self.most, self.slow) };
    }

    /// Counts a call that ended while this many ran. It is an overload if the service is down or did not answer in time.
    pub(crate) fn ended(
        &mut self,
        began: Time,
        took: Duration,
        is_overload: bool,
        running: usize,
        now: Time,
    ) {
        if began < self.since {
            return;
        }
        let round = &mut self.round;
        round.calls += 1;
        round.overloads += u32::from(is_overload);
        round.took += took;
        round.is_used |= 2 * running >= self.now;
        let calls = u32::try_from(2 * self.now).unwrap_or(u32::MAX).max(ROUND);
        // The rest of the round would change nothing.
        if round.overloads * OVERLOADS > calls || round.took > self.slow.saturating_mul(calls) {
            (self.now, self.doubles, self.since) = ((self.now * 7 / 10).max(1), false, now);
            self.round = Round::default();
        } else if round.calls >= calls {
            if round.is_used {
                let more = if self.doubles { self.now } else { 1 };
                self.now = (self.now + more).min(self.most);
            }
            self.round = Round::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SLOW: Duration = Duration::from_millis(100);

    /// Simulates workers that each keep as many calls of one service running as may run, until this many have ended. They start
    /// `apart` from each other. Returns how many may run and how long calls took, in the mean of the second half.
    fn run(
        limits: &mut [AdaptiveLimit],
        apart: Duration,
        calls: usize,
        took: impl Fn(usize, &mut fastrand::Rng) -> f64,
    ) -> (f64, f64) {
        let mut rng = fastrand::Rng::with_seed(7);
        let (mut now, mut running, mut sums) = (Time::from_secs(1), Vec::new(), (0.0, 0.0));
        for call in 0..calls {
            for (worker, limit) in limits.iter().enumerate() {
                let has_started = now >= Time::from_secs(1) + apart * worker as u32;
                let own =
                    |running: &[(Time, Time, usize)]| running.iter().filter(|it| it.2 == worker).count();
                while has_started && own(&running) < limit.now {
                    let seconds = took(running.len() + 1, &mut rng);
                    running.push((now + Duration::from_secs_f64(seconds), now, worker));
                }
            }
            running.sort_unstable_by(|one, other| other.cmp(one));
            let (ended, began, worker) = running.pop().unwrap();
            let count = 1 + running.iter().filter(|it| it.2 == worker).count();
            now = ended;
            limits[worker].ended(began, ended - began, false, count, now);
            if call >= calls / 2 {
                let all: usize = limits.iter().map(|limit| limit.now).sum();
                sums = (sums.0 + all as f64, sums.1 + (ended - began).as_secs_f64());
            }
        }
        let counted = (calls - calls / 2) as f64;
        (sums.0 / counted, sums.1 / counted)
    }

    fn slows_down(running: usize, _: &mut fastrand::Rng) -> f64 {
        0.05 * (running as f64 / 20.0).max(1.0).powi(2)
    }

    #[test]
    fn the_limit_stays_at_the_point_where_a_service_slows_down() {
        for most in [30, 100, 1_000] {
            let mut limits = [AdaptiveLimit::new(most, SLOW)];
            let (mean, took) = run(&mut limits, Duration::ZERO, 50_000, slows_down);
            println!("of {most}: {mean:.1} at once, {took:.3} s");
            assert!((18.0..32.0).contains(&mean) && took < 0.11, "{mean} at once, {took} s");
        }
    }

    #[test]
    fn workers_that_start_one_after_the_other_share_a_service() {
        for (workers, apart) in [(4, 0), (4, 30), (10, 60)] {
            let mut limits = vec![AdaptiveLimit::new(100, SLOW); workers];
            let (mean, took) = run(&mut limits, Duration::from_secs(apart), 200_000, slows_down);
            println!("{workers} workers, {apart} s apart: {mean:.1} at once, {took:.3} s");
            assert!((18.0..34.0).contains(&mean) && took < 0.13, "{mean} at once, {took} s");
        }
    }

    /// A third of the calls takes twenty times as long as the others, or durations are exponential.
    #[test]
    fn it_stays_at_the_maximum_while_times_vary_and_are_not_slow_in_the_mean() {
        let mixed = |_: usize, rng: &mut fastrand::Rng| if rng.u8(..3) == 0 { 0.1 } else { 0.005 };
        let exponential = |_: usize, rng: &mut fastrand::Rng| -0.04 * (1.0 - rng.f64()).ln();
        for most in [5, 10, 50] {
            let of = |took: &dyn Fn(usize, &mut fastrand::Rng) -> f64| {
                run(&mut [AdaptiveLimit::new(most, SLOW)], Duration::ZERO, 50_000, took).0
            };
            let means = [of(&mixed), of(&exponential)];
            println!("of {most}: {means:.1?} at once");
            assert!(means.iter().all(|mean| *mean > 0.95 * most as f64), "of {most}: {means:?} at once");
        }
    }

    #[test]
    fn an_outage_decreases_it_once_in_a_round_trip_and_few_overloads_do_not() {
        let at = Time::from_secs;
        let mut limit = AdaptiveLimit { now: 100, ..AdaptiveLimit::new(100, SLOW) };
        let mut steps = vec![limit.now];
        for second in 1_000..1_020 {
            (0..50).for_each(|_| limit.ended(at(second), SLOW / 2, true, 50, at(second + 1)));
            steps.push(limit.now);
        }
        assert_eq!((&steps[..6], limit.now), (&[100, 70, 49, 34, 23, 16][..], 1));
        let mut limit = AdaptiveLimit { now: 100, ..AdaptiveLimit::new(100, SLOW) };
        (0..2_000).for_each(|call| limit.ended(at(1), SLOW / 2, call % 20 == 0, 100, at(2)));
        assert_eq!(limit.now, 100, "one in twenty");
    }

    #[test]
    fn it_begins_anew_with_one_when_the_service_is_down() {
        let mut limit = AdaptiveLimit { now: 100, doubles: false, ..AdaptiveLimit::new(100, SLOW) };
        limit.restart(Time::from_secs(9));
        (0..10).for_each(|_| limit.ended(Time::from_secs(8), SLOW / 2, false, 1, Time::from_secs(10)));
        assert_eq!(limit.now, 1, "they began before");
        (0..20).for_each(|_| limit.ended(Time::from_secs(9), SLOW / 2, false, 1, Time::from_secs(10)));
        assert_eq!(limit.now, 4);
    }

    #[test]
    fn a_slow_round_decreases_it_before_it_is_over() {
        let mut limit = AdaptiveLimit { now: 100, ..AdaptiveLimit::new(100, SLOW) };
        limit.ended(Time::ZERO, SLOW * 201, false, 100, SLOW * 201);
        assert_eq!(limit.now, 70);
    }

    proptest! {
        #[test]
        fn it_is_between_one_and_the_maximum_and_falls_once_in_a_round_trip(
            most in 1_usize..50, calls in prop::collection::vec((0_u64..100, 0_u64..300, 0_usize..60, 0_u8..10), 0..400),
        ) {
            let mut limit = AdaptiveLimit { now: most, ..AdaptiveLimit::new(most, SLOW) };
            let (mut now, mut fell) = (Time::from_secs(1), Time::ZERO);
            for (later, took, running, chance) in calls {
                now += Duration::from_millis(later);
                let (took, before) = (Duration::from_millis(took), limit.now);
                let began = now - took;
                limit.ended(began, took, chance == 0, running, now);
                prop_assert!((1..=most).contains(&limit.now));
                if limit.now < before {
                    prop_assert!(began >= fell, "it fell at {fell:?}, and for a call that began at {began:?}");
                    fell = now;
                }
            }
        }
    }
}
