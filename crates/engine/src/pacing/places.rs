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

#[derive(Debug, Clone)]
struct QueuePlaces {
    weight: usize,
    /// The places that it may have.
    most: usize,
    /// The handlers that may run at a time. More may run until they end, if there were more places before.
    granted: usize,
    /// Places that messages have, or that its receives ask for.
    used: usize,
    /// The most places that messages had in this second, and in the second before.
    peaks: [usize; 2],
    second: u64,
    has_ended: bool,
}

impl QueuePlaces {
    /// Returns the places that it needs: twice as many as it had lately, so that a queue with more messages than places gets
    /// the others within a few receives.
    fn needs(&self) -> usize {
        let [now, before] = self.peaks;
        if self.has_ended { 0 } else { (2 * now.max(before) + 1).min(self.most) }
    }

    /// Returns the places that no other queue can have.
    fn held(&self) -> usize {
        self.granted.max(self.used)
    }

    fn saw(&mut self, in_hand: usize, now: Time) {
        let second = now.as_secs();
        match second - self.second {
            0 => self.peaks[0] = self.peaks[0].max(in_hand),
            1 => self.peaks = [in_hand, self.peaks[0]],
            _ => self.peaks = [in_hand, in_hand],
        }
        self.second = second;
    }
}

impl Places {
    /// Creates the places for queues with these weights, each with the most places that it may have. There is at least one place
    /// for each.
    pub fn new(total: usize, is_strict: bool, queues: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let queue = |(weight, most)| QueuePlaces {
            weight,
            most,
            granted: 1,
            used: 0,
            peaks: [0, 0],
            second: 0,
            has_ended: false,
        };
        Self { total, is_strict, queues: queues.into_iter().map(queue).collect() }
    }

    /// Returns the handlers of a queue that may run at a time.
    pub fn granted(&self, queue: usize) -> usize {
        self.queues[queue].granted
    }

    /// Records that a queue has messages in this many places, and asks for this many more. Returns the queues that have more
    /// places now, or fewer.
    pub fn record(&mut self, queue: usize, in_hand: usize, asked: usize, now: Time) -> Vec<usize> {
        let it = &mut self.queues[queue];
        it.used = in_hand + asked;
        it.saw(in_hand, now);
        self.share()
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
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    /// Lets half of each queue's handlers end, and others begin in the places that it has, for some turns. Returns the places in use.
    fn settle(places: &mut Places, messages: &[usize], from: Time) -> Vec<usize> {
        let mut used = vec![0; messages.len()];
        for turn in 0..40 {
            for (queue, messages) in messages.iter().enumerate() {
                let now = from + Duration::from_millis(100) * turn;
                places.record(queue, used[queue] / 2, 0, now);
                used[queue] = places.granted(queue).min(*messages);
                places.record(queue, used[queue], 0, now);
            }
        }
        used
    }

    #[test]
    fn queues_with_many_messages_share_by_weight() {
        let mut places = Places::new(40, false, [(3, 40), (1, 40)]);
        assert_eq!(settle(&mut places, &[1_000, 1_000], Time::ZERO), [30, 10]);
        assert_eq!(settle(&mut places, &[0, 1_000], Time::from_secs(10)), [0, 39]);
        assert_eq!(places.granted(0), 1, "an idle queue keeps a place");
        assert_eq!(settle(&mut places, &[5, 1_000], Time::from_secs(20)), [5, 29]);
        assert_eq!(settle(&mut places, &[1_000, 1_000], Time::from_secs(30)), [30, 10]);
    }

    #[test]
    fn a_strict_order_leaves_one_place_to_the_others() {
        let mut places = Places::new(40, true, [(1, 40), (1, 40), (1, 40)]);
        assert_eq!(settle(&mut places, &[1_000, 1_000, 1_000], Time::ZERO), [38, 1, 1]);
        assert_eq!(settle(&mut places, &[0, 1_000, 1_000], Time::from_secs(10)), [0, 38, 1]);
        assert_eq!(settle(&mut places, &[0, 0, 1_000], Time::from_secs(20)), [0, 0, 38]);
    }

    #[test]
    fn places_in_use_are_not_taken_away() {
        let mut places = Places::new(10, true, [(1, 10), (1, 10)]);
        settle(&mut places, &[0, 1_000], Time::ZERO);
        assert_eq!([0, 1].map(|queue| places.granted(queue)), [1, 9]);
        let now = Time::from_secs(10);
        assert_eq!(places.record(0, 1, 0, now), [1], "all others are in use");
        assert_eq!([0, 1].map(|queue| places.granted(queue)), [1, 7]);
        assert_eq!(places.record(1, 5, 0, now), [0]);
        assert_eq!([0, 1].map(|queue| places.granted(queue)), [3, 7]);
        assert_eq!(places.record(0, 3, 0, now), [0, 1]);
        assert_eq!([0, 1].map(|queue| places.granted(queue)), [5, 3]);
        // Receives that are under way use the places that they ask for.
        assert_eq!(places.record(1, 1, 4, now), [] as [usize; 0]);
        assert_eq!(places.record(1, 1, 0, now), [0]);
        assert_eq!([0, 1].map(|queue| places.granted(queue)), [7, 3]);
    }

    #[test]
    fn the_places_of_a_queue_that_ended_are_free() {
        let mut places = Places::new(10, false, [(1, 10), (1, 10)]);
        settle(&mut places, &[1_000, 1_000], Time::ZERO);
        assert_eq!(places.end(0), [0, 1]);
        assert_eq!(settle(&mut places, &[0, 1_000], Time::from_secs(10)), [0, 10]);
    }

    #[test]
    fn a_queue_never_has_more_places_than_its_own_limit() {
        let mut places = Places::new(10, false, [(5, 2), (1, 10)]);
        assert_eq!(settle(&mut places, &[1_000, 1_000], Time::ZERO), [2, 8]);
    }

    proptest! {
        #[test]
        fn no_more_handlers_run_than_there_are_places(
            is_strict in any::<bool>(), total in 3_usize..30, weights in prop::collection::vec(1_usize..5, 3),
            steps in prop::collection::vec((0_usize..3, 0_usize..30, 0_u64..2_000), 0..200),
        ) {
            let mut places = Places::new(total, is_strict, weights.into_iter().map(|weight| (weight, total)));
            let (mut used, mut now) = ([0; 3], Time::ZERO);
            for (queue, wants, later) in steps {
                now += Duration::from_millis(later);
                // Handlers end, or as many begin as may run.
                used[queue] = wants.min(places.granted(queue).max(used[queue]));
                let before = [0, 1, 2].map(|queue| places.granted(queue));
                let changed = places.record(queue, used[queue], 0, now);
                for (at, before) in before.into_iter().enumerate() {
                    prop_assert!(places.granted(at) >= 1);
                    prop_assert_eq!(changed.contains(&at), places.granted(at) != before);
                }
                prop_assert!((0..3).map(|queue| places.granted(queue).max(used[queue])).sum::<usize>() <= total);
            }
        }
    }
}
