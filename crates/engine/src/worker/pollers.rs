//! Decides when to receive, and how many messages to ask for: never more than there are free places.

use std::time::Duration;

use redrive_sqs::MAX_ENTRIES;

/// The time for which free places wait for others, so that one poll fills them together.
const GATHERING: Duration = Duration::from_millis(10);
/// The pause after the second of consecutive errors, four times as long after each further one, and the longest pause.
const FIRST_PAUSE: Duration = Duration::from_millis(25);
const LONGEST_PAUSE: Duration = Duration::from_secs(20);

/// The pollers of a worker: one when there is little to do, several under load.
#[derive(Debug, Clone)]
pub(crate) struct Pollers {
    pub(crate) capacity: usize,
    pub(crate) wanted: usize,
    pub(crate) under_way: usize,
    /// Messages that the polls under way ask for.
    pub(crate) asked: usize,
    /// Polls that have failed since the last one that did not.
    pub(crate) errors: u32,
    /// Failed polls that were sent after the one before had failed: polls that fail together may have one cause.
    pub(crate) in_a_row: u32,
    /// The time at which the last of these failed.
    pub(crate) failed_at: Duration,
    pub(crate) paused_until: Duration,
    pub(crate) room_since: Option<Duration>,
    /// True if the last poll returned as many messages as it asked for.
    pub(crate) was_full: bool,
}

impl Pollers {
    /// Creates pollers for at most this many messages in hand.
    pub(crate) const fn new(capacity: usize) -> Self {
        Self {
            capacity,
            wanted: 1,
            under_way: 0,
            asked: 0,
            errors: 0,
            in_a_row: 0,
            failed_at: Duration::ZERO,
            paused_until: Duration::ZERO,
            room_since: None,
            was_full: false,
        }
    }

    /// Begins the next poll, if one is due while this many places are free. Returns the number of messages that it asks for.
    pub(crate) fn next(&mut self, free: usize, now: Duration) -> Option<usize> {
        let room = free.saturating_sub(self.asked).min(MAX_ENTRIES);
        if room == 0 {
            self.room_since = None;
            return None;
        }
        let since = *self.room_since.get_or_insert(now);
        let is_due = room == self.capacity.min(MAX_ENTRIES) || now >= since + GATHERING;
        if !self.may_poll(now) || !is_due {
            return None;
        }
        self.room_since = None;
        self.under_way += 1;
        self.asked += room;
        Some(room)
    }

    /// Returns true if another poll may be made.
    pub(crate) fn may_poll(&self, now: Duration) -> bool {
        self.under_way < self.wanted && now >= self.paused_until
    }

    /// Returns when a poll may become due if nothing else happens.
    pub(crate) fn due_at(&self) -> Option<Duration> {
        let since = self.room_since.filter(|_| self.under_way < self.wanted)?;
        Some((since + GATHERING).max(self.paused_until))
    }

    /// Notes the end of a poll that asked for `asked` messages and returned `messages`.
    pub(crate) fn brought(&mut self, asked: usize, messages: usize) {
        self.ended(asked);
        // The queue is not down, so earlier failures no longer count.
        (self.errors, self.in_a_row) = (0, 0);
        (self.failed_at, self.paused_until) = (Duration::ZERO, Duration::ZERO);
        let most = self.capacity.div_ceil(MAX_ENTRIES);
        self.was_full = messages >= asked;
        if messages == 0 {
            self.wanted = 1;
        } else if self.was_full {
            self.wanted = (self.wanted + 1).min(most);
        }
    }

    /// Notes the failure of a poll that was sent at this time. Returns the failures since the last success. The first error costs
    /// nothing but its poll. After more in a row, one poller is left, which waits before it tries again. `random` is from 0 to 1.
    pub(crate) fn failed(&mut self, asked: usize, sent: Duration, now: Duration, random: f64) -> u32 {
        self.ended(asked);
        self.errors = self.errors.saturating_add(1);
        if sent >= self.failed_at {
            self.in_a_row = self.in_a_row.saturating_add(1);
            self.failed_at = now;
            if let Some(again) = self.in_a_row.checked_sub(2) {
                self.wanted = 1;
                let pause = FIRST_PAUSE.saturating_mul(1 << (2 * again).min(20)).min(LONGEST_PAUSE);
                self.paused_until = now + pause.mul_f64(0.5 + random / 2.0);
            }
        }
        self.errors
    }

