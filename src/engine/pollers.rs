//! When to ask SQS for messages, and for how many: never for more than there are free places.

use std::time::Duration;

use redrive_sqs::MAX_ENTRIES;

/// How long free places wait for others, so that one poll fills them together.
const GATHERING: Duration = Duration::from_millis(10);
/// The pause after the first of consecutive errors, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(20);

/// One poller when there is little to do, several under load.
#[derive(Debug, Clone)]
pub(crate) struct Pollers {
    pub(super) capacity: usize,
    pub(super) wanted: usize,
    pub(super) under_way: usize,
    /// How many messages the polls under way may bring.
    pub(super) asked: usize,
    /// How many polls have failed in a row.
    pub(super) errors: u32,
    pub(super) paused_until: Duration,
    pub(super) room_since: Option<Duration>,
}

impl Pollers {
    /// For so many messages in hand at most.
    pub(crate) const fn new(capacity: usize) -> Self {
        Self {
            capacity,
            wanted: 1,
            under_way: 0,
            asked: 0,
            errors: 0,
            paused_until: Duration::ZERO,
            room_since: None,
        }
    }

    /// How many messages the next poll asks for, if one is due while so many places are free.
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

    /// Whether another poll may be made.
    pub(crate) fn may_poll(&self, now: Duration) -> bool {
        self.under_way < self.wanted && now >= self.paused_until
    }

    /// When a poll may become due although nothing else happens.
    pub(crate) fn due_at(&self) -> Option<Duration> {
        let since = self.room_since.filter(|_| self.under_way < self.wanted)?;
        Some((since + GATHERING).max(self.paused_until))
    }

    /// A poll that asked for so many messages brought these.
    pub(crate) fn brought(&mut self, asked: usize, messages: usize) {
        self.ended(asked);
        self.errors = 0;
        let most = self.capacity.div_ceil(MAX_ENTRIES);
        if messages == 0 {
            self.wanted = 1;
        } else if messages >= asked {
            self.wanted = (self.wanted + 1).min(most);
        }
    }

    /// A poll failed. Returns how many have failed in a row; all wait before they try again. `random` is from 0 to 1.
    pub(crate) fn failed(&mut self, asked: usize, now: Duration, random: f64) -> u32 {
        self.ended(asked);
        self.wanted = 1;
        self.errors = self.errors.saturating_add(1);
        let pause = FIRST_PAUSE.saturating_mul(1 << (self.errors - 1).min(10)).min(LONGEST_PAUSE);
        self.paused_until = now + pause.mul_f64(0.5 + random / 2.0);
        self.errors
    }

    fn ended(&mut self, asked: usize) {
        self.under_way -= 1;
        self.asked -= asked;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn millis(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn one_poller_becomes_several_while_polls_come_back_full_and_one_at_an_empty_answer() {
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
        // Where there are fewer places than a poll may bring, all of them are many.
        assert_eq!(Pollers::new(4).next(4, millis(0)), Some(4));
    }

    #[test]
    fn errors_pause_all_polls_for_longer_each_time_up_to_twenty_seconds() {
        let mut pollers = Pollers::new(10);
        let mut now = millis(0);
        for pause in [500, 1_000, 2_000, 4_000, 8_000, 16_000, 20_000, 20_000] {
            let asked = pollers.next(10, now).unwrap();
            pollers.failed(asked, now, 1.0);
            assert_eq!(pollers.next(10, now), None);
            assert_eq!(pollers.due_at(), Some(now + millis(pause)));
            now += millis(pause);
        }
        assert_eq!(pollers.errors, 8);
        let asked = pollers.next(10, now).unwrap();
        pollers.brought(asked, 0);
        assert_eq!((pollers.errors, pollers.next(10, now)), (0, Some(10)));
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
