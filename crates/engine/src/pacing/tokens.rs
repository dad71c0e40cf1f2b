//! A token bucket, which limits the messages that start to a rate.

use std::time::Duration;

use super::rate::{Rate, nanoseconds};

/// A token, in billionths.
pub(crate) const ONE: i128 = 1_000_000_000;
/// The time within which leased tokens may still arrive, so that a worker need not ask for each.
const AHEAD: Duration = Duration::from_secs(1);

/// The state of a shared bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// The level in billionths of a token. Below zero, some leased tokens have not arrived yet.
    pub level: i64,
    /// The time of that level, in whole milliseconds. Machines need not agree on the time, see [`lease`](Self::lease).
    pub at: Duration,
}

/// Tokens that a worker has leased. Some may have arrived already, the others arrive at the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lease {
    tokens: u32,
    /// The level of the bucket before the lease.
    level: i64,
    rate: Rate,
}

impl Bucket {
    /// Creates a bucket that holds the burst.
    #[must_use]
    pub fn full(rate: &Rate) -> Self {
        Self::full_at(rate, Duration::ZERO)
    }

    pub(crate) fn full_at(rate: &Rate, now: Duration) -> Self {
        Self { level: narrow(capacity(rate)), at: now }
    }

    /// Returns the number of tokens that it holds.
    pub(crate) fn tokens(&self, rate: &Rate, now: Duration) -> usize {
        usize::try_from(self.level(rate, now).div_euclid(ONE)).unwrap_or_default()
    }

    /// Takes tokens, including some that have not arrived yet.
    pub(crate) fn take(&mut self, tokens: usize, rate: &Rate, now: Duration) {
        let level = self.level(rate, now).saturating_sub(billionths(tokens));
        *self = Self { level: narrow(level), at: now.max(self.at) };
    }

    pub(crate) fn give_back(&mut self, tokens: usize, rate: &Rate, now: Duration) {
        let level = self.level(rate, now).saturating_add(billionths(tokens)).min(capacity(rate));
        *self = Self { level: narrow(level), at: now.max(self.at) };
    }

    /// Returns the time at which it holds this many tokens, if none is taken.
    pub(crate) fn holds_at(&self, tokens: usize, rate: &Rate) -> Duration {
        self.at.saturating_add(time_for(billionths(tokens) - i128::from(self.level), rate))
    }

    /// Returns the time at which it is full.
    pub(crate) fn is_full_at(&self, rate: &Rate) -> Duration {
        self.at.saturating_add(time_for(capacity(rate) - i128::from(self.level), rate))
    }

    fn level(&self, rate: &Rate, now: Duration) -> i128 {
        (i128::from(self.level) + gained(rate, now.saturating_sub(self.at))).min(capacity(rate))
    }

    /// Takes up to `most` tokens: those in the bucket, and those that arrive within a second.
    ///
    /// `now` must not be ahead of the time since the bucket was made. If it is behind, the bucket gains too little. So a process
    /// need not know the time: [`at`](Self::at) plus the time since it read that, by its own steady clock, is enough.
    pub fn lease(&mut self, most: u32, rate: &Rate, now: Duration) -> Lease {
        let now = Duration::from_millis(u64::try_from(now.as_millis()).unwrap_or(u64::MAX)).max(self.at);
        let ahead = gained(rate, AHEAD);
        // A higher rate may have left it below what this one allows.
        let level = (i128::from(self.level).max(-ahead) + gained(rate, now - self.at)).min(capacity(rate));
        let tokens = (level + ahead).div_euclid(ONE).clamp(0, most.into());
        if tokens > 0 {
            *self = Self { level: narrow(level - tokens * ONE), at: now };
        }
        Lease { tokens: u32::try_from(tokens).unwrap_or(most), level: narrow(level), rate: *rate }
    }
}

impl Lease {
    /// Returns the number of leased tokens.
    #[must_use]
    pub const fn tokens(&self) -> u32 {
        self.tokens
    }

    /// Returns the number of tokens that have arrived this long after the lease.
    pub(crate) fn arrived(&self, after: Duration) -> usize {
        let level = i128::from(self.level) + gained(&self.rate, after);
        usize::try_from(level.div_euclid(ONE).clamp(0, self.tokens.into())).unwrap_or_default()
    }

    /// Returns the time from the lease to the arrival of this many tokens, even if it has fewer.
    pub(crate) fn arrives_after(&self, tokens: usize) -> Duration {
        time_for(billionths(tokens) - i128::from(self.level), &self.rate)
    }

