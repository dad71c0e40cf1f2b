//! How fast to go: not above what was asked for, and slower while AWS throttles.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The first wait after a throttled call, and the longest.
const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(crate) struct Pace {
    /// Letters that are sent a second, however many are looked at.
    rate: Option<u32>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// When the next letter may go.
    next: Instant,
    /// What every call waits since calls were throttled, each for itself.
    penalty: Duration,
    /// How many calls in a row had no clear answer.
    unclear: u32,
}

impl Pace {
    pub(crate) fn new(rate: Option<u32>) -> Self {
        Self { rate, state: Mutex::new(State { next: Instant::now(), penalty: Duration::ZERO, unclear: 0 }) }
    }

    /// How many letters to send at once, so that a low rate is even.
    pub(crate) fn most_at_once(&self, most: usize) -> usize {
        self.rate.map_or(most, |rate| most.min(usize::try_from(rate).unwrap_or(most)).max(1))
    }

    /// Waits until so many letters may go.
    pub(crate) async fn wait(&self, letters: usize) {
        let until = self.with(|state| {
            let turn = state.next.max(Instant::now());
            state.next = turn + self.time_for(letters);
            turn + state.penalty
        });
        tokio::time::sleep_until(until).await;
    }

    /// A call was throttled.
    pub(crate) fn slower(&self) {
        self.with(|state| state.penalty = (state.penalty * 2).clamp(FIRST, LONGEST));
    }

    /// Nobody knows whether a call was carried out: how many of these there are in a row.
    pub(crate) fn unclear(&self) -> u32 {
        self.slower();
        self.with(|state| {
            state.unclear += 1;
            state.unclear
        })
    }

    /// A call went through.
    pub(crate) fn faster(&self) {
        self.with(|state| {
            state.unclear = 0;
            state.penalty = if state.penalty > FIRST { state.penalty / 2 } else { Duration::ZERO };
        });
    }

    fn time_for(&self, letters: usize) -> Duration {
        let letters = u32::try_from(letters).unwrap_or(u32::MAX);
        self.rate.map_or(Duration::ZERO, |rate| Duration::from_secs(1) * letters / rate)
    }

    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
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
    fn a_hundred_letters_at_ten_a_second_take_ten_seconds() {
        let took = run(async {
            let pace = Pace::new(Some(10));
            for _ in 0..11 {
                pace.wait(10).await;
            }
        });
        assert_eq!(took.as_secs(), 10);
    }

    #[test]
    fn throttled_calls_slow_the_next_ones_until_they_go_through() {
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
    fn throttled_callers_wait_side_by_side() {
        let took = run(async {
            let pace = Pace::new(None);
            pace.slower();
            futures_util::future::join_all((0..4).map(|_| pace.wait(10))).await;
        });
        assert_eq!(took.as_millis(), 500);
    }

    #[test]
    fn a_low_rate_is_even() {
        assert_eq!(Pace::new(Some(3)).most_at_once(10), 3);
        assert_eq!(Pace::new(Some(300)).most_at_once(10), 10);
        assert_eq!(Pace::new(None).most_at_once(10), 10);
    }
}
