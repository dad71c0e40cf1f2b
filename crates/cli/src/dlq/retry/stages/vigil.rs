//! Decides when to look for letters that failed again, and when the wait is over. Pure.

use std::time::Duration;

/// Time after activity in which SQS's counts may be wrong.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_GetQueueAttributes.html>
const SETTLED: Duration = Duration::from_secs(60);

/// Least pause between looks, and least ratio of the pause to the last look, because each look receives all letters.
const BETWEEN_LOOKS: Duration = Duration::from_secs(10);
const TIMES_LONGER: u32 = 10;

/// The watch over the letters of a stage, by the counts of both queues.
#[derive(Debug)]
pub(super) struct Vigil {
    wait: Duration,
    /// The fewest letters since the last look. If there are more, one may have returned.
    dead: u64,
    /// Time since which the source queue is empty.
    empty_since: Option<Duration>,
    next_look: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Wait,
    Look,
    /// The wait is over. A last look finds letters that the counts missed.
    Over,
}

impl Vigil {
    /// Begins a watch with `dead` letters in the dead-letter queue.
    pub(super) fn new(wait: Duration, dead: u64) -> Self {
        Self { wait, dead, empty_since: None, next_look: Duration::ZERO }
    }

    /// Decides the next step by the elapsed time and the messages in both queues.
    pub(super) fn step(&mut self, elapsed: Duration, dead: u64, source: u64) -> Step {
        self.empty_since = (source == 0).then(|| self.empty_since.unwrap_or(elapsed));
        let is_settled = self.empty_since.is_some_and(|since| elapsed.saturating_sub(since) >= SETTLED);
        let has_more = dead > self.dead;
        self.dead = self.dead.min(dead);
        match elapsed >= self.wait || is_settled {
            true => Step::Over,
            false if has_more && elapsed >= self.next_look => Step::Look,
            false => Step::Wait,
        }
    }

    /// Records a look with its times and the number of letters that it found.
    pub(super) fn looked(&mut self, from: Duration, until: Duration, dead: u64) {
        self.dead = dead;
        self.next_look = until + BETWEEN_LOOKS.max(until.saturating_sub(from) * TIMES_LONGER);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn only_more_letters_than_before_are_looked_at_and_not_too_often() {
        let mut vigil = Vigil::new(seconds(600), 90);
        assert_eq!(vigil.step(seconds(2), 90, 10), Step::Wait);
        assert_eq!(vigil.step(seconds(4), 91, 10), Step::Look);
        vigil.looked(seconds(4), seconds(5), 91);
        assert_eq!(vigil.step(seconds(7), 99, 1), Step::Wait);
        assert_eq!(vigil.step(seconds(15), 99, 1), Step::Look);
        vigil.looked(seconds(15), seconds(20), 99);
        assert_eq!(vigil.step(seconds(69), 100, 1), Step::Wait);
        assert_eq!(vigil.step(seconds(70), 100, 1), Step::Look);
    }

    #[test]
    fn a_count_that_was_too_high_at_first_hides_nothing() {
        let mut vigil = Vigil::new(seconds(600), 100);
        assert_eq!(vigil.step(seconds(2), 90, 10), Step::Wait);
        assert_eq!(vigil.step(seconds(4), 100, 10), Step::Look);
    }

    #[test]
    fn it_is_over_after_the_wait_or_once_the_source_stays_empty() {
        let mut vigil = Vigil::new(seconds(100), 0);
        assert_eq!(vigil.step(seconds(10), 0, 0), Step::Wait);
        assert_eq!(vigil.step(seconds(60), 0, 1), Step::Wait);
        assert_eq!(vigil.step(seconds(99), 0, 0), Step::Wait);
        assert_eq!(vigil.step(seconds(100), 5, 1), Step::Over);
        let mut vigil = Vigil::new(seconds(600), 0);
        assert_eq!(
            [10, 69, 70].map(|at| vigil.step(seconds(at), 0, 0)),
            [Step::Wait, Step::Wait, Step::Over]
        );
    }
}
