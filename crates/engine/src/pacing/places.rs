//! Shares the handlers that may run at a time in a process among its queues. A queue without messages keeps one place, so that
//! its next message begins at once.

use crate::Time;

/// The places of a process.
#[derive(Debug, Clone)]
pub struct Places {
    total: usize,
    /// True if the first queue has the places that it needs, the second one needs, and so on.
    is_strict: bool,
    queues: Vec<QueuePlaces>,
}

/// The places that a queue uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlacesInUse {
    /// Places that messages have.
    pub in_hand: usize,
    /// Places that receives under way ask for.
    pub asked: usize,
    /// True if the last receive returned as many messages as it asked for.
    pub has_backlog: bool,
}

#[derive(Debug, Clone)]
struct QueuePlaces {
    weight: usize,
    /// The places that it may have.
    most: usize,
    /// The handlers that may run at a time. More may run until they end, if there were more places before.
    granted: usize,
    /// Places that messages have, or that receives ask for.
    used: usize,
    /// The most places that messages had in this second, and in the second before.
    peaks: [usize; 2],
    /// True if it had a backlog and used all its places in this second, and in the second before. If not, something else limits it,
    /// such as its rate.
    filled: [bool; 2],
    second: u64,
    has_ended: bool,
}

impl QueuePlaces {
    /// Returns the places that it needs: a quarter more than it had lately, or twice as many if it has a backlog, so that it gets
    /// the others within a few receives.
    fn needs(&self) -> usize {
        let peak = self.peaks[0].max(self.peaks[1]);
        let more = if self.filled[0] || self.filled[1] { peak } else { peak / 4 };
        if self.has_ended { 0 } else { (peak + more + 1).min(self.most) }
    }

    /// Returns the places that no other queue can have.
    fn held(&self) -> usize {
        self.granted.max(self.used)
    }

    /// Within a second, what it needs only grows, so that sharing ends.
    fn saw(&mut self, places: PlacesInUse, now: Time) {
        self.used = places.in_hand + places.asked;
        let (in_hand, is_full) = (places.in_hand, places.has_backlog && self.used >= self.granted);
        let second = now.as_secs();
        (self.peaks, self.filled) = match second - self.second {
            0 => ([self.peaks[0].max(in_hand), self.peaks[1]], [self.filled[0] || is_full, self.filled[1]]),
            1 => ([in_hand, self.peaks[0]], [is_full, self.filled[0]]),
            _ => ([in_hand; 2], [is_full; 2]),
        };
        self.second = second;
    }
}

impl Places {
    /// Creates the places for queues with these weights. There is at least one place for each.
    pub fn new(total: usize, is_strict: bool, weights: impl IntoIterator<Item = usize>) -> Self {
        let queue = |weight| QueuePlaces {
            weight,
            most: total,
            granted: 1,
            used: 0,
            peaks: [0, 0],
            filled: [false, false],
            second: 0,
            has_ended: false,
        };
        Self { total, is_strict, queues: weights.into_iter().map(queue).collect() }
    }

    /// Returns the handlers of a queue that may run at a time.
    pub fn granted(&self, queue: usize) -> usize {
        self.queues[queue].granted
    }

    /// Limits the places of a queue to its own concurrency.
    pub fn limit(&mut self, queue: usize, most: usize) {
        let it = &mut self.queues[queue];
        it.most = it.most.min(most);
    }

    /// Records the places that a queue uses. Returns the queues that have more places now, or fewer.
    pub fn record(&mut self, queue: usize, places: PlacesInUse, now: Time) -> Vec<usize> {
        let it = &mut self.queues[queue];
        let before = (it.used, it.needs());
        it.saw(places, now);
        if (it.used, it.needs()) == before { Vec::new() } else { self.share() }
    }

    /// Records that the worker of a queue has ended. Returns the queues that have more places.
    pub fn end(&mut self, queue: usize) -> Vec<usize> {
        let it = &mut self.queues[queue];
        (it.used, it.has_ended) = (0, true);
        self.share()
    }