    /// Returns the time from an empty lease until the next one may have a token.
    pub(crate) fn retry_after(&self) -> Duration {
        time_for(ONE - gained(&self.rate, AHEAD) - i128::from(self.level), &self.rate)
    }

    /// Returns the number of tokens that arrive in this time, at least one.
    pub(crate) fn most_in(&self, time: Duration) -> usize {
        usize::try_from(gained(&self.rate, time) / ONE).unwrap_or(usize::MAX).max(1)
    }
}

/// Returns the time in which this many billionths of a token arrive.
fn time_for(missing: i128, rate: &Rate) -> Duration {
    let missing = missing.max(0).unsigned_abs();
    let nanos = missing.saturating_mul(rate.period().as_secs().into()).div_ceil(rate.messages().into());
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

fn billionths(tokens: usize) -> i128 {
    i128::try_from(tokens).unwrap_or(i128::MAX / ONE).saturating_mul(ONE)
}

pub(crate) fn capacity(rate: &Rate) -> i128 {
    rate.capacity() / i128::from(rate.period().as_secs())
}

pub(crate) fn gained(rate: &Rate, time: Duration) -> i128 {
    nanoseconds(time).saturating_mul(rate.messages().into()) / i128::from(rate.period().as_secs())
}

fn narrow(level: i128) -> i64 {
    i64::try_from(level).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn millis(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_lease_takes_the_tokens_of_the_bucket_and_of_the_next_second() {
        let rate = Rate::per_second(50).burst(20);
        let mut bucket = Bucket::full(&rate);
        let lease = bucket.lease(100, &rate, millis(3));
        assert_eq!((lease.tokens(), bucket), (70, Bucket { level: -50_000_000_000, at: millis(3) }));
        assert_eq!(
            [0, 19, 20, 999, 1_000, 9_000].map(|after| lease.arrived(millis(after))),
            [20, 20, 21, 69, 70, 70]
        );
        assert_eq!([20, 21, 70].map(|tokens| lease.arrives_after(tokens)), [0, 20, 1_000].map(millis));
        let none = bucket.lease(100, &rate, millis(3));
        assert_eq!((none.tokens(), none.retry_after()), (0, millis(20)));
        assert_eq!(bucket.lease(100, &rate, millis(103)).tokens(), 5);
        assert_eq!(bucket.lease(2, &rate, millis(99_999)).arrived(millis(0)), 2);
    }

    #[test]
    fn a_bucket_holds_the_burst_and_gains_the_rate() {
        let rate = Rate::per_second(50).burst(20);
        let mut bucket = Bucket::full(&rate);
        assert_eq!(bucket.tokens(&rate, millis(1_000)), 20);
        bucket.take(20, &rate, millis(1_000));
        let times = [1_019, 1_020, 1_399, 1_400, 9_000].map(millis);
        assert_eq!(times.map(|at| bucket.tokens(&rate, at)), [0, 1, 19, 20, 20]);
        assert_eq!((bucket.holds_at(1, &rate), bucket.is_full_at(&rate)), (millis(1_020), millis(1_400)));
        bucket.take(5, &rate, millis(1_000));
        bucket.give_back(4, &rate, millis(1_000));
        assert_eq!(bucket.holds_at(1, &rate), millis(1_040), "one is yet to come");
    }

    #[test]
    fn a_token_of_a_slow_rate_is_leased_no_more_than_a_second_before_it_comes() {
        let rate = Rate::per_hour(36).burst(1);
        let mut bucket = Bucket::full(&rate);
        assert_eq!(bucket.lease(9, &rate, millis(0)).tokens(), 1);
        let none = bucket.lease(9, &rate, millis(1_000));
        assert_eq!((none.tokens(), none.retry_after()), (0, millis(98_000)));
        let lease = bucket.lease(9, &rate, millis(99_000));
        assert_eq!((lease.tokens(), lease.arrives_after(1)), (1, millis(1_000)));
    }

    #[test]
    fn a_time_that_is_behind_gains_nothing_and_never_sets_the_bucket_back() {
        let rate = Rate::per_second(10).burst(5);
        let mut bucket = Bucket { level: 0, at: millis(60_000) };
        assert_eq!(bucket.lease(100, &rate, millis(5)).tokens(), 10);
        assert_eq!(bucket, Bucket { level: -10_000_000_000, at: millis(60_000) });
    }

    #[test]
    fn a_lower_rate_does_not_wait_for_the_tokens_that_a_higher_one_leased() {
        let (high, low) = (Rate::per_second(1_000), Rate::per_minute(10));
        let mut bucket = Bucket::full(&high);
        assert_eq!(bucket.lease(9_999, &high, millis(0)).tokens(), 1_501);
        for mut bucket in [bucket, Bucket { level: i64::MIN, at: millis(0) }] {
            let none = bucket.lease(9, &low, millis(1));
            assert_eq!((none.tokens(), none.retry_after().as_millis()), (0, 5_999));
            assert_eq!(bucket.lease(9, &low, millis(6_000)).tokens(), 1);
        }
        assert_eq!(bucket.lease(9_999, &high, millis(1_000)).tokens(), 1_000);
    }

    proptest! {
        #[test]
        fn a_window_never_exceeds_the_burst_and_the_rate(
            messages in 1_u32..200, burst in prop::option::of(1_u32..100), unit in 0_usize..3,
            steps in prop::collection::vec((0_u64..5_000, 0_usize..40), 1..60),
        ) {
            let rate = [Rate::per_second, Rate::per_minute, Rate::per_hour][unit](messages);
            let rate = burst.map_or(rate, |burst| rate.burst(burst));
            let per_milli = f64::from(messages) / rate.period().as_secs_f64() / 1_000.0;
            let most = burst.map_or(1.0 + 500.0 * per_milli, f64::from);
            let (mut some, mut all) = (Bucket::full(&rate), Bucket::full(&rate));
            let (mut now, mut starts, mut taken, mut is_full) = (0, Vec::new(), all.tokens(&rate, millis(0)), false);
            all.take(taken, &rate, millis(0));
            for (later, wanted) in steps {
                now += later;
                let count = wanted.min(some.tokens(&rate, millis(now)));
                some.take(count, &rate, millis(now));
                starts.push((now, count));
                let tokens = all.tokens(&rate, millis(now));
                // A full bucket gains nothing.
                is_full |= tokens as f64 + 1.0 > most;
                all.take(tokens, &rate, millis(now));
                taken += tokens;
                prop_assert!(is_full || taken as f64 + 1.0 >= most + now as f64 * per_milli - 1e-6);
            }
            for first in 0..starts.len() {
                let mut sum = 0;
                for (at, count) in &starts[first..] {
                    sum += count;
                    let time = (at - starts[first].0) as f64;
                    prop_assert!(sum as f64 <= most + time * per_milli + 1e-6);
                }
            }
        }

        #[test]
        fn leases_never_exceed_the_rate_and_lose_no_tokens_under_load(
            messages in 1_u32..500, burst in prop::option::of(1_u32..100), unit in 0_usize..3,
            steps in prop::collection::vec((0_u64..2_000, 0_u32..60, 0_u64..3_000), 1..60),
        ) {
            let rate = [Rate::per_second, Rate::per_minute, Rate::per_hour][unit](messages);
            let rate = burst.map_or(rate, |burst| rate.burst(burst));
            let per_milli = f64::from(messages) / rate.period().as_secs_f64() / 1_000.0;
            let most = burst.map_or(1.0 + 500.0 * per_milli, f64::from);
            let (mut bucket, mut all) = (Bucket::full(&rate), Bucket::full(&rate));
            let (mut now, mut came, mut taken) = (0, Vec::new(), 0.0);
            let mut is_full = false;
            for (later, wanted, behind) in steps {
                now += later;
                let before = bucket.at;
                // The clocks of some processes are behind.
                let time = now.saturating_sub(behind).max(u64::try_from(bucket.at.as_millis()).unwrap());
                let lease = bucket.lease(wanted, &rate, millis(time));
                prop_assert!(bucket.at >= before && bucket.at <= millis(now) && lease.tokens() <= wanted);
                let tokens = usize::try_from(lease.tokens()).unwrap();
                came.extend((1..=tokens).map(|token| millis(time) + lease.arrives_after(token)));
                is_full |= all.level as f64 / 1e9 + (millis(now) - all.at).as_millis() as f64 * per_milli >= most;
                taken += f64::from(all.lease(u32::MAX, &rate, millis(now)).tokens());
                prop_assert!(is_full || taken + 1.0 >= now as f64 * per_milli, "{taken} by {now}");
            }
            came.sort_unstable();
            for first in 0..came.len() {
                for last in first..came.len().min(first + 200) {
                    let time = (came[last] - came[first]).as_secs_f64() * 1_000.0;
                    prop_assert!((last - first + 1) as f64 <= most + time * per_milli + 1e-3);
                }
            }
        }
    }
}
