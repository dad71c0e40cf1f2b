//! How many handlers may run at once, by what the service behind them can do. The limit grows step by step, and falls at once if
//! the service is down or slow.

use std::time::Duration;

use super::Time;

/// The calls of a round: two for each that may run, so that a round takes about two round trips, and never fewer than this.
const ROUND: usize = 10;
/// Calls of a round are slow if their mean is so many times the baseline.
const SLOW: u32 = 2;
/// The baseline follows faster rounds by this part of the difference, so that one lucky round does not set it.
const DOWN: u32 = 8;
/// It follows slower rounds only while as many run as may run at all, which is what the user takes for normal.
const UP: u32 = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Limit {
    pub(super) now: usize,
    most: usize,
    /// Nothing was too much so far.
    doubles: bool,
    /// How long a call takes when few run.
    baseline: Duration,
    /// The last decrease. Calls that began before it say nothing of the limit since.
    since: Time,
    round: Round,
}

/// The calls that have succeeded since the last change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Round {
    calls: u32,
    took: Duration,
    /// At least half of those that may run did.
    is_used: bool,
}

impl Limit {
    /// It begins with one, because the baseline is measured before the service has much to do.
    pub(super) fn new(most: usize) -> Self {
        Self {
            now: 1,
            most,
            doubles: true,
            baseline: Duration::ZERO,
            since: Time::ZERO,
            round: Round::default(),
        }
    }

    /// A call has succeeded, while so many ran.
    pub(super) fn succeeded(&mut self, began: Time, took: Duration, running: usize, now: Time) {
        if began < self.since {
            return;
        }
        self.round.calls += 1;
        self.round.took += took;
        self.round.is_used |= 2 * running >= self.now;
        if self.round.calls as usize >= (2 * self.now).max(ROUND) {
            let Round { calls, took, is_used } = std::mem::take(&mut self.round);
            self.judge(took / calls, is_used, now);
        }
    }

    /// The service is down or did not answer in time.
    pub(super) fn overloaded(&mut self, began: Time, now: Time) {
        if began >= self.since {
            self.decrease(now);
        }
    }

    fn judge(&mut self, mean: Duration, is_used: bool, now: Time) {
        if self.now == 1 {
            self.baseline = mean;
        } else if mean > self.baseline * SLOW {
            self.decrease(now);
            return;
        } else if mean < self.baseline {
            self.baseline -= (self.baseline - mean) / DOWN;
        } else if self.now == self.most {
            self.baseline += (mean - self.baseline) / UP;
        }
        if is_used {
            let more = if self.doubles { self.now } else { 1 };
            self.now = (self.now + more).min(self.most);
        }
    }

    fn decrease(&mut self, now: Time) {
        (self.now, self.doubles, self.since) = ((self.now * 7 / 10).max(1), false, now);
        self.round = Round::default();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Keeps as many calls running as may run, for so many calls. Says how many ran at once and how long they took, in the
    /// mean of the second half.
    fn run(limit: &mut Limit, calls: usize, took: impl Fn(usize, &mut fastrand::Rng) -> f64) -> (f64, f64) {
        let mut rng = fastrand::Rng::with_seed(7);
        let (mut now, mut running, mut sums) = (Time::from_secs(1), Vec::new(), (0.0, 0.0));
        for call in 0..calls {
            while running.len() < limit.now {
                let seconds = took(running.len() + 1, &mut rng);
                running.push((now + Duration::from_secs_f64(seconds), now));
            }
            running.sort_unstable_by(|one, other| other.cmp(one));
            let count = running.len();
            let (ended, began) = running.pop().unwrap();
            now = ended;
            limit.succeeded(began, ended - began, count, now);
            if call >= calls / 2 {
                sums = (sums.0 + limit.now as f64, sums.1 + (ended - began).as_secs_f64());
            }
        }
        let counted = (calls - calls / 2) as f64;
        (sums.0 / counted, sums.1 / counted)
    }

    #[test]
    fn it_stays_where_a_service_becomes_slow() {
        for most in [30, 100, 1_000] {
            let (mean, took) = run(&mut Limit::new(most), 50_000, |running, _| {
                0.05 * (running as f64 / 20.0).max(1.0).powi(2)
            });
            println!("of {most}: {mean:.1} at once, {took:.3} s");
            assert!((18.0..30.0).contains(&mean) && took < 0.1, "{mean} at once, {took} s");
        }
    }

    /// A third takes twenty times as long as the others, or times are exponential.
    #[test]
    fn it_stays_near_the_maximum_while_times_vary_and_do_not_depend_on_it() {
        let mixed = |_: usize, rng: &mut fastrand::Rng| if rng.u8(..3) == 0 { 0.2 } else { 0.01 };
        let exponential = |_: usize, rng: &mut fastrand::Rng| -0.05 * (1.0 - rng.f64()).ln();
        for most in [5, 10, 50] {
            let means = [
                run(&mut Limit::new(most), 50_000, mixed).0,
                run(&mut Limit::new(most), 50_000, exponential).0,
            ];
            println!("of {most}: {means:.1?} at once");
            assert!(means.iter().all(|mean| *mean > 0.8 * most as f64), "of {most}: {means:?} at once");
        }
    }

    #[test]
    fn it_takes_a_slower_service_for_normal_once_one_call_at_a_time_is_as_slow() {
        let mut limit = Limit::new(50);
        run(&mut limit, 2_000, |_, _| 0.05);
        assert_eq!(limit.now, 50);
        let mut slower = limit.clone();
        run(&mut slower, 300, |_, _| 0.5);
        assert!(slower.now < 25, "{slower:?}");
        run(&mut limit, 10_000, |_, _| 0.5);
        assert_eq!(limit.now, 50);
    }

    #[test]
    fn outages_decrease_it_once_in_a_round_trip_down_to_one() {
        let at = Time::from_secs;
        let mut limit = Limit::new(100);
        run(&mut limit, 2_000, |_, _| 0.05);
        let mut steps = vec![limit.now];
        for second in 1_000..1_020 {
            (0..50).for_each(|_| limit.overloaded(at(second), at(second + 1)));
            steps.push(limit.now);
        }
        assert_eq!(steps[..6], [100, 70, 49, 34, 23, 16]);
        assert_eq!(limit.now, 1);
    }

    proptest! {
        #[test]
        fn it_is_between_one_and_the_maximum_and_falls_once_in_a_round_trip(
            most in 1_usize..50, calls in prop::collection::vec((0_u64..100, 0_u64..300, 0_usize..60, 0_u8..10), 0..400),
        ) {
            let mut limit = Limit { now: most, baseline: Duration::from_millis(100), ..Limit::new(most) };
            let (mut now, mut fell) = (Time::from_secs(1), Time::ZERO);
            for (later, took, running, chance) in calls {
                now += Duration::from_millis(later);
                let (took, before) = (Duration::from_millis(took), limit.now);
                let began = now - took;
                if chance > 0 {
                    limit.succeeded(began, took, running, now);
                } else {
                    limit.overloaded(began, now);
                }
                prop_assert!((1..=most).contains(&limit.now));
                if limit.now < before {
                    prop_assert!(began >= fell, "it fell at {fell:?}, and for a call that began at {began:?}");
                    fell = now;
                }
            }
        }
    }
}
