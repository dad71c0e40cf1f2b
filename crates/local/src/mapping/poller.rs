//! Decides what a mapping does next: messages to receive, batches to pass to the function, and batches to give up. Pure.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

use super::batch::{Batch, Full};
use super::config::MappingConfig;
use crate::queue::Received;

/// The messages that a mapping has received, and its next step. The driver adds received messages ([`add`](Self::add)),
/// performs the steps, and reports the end of each invocation ([`end`](Self::end)).
#[derive(Debug)]
pub(crate) struct Poller {
    pub(crate) config: MappingConfig,
    pub(crate) queue_arn: String,
    batch: Batch,
    running: usize,
    throttled: VecDeque<Throttled>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Pass these messages to the function.
    Invoke(Vec<Received>),
    /// Report that a batch of this many messages waits, because its function has no concurrency left.
    Throttle(usize),
    /// Report that these messages are visible again, and that no function saw them.
    GiveUp(Vec<Received>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Capacity {
    /// One more invocation can start.
    Room,
    /// No invocation can start before another one ends.
    Full,
    /// No invocation starts any more.
    GaveUp,
}

/// A batch for which its function has no concurrency left. Its messages are visible again at `until`.
#[derive(Debug)]
struct Throttled {
    messages: Vec<Received>,
    until: SystemTime,
}

impl Poller {
    pub(crate) fn new(config: MappingConfig, queue_arn: String) -> Self {
        Self { config, queue_arn, batch: Batch::new(), running: 0, throttled: VecDeque::new() }
    }

    /// Returns true if the mapping has no received messages left.
    pub(crate) fn is_drained(&self) -> bool {
        self.running == 0 && self.batch.is_empty() && self.throttled.is_empty()
    }

    /// Returns the step for throttled batches: they start when the function has room. After the visibility timeout of their
    /// messages they are given up.
    /// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html>
    pub(crate) fn retry(&mut self, capacity: Capacity, now: SystemTime) -> Option<Step> {
        if let Some(late) = self.throttled.pop_front_if(|batch| batch.until <= now) {
            return Some(Step::GiveUp(late.messages));
        }
        let batch = self.throttled.pop_front_if(|_| capacity == Capacity::Room)?;
        self.running += 1;
        Some(Step::Invoke(batch.messages))
    }

    pub(crate) fn room(&self, capacity: Capacity) -> usize {
        if self.config.enabled && self.may_start(capacity) { self.batch.room(&self.config) } else { 0 }
    }

    /// Adds messages that passed the filters, at most as many as [`room`](Self::room) allowed.
    pub(crate) fn add(&mut self, messages: Vec<Received>, now: SystemTime) {
        self.batch.add(messages, &self.queue_arn, now);
    }

    /// Returns the step for the open batch, if it is full or its window is over. Received messages stay hidden for `hidden`.
    pub(crate) fn take(&mut self, capacity: Capacity, hidden: Duration, now: SystemTime) -> Option<Step> {
        if !self.may_start(capacity) {
            return None;
        }
        let Full { messages, opened } = self.batch.take(&self.config, &self.queue_arn, now)?;
        if capacity == Capacity::Room {
            self.running += 1;
            return Some(Step::Invoke(messages));
        }
        let throttled = Step::Throttle(messages.len());
        self.throttled.push_back(Throttled { messages, until: opened + hidden });
        Some(throttled)
    }

    pub(crate) fn end(&mut self) {
        self.running -= 1;
    }

    pub(crate) fn abandon(&mut self) {
        self.running = 0;
    }

    /// Returns the end of the open batch's window, if the batch could start then.
    pub(crate) fn due(&self) -> Option<SystemTime> {
        self.batch.due(&self.config).filter(|_| self.may_start(Capacity::Room))
    }

    /// Returns the time at which a throttled batch is given up.
    pub(crate) fn gives_up_at(&self) -> Option<SystemTime> {
        Some(self.throttled.front()?.until)
    }

    /// Removes and returns the throttled messages, because no invocation starts any more.
    pub(crate) fn stop(&mut self) -> Vec<Received> {
        self.throttled.drain(..).flat_map(|batch| batch.messages).collect()
    }

    fn may_start(&self, capacity: Capacity) -> bool {
        let at_once = self.running + self.throttled.len();
        capacity != Capacity::GaveUp && at_once < self.config.concurrency()
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::super::tests::{ARN, mapping, received};
    use super::*;

    const HIDDEN: Duration = Duration::from_secs(30);

    fn at(second: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(second)
    }

    fn poller(concurrency: usize, window: u64) -> Poller {
        let config = MappingConfig { maximum_concurrency: Some(concurrency), ..mapping(10, window) };
        Poller::new(config, ARN.to_owned())
    }

    fn some(count: usize) -> Vec<Received> {
        (0..count).map(|number| received(&number.to_string(), "tea")).collect()
    }

    #[test]
    fn it_receives_and_starts_no_more_than_may_run_at_once() {
        let mut poller = poller(1, 0);
        assert_eq!(poller.room(Capacity::Room), 10);
        poller.add(some(3), at(0));
        assert_eq!(poller.take(Capacity::Room, HIDDEN, at(0)), Some(Step::Invoke(some(3))));
        assert_eq!((poller.room(Capacity::Room), poller.due()), (0, None));
        poller.end();
        assert!(poller.is_drained());
        assert_eq!((poller.room(Capacity::Room), poller.room(Capacity::GaveUp)), (10, 0));
        poller.config.enabled = false;
        assert_eq!(poller.room(Capacity::Room), 0);
    }

    #[test]
    fn a_window_that_ends_while_all_run_wakes_nobody() {
        let mut poller = poller(1, 5);
        let of_large = (0..10).map(|number| received(&number.to_string(), &"x".repeat(1_000_000)));
        poller.add(of_large.collect(), at(0));
        assert_eq!((poller.room(Capacity::Room), poller.due()), (0, Some(at(5))));
        assert!(poller.take(Capacity::Room, HIDDEN, at(1)).is_some());
        assert_eq!(poller.due(), None);
        assert_eq!(poller.take(Capacity::Room, HIDDEN, at(9)), None);
        poller.end();
        assert_eq!(poller.due(), Some(at(6)));
        assert!(poller.take(Capacity::Room, HIDDEN, at(9)).is_some());
    }

    #[test]
    fn a_throttled_batch_starts_with_room_or_is_given_up_in_time() {
        let mut poller = poller(2, 0);
        for second in [0, 10] {
            poller.add(some(2), at(second));
            assert_eq!(poller.take(Capacity::Full, HIDDEN, at(second)), Some(Step::Throttle(2)));
        }
        assert_eq!(poller.room(Capacity::Full), 0);
        assert_eq!((poller.retry(Capacity::Full, at(29)), poller.gives_up_at()), (None, Some(at(30))));
        assert_eq!(poller.retry(Capacity::Room, at(30)), Some(Step::GiveUp(some(2))));
        assert_eq!(poller.retry(Capacity::GaveUp, at(31)), None);
        assert_eq!(poller.retry(Capacity::Room, at(31)), Some(Step::Invoke(some(2))));
        assert!(!poller.is_drained());
        poller.add(some(1), at(32));
        assert_eq!(poller.take(Capacity::Full, HIDDEN, at(32)), Some(Step::Throttle(1)));
        assert_eq!(poller.stop(), some(1));
    }
}
