//! Paces calls: not above the requested rate, and slower while AWS refuses.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use redrive_sqs::MAX_ENTRIES;
use tokio::time::Instant;

/// First and longest pause after a refused call.
const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(20);

/// Pauses that double with each refusal and halve with each answer.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    pause: Duration,
    /// Start of the first refused call, if no answer has arrived since.
    since: Option<Instant>,
}

impl Backoff {
    /// Records a refused call with its start, and returns the start of the first one since the last answer.
    pub(crate) fn refused(&mut self, began: Instant) -> Instant {
        self.pause = (self.pause * 2).clamp(FIRST, LONGEST);
        *self.since.get_or_insert(began)
    }

    pub(crate) fn answered(&mut self) {
        self.since = None;
        self.pause = if self.pause > FIRST { self.pause / 2 } else { Duration::ZERO };
    }

    pub(crate) fn pause(&self) -> Duration {
        self.pause
    }
}

/// The pace of concurrent calls, which share it.
#[derive(Debug)]
pub(crate) struct Pace {
    /// Greatest rate, in messages a second.
    rate: Option<f64>,
    state: Mutex<PaceState>,
}

#[derive(Debug)]
struct PaceState {
    /// Time at which the next message may go.
    next: Instant,
    backoff: Backoff,
    /// Number of calls in a row without a clear answer.
    unclear: u32,
}

impl Pace {
    pub(crate) fn new(rate: Option<f64>) -> Self {
        let state = PaceState { next: Instant::now(), backoff: Backoff::default(), unclear: 0 };
        Self { rate, state: Mutex::new(state) }
    }

    /// Returns the batch size: at a low rate no more than a second's messages.
    pub(crate) fn most_at_once(&self) -> usize {
        most_at_once(self.rate)
    }

    /// Waits until this many messages may go.
    pub(crate) async fn wait(&self, messages: usize) {
        let until = self.with(|state| {
            let turn = state.next.max(Instant::now());
            let seconds = self.rate.map_or(0.0, |rate| messages as f64 / rate);
            state.next = turn + Duration::from_secs_f64(seconds);
            turn + state.backoff.pause()
        });
        tokio::time::sleep_until(until).await;
    }

    /// Slows down after AWS refused a call for the moment.
    pub(crate) fn slower(&self) {
        self.with(|state| state.backoff.refused(Instant::now()));
    }

    /// Records a call without a clear answer, and returns the number of these in a row.
    pub(crate) fn unclear(&self) -> u32 {
        self.slower();
        self.with(|state| {
            state.unclear += 1;
            state.unclear
        })
    }

    /// Speeds up after a call succeeded.
    pub(crate) fn faster(&self) {
        self.with(|state| {
            state.unclear = 0;
            state.backoff.answered();
        });
    }

    fn with<T>(&self, work: impl FnOnce(&mut PaceState) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

pub(super) fn most_at_once(rate: Option<f64>) -> usize {
    rate.map_or(MAX_ENTRIES, |rate| (rate.ceil() as usize).clamp(1, MAX_ENTRIES))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(work: impl Future<Output = ()>) -> Duration {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().start_paused(true).build().unwrap().block_on(async {
            let began = Instant::now();
            work.await;
            began.elapsed()
        })
    }

    #[test]
    fn a_hundred_messages_at_ten_a_second_take_ten_seconds() {
        let took = run(async {
            let pace = Pace::new(Some(10.0));
            for _ in 0..11 {
                pace.wait(10).await;
            }
        });
        assert_eq!(took.as_secs(), 10);
    }

    #[test]
    fn refused_calls_slow_the_next_ones_until_they_go_through() {
        let took = run(async {
            let pace = Pace::new(None);
            pace.slower();
            pace.slower();
            pace.wait(10).await;
            pace.faster();
            pace.wait(10).await;
            pace.faster();
            pace.wait(10).await;
        });
        assert_eq!(took.as_millis(), 1_500);
    }

    #[test]
    fn refused_callers_wait_side_by_side() {
        let took = run(async {
            let pace = Pace::new(None);
            pace.slower();
            futures_util::future::join_all((0..4).map(|_| pace.wait(10))).await;
        });
        assert_eq!(took.as_millis(), 500);
    }

    #[test]
    fn a_low_rate_is_even() {
        assert_eq!([None, Some(0.1), Some(2.5), Some(300.0)].map(most_at_once), [10, 1, 3, 10]);
    }

    #[test]
    fn pauses_double_up_to_twenty_seconds_and_halve_with_each_answer() {
        let mut backoff = Backoff::default();
        let pauses = [(); 7].map(|()| {
            backoff.refused(Instant::now());
            backoff.pause().as_millis()
        });
        assert_eq!(pauses, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 20_000]);
        backoff.answered();
        assert_eq!(backoff.pause().as_secs(), 10);
    }

    #[test]
    fn it_is_known_since_when_there_are_nothing_but_refusals() {
        let (began, mut backoff) = (Instant::now(), Backoff::default());
        let later = began + Duration::from_secs(60);
        assert_eq!([backoff.refused(began), backoff.refused(later)], [began, began]);
        backoff.answered();
        assert_eq!(backoff.refused(later), later);
    }
}
