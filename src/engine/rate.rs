//! A token bucket: how many messages a worker may receive now, so that each can start at once.

use std::time::Duration;

use redrive_sqs::MAX_ENTRIES;

use super::Time;
use crate::rate::{Rate, nanoseconds};

/// Tokens wait for others for so long, so that one receive asks for them together.
const GATHERING: Duration = Duration::from_millis(100);

/// Whole numbers only, so that nothing is lost or gained: nanoseconds times messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bucket {
    rate: Rate,
    /// What it held at that time.
    level: i128,
    at: Time,
}

impl Bucket {
    pub(super) fn full(rate: Rate, now: Time) -> Self {
        Self { rate, level: rate.capacity(), at: now }
    }

    /// How many messages may start.
    pub(super) fn tokens(&self, now: Time) -> usize {
        usize::try_from(self.level(now) / self.cost()).unwrap_or_default()
    }

    pub(super) fn take(&mut self, messages: usize, now: Time) {
        let cost = self.cost().saturating_mul(i128::try_from(messages).unwrap_or(i128::MAX));
        (self.level, self.at) = (self.level(now).saturating_sub(cost), now.max(self.at));
    }

    /// How many messages receives may ask for together, if those under way ask for so many: no more until there are enough
    /// tokens for another receive. The tokens stay in the bucket until messages come, so that it does not fill meanwhile.
    pub(super) fn ask(&self, asked: usize, now: Time) -> usize {
        let tokens = self.tokens(now);
        if tokens >= asked + enough(&self.rate) { tokens } else { asked.min(tokens) }
    }

    pub(super) fn give_back(&mut self, messages: usize, now: Time) {
        let cost = self.cost().saturating_mul(i128::try_from(messages).unwrap_or(i128::MAX));
        (self.level, self.at) =
            (self.level(now).saturating_add(cost).min(self.rate.capacity()), now.max(self.at));
    }

    /// When the next message may start, after those that took tokens which are yet to come.
    pub(super) fn next_at(&self, now: Time) -> Time {
        self.reaches(self.cost()).map_or(Time::MAX, |at| at.max(now))
    }

    /// What it held was counted at this time.
    pub(super) const fn counted_at(&self) -> Time {
        self.at
    }

    /// When it is full again.
    pub(super) fn full_at(&self) -> Time {
        self.reaches(self.rate.capacity()).unwrap_or(Time::MAX)
    }

    /// When there are enough tokens for another receive, if not now.
    pub(super) fn due_at(&self, asked: usize, now: Time) -> Option<Time> {
        let wanted = self.cost().saturating_mul(i128::try_from(asked + enough(&self.rate)).ok()?);
        self.reaches(wanted).filter(|at| *at > now && wanted <= self.rate.capacity())
    }

    /// When it would hold this.
    fn reaches(&self, level: i128) -> Option<Time> {
        let missing = (level - self.level).max(0).unsigned_abs();
        let after = u64::try_from(missing.div_ceil(self.rate.messages().into())).ok()?;
        Some(self.at + Duration::from_nanos(after))
    }

    fn level(&self, now: Time) -> i128 {
        let gained = nanoseconds(now.saturating_sub(self.at)).saturating_mul(self.rate.messages().into());
        self.level.saturating_add(gained).min(self.rate.capacity())
    }

    fn cost(&self) -> i128 {
        nanoseconds(self.rate.period())
    }
}

/// How many tokens one receive waits for.
pub(super) fn enough(rate: &Rate) -> usize {
    let cost = nanoseconds(rate.period());
    let gathered = i128::from(rate.messages()) * nanoseconds(GATHERING) / cost;
    let most = (rate.capacity() / cost).min(i128::try_from(MAX_ENTRIES).unwrap_or(i128::MAX));
    usize::try_from(gathered.min(most).max(1)).unwrap_or(MAX_ENTRIES)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn millis(milliseconds: u64) -> Time {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_bucket_holds_the_burst_and_gains_the_rate() {
        let mut bucket = Bucket::full(Rate::per_second(50).burst(20), millis(0));
        assert_eq!(bucket.tokens(millis(1_000)), 20);
        bucket.take(20, millis(1_000));
        assert_eq!(
            [1_019, 1_020, 1_399, 1_400, 9_000].map(|at| bucket.tokens(millis(at))),
            [0, 1, 19, 20, 20]
        );
    }

    #[test]
    fn a_receive_waits_for_ten_tokens_or_those_of_a_tenth_of_a_second() {
        assert_eq!(
            [
                Rate::per_second(5_000),
                Rate::per_second(50),
                Rate::per_hour(10),
                Rate::per_second(50).burst(2)
            ]
            .map(|rate| enough(&rate)),
            [10, 5, 1, 2]
        );
        let mut bucket = Bucket::full(Rate::per_second(50), millis(0));
        assert_eq!((bucket.ask(0, millis(0)), bucket.due_at(0, millis(0))), (26, None));
        bucket.take(26, millis(0));
        assert_eq!((bucket.ask(0, millis(99)), bucket.due_at(0, millis(99))), (0, Some(millis(100))));
        assert_eq!((bucket.ask(0, millis(100)), bucket.due_at(0, millis(100))), (5, None));
        // While one receive asks for five, another has to wait for five more.
        assert_eq!((bucket.ask(5, millis(180)), bucket.due_at(5, millis(180))), (5, Some(millis(200))));
        assert_eq!((bucket.ask(5, millis(200)), bucket.ask(26, millis(9_000))), (10, 26));
        assert_eq!(bucket.due_at(26, millis(200)), None, "the bucket never holds so many");
    }

    proptest! {
        #[test]
        fn in_any_window_no_more_than_the_burst_and_the_rate_and_no_less_if_all_is_taken(
            messages in 1_u32..200, burst in prop::option::of(1_u32..100), unit in 0_usize..3,
            steps in prop::collection::vec((0_u64..5_000, 0_usize..40), 1..60),
        ) {
            let rate = [Rate::per_second, Rate::per_minute, Rate::per_hour][unit](messages);
            let rate = burst.map_or(rate, |burst| rate.burst(burst));
            let per_milli = f64::from(messages) / rate.period().as_secs_f64() / 1_000.0;
            let most = burst.map_or(1.0 + 500.0 * per_milli, f64::from);
            let (mut some, mut all) = (Bucket::full(rate, millis(0)), Bucket::full(rate, millis(0)));
            let (mut now, mut starts, mut taken, mut is_full) = (0, Vec::new(), all.tokens(millis(0)), false);
            all.take(taken, millis(0));
            for (later, wanted) in steps {
                now += later;
                let count = wanted.min(some.tokens(millis(now)));
                some.take(count, millis(now));
                starts.push((now, count));
                let tokens = all.tokens(millis(now));
                // What a full bucket would gain is lost.
                is_full |= tokens as f64 + 1.0 > most;
                all.take(tokens, millis(now));
                taken += tokens;
                if !is_full {
                    prop_assert!(taken as f64 + 1.0 >= most + now as f64 * per_milli - 1e-6);
                }
            }
            for first in 0..starts.len() {
                for last in first..starts.len() {
                    let window = &starts[first..=last];
                    let sum: usize = window.iter().map(|(_, count)| count).sum();
                    let time = (starts[last].0 - starts[first].0) as f64;
                    prop_assert!(sum as f64 <= most + time * per_milli + 1e-6);
                }
            }
        }
    }
}