    fn ended(&mut self, asked: usize) {
        self.under_way -= 1;
        self.asked -= asked;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    const fn millis(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn full_polls_add_pollers_and_an_empty_poll_leaves_one() {
        let mut pollers = Pollers::new(100);
        assert_eq!((pollers.next(100, millis(0)), pollers.next(100, millis(0))), (Some(10), None));
        pollers.brought(10, 10);
        let two = [(); 3].map(|()| pollers.next(90, millis(0)));
        assert_eq!(two, [Some(10), Some(10), None]);
        pollers.brought(10, 10);
        pollers.brought(10, 3);
        assert_eq!(std::iter::from_fn(|| pollers.next(70, millis(0))).count(), 3);
        (0..3).for_each(|_| pollers.brought(10, 0));
        assert_eq!([(); 2].map(|()| pollers.next(100, millis(0))), [Some(10), None]);
    }

    #[test]
    fn few_free_places_wait_a_moment_for_more() {
        let mut pollers = Pollers::new(20);
        assert_eq!(pollers.next(3, millis(50)), None);
        assert_eq!(pollers.due_at(), Some(millis(60)));
        assert_eq!(pollers.next(7, millis(60)), Some(7));
        assert_eq!(pollers.due_at(), None);
        // If there are fewer places than a poll can fill, it does not wait for more.
        assert_eq!(Pollers::new(4).next(4, millis(0)), Some(4));
    }

    #[test]
    fn consecutive_errors_pause_for_up_to_twenty_seconds() {
        let mut pollers = Pollers::new(10);
        let mut now = millis(0);
        for pause in [0, 25, 100, 400, 1_600, 6_400, 20_000, 20_000] {
            let asked = pollers.next(10, now).unwrap();
            let sent = now;
            now += millis(5);
            pollers.failed(asked, sent, now, 1.0);
            assert_eq!(pollers.next(10, now).is_some(), pause == 0);
            if pause == 0 {
                (pollers.under_way, pollers.asked) = (0, 0);
            } else {
                assert_eq!(pollers.due_at(), Some(now + millis(pause)));
            }
            now += millis(pause);
        }
        assert_eq!(pollers.errors, 8);
        let asked = pollers.next(10, now).unwrap();
        pollers.brought(asked, 0);
        assert_eq!((pollers.errors, pollers.next(10, now)), (0, Some(10)));
    }

    #[test]
    fn polls_that_fail_together_count_as_one_error() {
        let mut pollers = Pollers::new(100);
        pollers.wanted = 10;
        (0..10).for_each(|_| assert_eq!(pollers.next(100, millis(0)), Some(10)));
        (0..9).for_each(|number| assert_eq!(pollers.failed(10, millis(0), millis(5), 1.0), number + 1));
        assert_eq!((pollers.wanted, pollers.next(100, millis(5))), (10, Some(10)));
        pollers.failed(10, millis(5), millis(10), 1.0);
        assert_eq!((pollers.wanted, pollers.next(100, millis(10))), (1, None));
        pollers.brought(10, 10);
        assert!((0..2).all(|_| pollers.next(100, millis(10)) == Some(10)), "as many as after any full poll");
    }

    /// Simulates polls of 5 ms. Returns how many are made in this time, and how many return messages, which are done at once.
    fn simulate(capacity: usize, time: Duration, mut fails: impl FnMut(Duration) -> bool) -> [usize; 2] {
        let mut rng = fastrand::Rng::with_seed(7);
        let (mut pollers, mut under_way, mut now) = (Pollers::new(capacity), VecDeque::new(), millis(0));
        let (mut calls, mut good) = (0, 0);
        while now < time {
            while let Some(asked) = pollers.next(capacity, now) {
                calls += 1;
                under_way.push_back((now, asked));
            }
            let ends = under_way.front().map(|(sent, _)| *sent + millis(5));
            now = ends.into_iter().chain(pollers.due_at()).min().unwrap();
            while let Some((sent, asked)) = under_way.pop_front_if(|(sent, _)| *sent + millis(5) <= now) {
                if fails(now) {
                    pollers.failed(asked, sent, now, rng.f64());
                } else {
                    good += 1;
                    pollers.brought(asked, asked);
                }
            }
        }
        [calls, good]
    }

    #[test]
    fn a_few_errors_cost_little_more_than_their_share() {
        let minute = Duration::from_secs(60);
        for capacity in [10, 30, 100] {
            let [_, best] = simulate(capacity, minute, |_| false);
            for (percent, least) in [(2, 0.95), (10, 0.8)] {
                let mut rng = fastrand::Rng::with_seed(3);
                let [_, good] = simulate(capacity, minute, |_| rng.u8(..100) < percent);
                assert!(good as f64 > least * best as f64, "{percent} % with {capacity}: {good} of {best}");
            }
        }
    }

    #[test]
    fn a_queue_that_is_down_is_asked_rarely() {
        let (second, outage) = (Duration::from_secs(1), Duration::from_secs(600));
        for (capacity, most) in [(10, 50), (100, 75)] {
            let [up, _] = simulate(capacity, second, |_| false);
            let [calls, _] = simulate(capacity, second + outage, |now| now > second);
            assert!(calls - up <= most, "{} calls with {capacity}", calls - up);
        }
    }

    proptest! {
        #[test]
        fn no_poll_asks_for_more_than_there_are_free_places(
            capacity in 1_usize..60, steps in prop::collection::vec((0_usize..4, 0_usize..11, 0_u64..30), 0..200),
        ) {
            let mut pollers = Pollers::new(capacity);
            let (mut now, mut under_way, mut in_hand) = (millis(0), Vec::new(), 0_usize);
            for (step, number, later) in steps {
                now += millis(later);
                match step {
                    0 | 1 => if let Some(asked) = pollers.next(capacity - in_hand, now) {
                        under_way.push(asked);
                    },
                    2 if !under_way.is_empty() => {
                        let asked = under_way.remove(0);
                        let messages = number.min(asked);
                        pollers.brought(asked, messages);
                        in_hand += messages;
                    }
                    _ => in_hand = in_hand.saturating_sub(number),
                }
                let open: usize = under_way.iter().sum();
                prop_assert!(open + in_hand <= capacity);
                prop_assert!(pollers.under_way <= capacity.div_ceil(MAX_ENTRIES));
            }
        }
    }
}