    /// Takes places from queues that need fewer, and gives those that are not in use to others.
    fn share(&mut self) -> Vec<usize> {
        let targets = self.targets();
        let before: Vec<_> = self.queues.iter().map(|queue| queue.granted).collect();
        for (queue, target) in self.queues.iter_mut().zip(&targets) {
            queue.granted = queue.granted.min(*target);
        }
        let mut free = self.total.saturating_sub(self.queues.iter().map(QueuePlaces::held).sum());
        for (queue, target) in self.queues.iter_mut().zip(&targets) {
            let held = queue.held();
            queue.granted = (*target).min(held + free).max(queue.granted);
            free -= queue.held() - held;
        }
        (0..before.len()).filter(|at| self.queues[*at].granted != before[*at]).collect()
    }

    /// Returns the places that each queue should have: at least one, and no more than it needs.
    fn targets(&self) -> Vec<usize> {
        let mut order: Vec<_> = (0..self.queues.len()).collect();
        if !self.is_strict {
            // Queues that need less than their weight's share leave the rest to the others.
            order.sort_by(|one, other| {
                let [one, other] = [one, other].map(|at| &self.queues[*at]);
                (one.needs() * other.weight).cmp(&(other.needs() * one.weight))
            });
        }
        let mut targets: Vec<_> = self.queues.iter().map(|queue| queue.needs().min(1)).collect();
        let mut left = self.total.saturating_sub(targets.iter().sum());
        let mut weights: usize = self.queues.iter().map(|queue| queue.weight).sum();
        for at in order {
            let queue = &self.queues[at];
            let share = if self.is_strict { left } else { (left * queue.weight).div_ceil(weights) };
            let more = queue.needs().saturating_sub(targets[at]).min(share);
            targets[at] += more;
            left -= more;
            weights -= queue.weight;
        }
        targets
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    /// Places of messages, more of which wait.
    const fn full(in_hand: usize) -> PlacesInUse {
        PlacesInUse { in_hand, asked: 0, has_backlog: true }
    }

    /// Places of all messages that there are.
    const fn all(in_hand: usize) -> PlacesInUse {
        PlacesInUse { in_hand, asked: 0, has_backlog: false }
    }

    fn granted<const N: usize>(places: &Places) -> [usize; N] {
        std::array::from_fn(|queue| places.granted(queue))
    }

    /// Lets half of each queue's handlers end, and others begin in the places that it has, for some turns. Returns the places in use.
    fn settle(places: &mut Places, messages: &[usize], from: Time) -> Vec<usize> {
        let mut used = vec![0; messages.len()];
        for turn in 0..40 {
            for (queue, messages) in messages.iter().enumerate() {
                let now = from + Duration::from_millis(100) * turn;
                places.record(queue, all(used[queue] / 2), now);
                used[queue] = places.granted(queue).min(*messages);
                let in_use = if used[queue] < *messages { full(used[queue]) } else { all(used[queue]) };
                places.record(queue, in_use, now);
            }
        }
        used
    }

    #[test]
    fn queues_with_many_messages_share_by_weight() {
        let mut places = Places::new(40, false, [3, 1]);
        assert_eq!(settle(&mut places, &[1_000, 1_000], Time::ZERO), [30, 10]);
        assert_eq!(settle(&mut places, &[0, 1_000], Time::from_secs(10)), [0, 39]);
        assert_eq!(places.granted(0), 1, "an idle queue keeps a place");
        assert_eq!(settle(&mut places, &[1_000, 1_000], Time::from_secs(30)), [30, 10]);
    }

    #[test]
    fn a_queue_that_never_fills_its_places_leaves_the_others() {
        let mut places = Places::new(40, true, [1, 1]);
        assert_eq!(settle(&mut places, &[19, 1_000], Time::ZERO), [19, 16]);
        assert_eq!(granted(&places), [24, 16]);
        assert_eq!(settle(&mut places, &[2, 1_000], Time::from_secs(10)), [2, 37]);
    }

    #[test]
    fn a_queue_that_its_rate_holds_back_leaves_places_to_the_others() {
        let mut places = Places::new(40, true, [1, 1]);
        let mut other = 0;
        for turn in 0..100 {
            let now = Duration::from_millis(100) * turn;
            places.record(0, full(places.granted(0).min(10)), now);
            other = places.granted(1);
            places.record(1, full(other), now);
        }
        assert_eq!((other, granted(&places)), (27, [13, 27]));
    }

    #[test]
    fn a_strict_order_leaves_one_place_to_the_others() {
        let mut places = Places::new(40, true, [1, 1, 1]);
        assert_eq!(settle(&mut places, &[1_000, 1_000, 1_000], Time::ZERO), [38, 1, 1]);
        assert_eq!(settle(&mut places, &[0, 1_000, 1_000], Time::from_secs(10)), [0, 38, 1]);
        assert_eq!(settle(&mut places, &[0, 0, 1_000], Time::from_secs(20)), [0, 0, 38]);
    }

    #[test]
    fn places_in_use_are_not_taken_away() {
        let mut places = Places::new(10, true, [1, 1]);
        settle(&mut places, &[0, 1_000], Time::ZERO);
        assert_eq!(granted(&places), [1, 9]);
        let now = Time::from_secs(10);
        assert_eq!(places.record(0, full(1), now), [1], "all others are in use");
        assert_eq!(granted(&places), [1, 7]);
        assert_eq!(places.record(1, full(5), now), [0]);
        assert_eq!(granted(&places), [3, 7]);
        assert_eq!(places.record(0, full(3), now), [0, 1]);
        assert_eq!(granted(&places), [5, 3]);
        // Receives that are under way use the places that they ask for.
        let polls = |asked| PlacesInUse { in_hand: 1, asked, has_backlog: true };
        assert_eq!(places.record(1, polls(4), now), [] as [usize; 0]);
        assert_eq!(places.record(1, polls(0), now), [0]);
        assert_eq!(granted(&places), [7, 3]);
    }

    #[test]
    fn the_places_of_a_queue_that_ended_are_free() {
        let mut places = Places::new(10, false, [1, 1]);
        settle(&mut places, &[1_000, 1_000], Time::ZERO);
        assert_eq!(places.end(0), [0, 1]);
        assert_eq!(settle(&mut places, &[0, 1_000], Time::from_secs(10)), [0, 10]);
    }

    #[test]
    fn a_queue_never_has_more_places_than_its_own_limit() {
        let mut places = Places::new(10, false, [5, 1]);
        places.limit(0, 2);
        assert_eq!(settle(&mut places, &[1_000, 1_000], Time::ZERO), [2, 8]);
    }

    proptest! {
        #[test]
        fn no_more_handlers_run_than_there_are_places(
            is_strict in any::<bool>(), total in 3_usize..30, weights in prop::collection::vec(1_usize..5, 3),
            steps in prop::collection::vec((0_usize..3, 0_usize..30, 0_u64..2_000), 0..200),
        ) {
            let mut places = Places::new(total, is_strict, weights);
            let (mut used, mut now) = ([0; 3], Time::ZERO);
            for (queue, wants, later) in steps {
                now += Duration::from_millis(later);
                // Handlers end, or as many begin as may run.
                used[queue] = wants.min(places.granted(queue).max(used[queue]));
                let before: [usize; 3] = granted(&places);
                let in_use = if used[queue] < wants { full(used[queue]) } else { all(used[queue]) };
                let changed = places.record(queue, in_use, now);
                for (at, before) in before.into_iter().enumerate() {
                    prop_assert!(places.granted(at) >= 1);
                    prop_assert_eq!(changed.contains(&at), places.granted(at) != before);
                }
                prop_assert!((0..3).map(|queue| places.granted(queue).max(used[queue])).sum::<usize>() <= total);
            }
        }

        /// A worker whose places have changed records again at once.
        #[test]
        fn sharing_ends(
            is_strict in any::<bool>(), total in 3_usize..30, weights in prop::collection::vec(1_usize..5, 3),
            steps in prop::collection::vec((0_usize..3, 0_usize..20, 0_usize..20, any::<bool>(), 0_u64..2_000), 0..100),
        ) {
            let mut places = Places::new(total, is_strict, weights);
            let (mut used, mut now) = ([PlacesInUse::default(); 3], Time::ZERO);
            for (queue, in_hand, asked, has_backlog, later) in steps {
                now += Duration::from_millis(later);
                used[queue] = PlacesInUse { in_hand, asked, has_backlog };
                let mut changed = BTreeSet::from([queue]);
                for _ in 0..100 {
                    changed = changed.into_iter().flat_map(|queue| places.record(queue, used[queue], now)).collect();
                }
                prop_assert!(changed.is_empty(), "{:?}", places);
            }
        }
    }
}
