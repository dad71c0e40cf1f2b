//! A mapping at work, as values: what to receive, which batches to pass to the function, and which to give up.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

use super::batch::{Batch, Full};
use super::config::MappingConfig;
use crate::queue::Received;

/// What a mapping has of its queue, and what it does next with it. Its driver gives it what was received
/// ([`add`](Self::add)), does what it says, and reports the end of each invocation ([`end`](Self::end)).
#[derive(Debug)]
pub(crate) struct Poller {
    pub(crate) config: MappingConfig,
    pub(crate) queue_arn: String,
    batch: Batch,
    running: usize,
    throttled: VecDeque<Throttled>,
}

/// What to do next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Hand these messages to the function.
    Invoke(Vec<Received>),
    /// Report that a batch of so many messages waits, since its function has no concurrency left.
    Throttle(usize),
    /// Report that these are visible again, and no function saw them.
    GiveUp(Vec<Received>),
}

/// What a function can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Capacity {
    /// One more invocation.
    Room,
    /// Nothing before an invocation of it ends.
    Full,
    /// Nothing any more.
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

    /// Whether nothing that it has received is still with it.
    pub(crate) fn is_drained(&self) -> bool {
        self.running == 0 && self.batch.is_empty() && self.throttled.is_empty()
    }

    /// What follows for batches that are throttled: they start as their function gets room for them. Past the visibility
    /// timeout of their messages they are dropped.
    /// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html>
    pub(crate) fn retry(&mut self, capacity: Capacity, now: SystemTime) -> Option<Step> {
        if let Some(late) = self.throttled.pop_front_if(|batch| batch.until <= now) {
            return Some(Step::GiveUp(late.messages));
        }
        let batch = self.throttled.pop_front_if(|_| capacity == Capacity::Room)?;
        self.running += 1;
        Some(Step::Invoke(batch.messages))
    }

    /// How many messages to receive next, if there are any.
    pub(crate) fn room(&self, capacity: Capacity) -> usize {
        if self.config.enabled && self.may_start(capacity) { self.batch.room(&self.config) } else { 0 }
    }

    /// Adds messages that passed the filters, at most as many as there was room for.
    pub(crate) fn add(&mut self, messages: Vec<Received>, now: SystemTime) {
        self.batch.add(messages, &self.queue_arn, now);
    }

    /// What follows for the batch that is being filled, if it is full or its window is over. A received message is hidden
    /// for so long.
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

    /// An invocation is over.
    pub(crate) fn end(&mut self) {
        self.running -= 1;
    }

    /// Whatever invocations there were, they are gone.
    pub(crate) fn abandon(&mut self) {
        self.running = 0;
    }

    /// When the window of a batch ends that could start then.
    pub(crate) fn due(&self) -> Option<SystemTime> {
        self.batch.due(&self.config).filter(|_| self.may_start(Capacity::Room))
    }

    /// When a throttled batch is to be given up.
    pub(crate) fn gives_up_at(&self) -> Option<SystemTime> {
        Some(self.throttled.front()?.until)
    }

    /// Takes out the messages that are throttled, since nothing starts any more.
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
    fn a_throttled_batch_starts_with_the_first_room_or_is_given_up_when_its_messages_show() {
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
