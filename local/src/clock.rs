//! A clock of one's own: real time while code runs, faster or skipped while everything waits.

mod client_clock;
mod pace;

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

pub(crate) use client_clock::ClientClock;
use pace::{State, Step, Wait};
use tokio::sync::Notify;

/// How fast simulated time passes while no invocation runs. While one runs, it is as fast as real time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Speed {
    /// So many times as fast as real time: above 0, at most 1,000,000.
    Times(f64),
    /// Waiting is skipped: time stands still, and jumps to what comes next once there is nothing left to do.
    Max,
}

/// The clock. Clones are the same clock.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    shared: Arc<Shared>,
}

/// As long as one exists, simulated time passes at the pace of real time.
#[derive(Debug)]
pub(crate) struct Running(Clock);

impl Clock {
    /// A clock that shows `start` now.
    pub(crate) fn new(speed: Speed, start: SystemTime) -> Self {
        let state = State::new(speed, start);
        Self { shared: Arc::new(Shared { state: Mutex::new(state), changed: Notify::new() }) }
    }

    /// What the clock shows.
    pub(crate) fn now(&self) -> SystemTime {
        self.state().now()
    }

    /// Makes time pass at the pace of real time until the guard is dropped.
    pub(crate) fn running(&self) -> Running {
        let mut state = self.state();
        state.settle();
        state.running += 1;
        drop(state);
        self.shared.changed.notify_waiters();
        Running(self.clone())
    }

    /// Waits until the clock shows `until`. It does not make time jump, but [`pass`](Self::pass) stops there.
    pub(crate) async fn sleep_until(&self, until: SystemTime) {
        let _sleeper = self.sleeper(until);
        loop {
            let mut changed = pin!(self.shared.changed.notified());
            changed.as_mut().enable();
            let wait = match self.state().real_time_to(until) {
                Wait::Over => return,
                wait => wait,
            };
            wait_or(wait, changed).await;
        }
    }

    /// Skips waiting until this much time has passed, at any speed. Nothing that is due on the way is passed over, and
    /// while something runs, time goes on at its own pace.
    pub(crate) async fn skip(&self, time: Duration) {
        let end = self.state().skip(time);
        self.shared.changed.notify_waiters();
        self.sleep_until(end).await;
    }

    /// Lets time pass until the clock shows `until` or `stop`, whichever is earlier. Under [`Speed::Max`] this is what
    /// makes it jump: to `until` or to an earlier sleeper, who then gets to run before time goes on, but never past
    /// `stop`, and without either of them it stands still. Only one task may call this, and only when it has nothing
    /// left to do at the present moment.
    pub(crate) async fn pass(&self, until: Option<SystemTime>, stop: SystemTime) {
        loop {
            let mut changed = pin!(self.shared.changed.notified());
            changed.as_mut().enable();
            let step = self.state().step(until, stop);
            match step {
                Step::Jumped => self.shared.changed.notify_waiters(),
                Step::Wait(Wait::Over) => return,
                Step::Wait(wait) => wait_or(wait, changed).await,
            }
        }
    }

    /// A simulated timestamp as the real clock should have it at `real_now`, so that its age is the same.
    pub(crate) fn to_real(&self, stamp: SystemTime, real_now: SystemTime) -> SystemTime {
        same_age(stamp, self.now(), real_now)
    }

    fn sleeper(&self, until: SystemTime) -> Sleeper<'_> {
        let mut state = self.state();
        state.next_id += 1;
        let key = (until, state.next_id);
        state.sleepers.insert(key);
        drop(state);
        self.shared.changed.notify_waiters();
        Sleeper { clock: self, key }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().expect("nothing panics while it holds the clock")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.settle();
        state.running -= 1;
        drop(state);
        self.0.shared.changed.notify_waiters();
    }
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

struct Sleeper<'clock> {
    clock: &'clock Clock,
    key: (SystemTime, u64),
}

impl Drop for Sleeper<'_> {
    fn drop(&mut self) {
        self.clock.state().sleepers.remove(&self.key);
        self.clock.shared.changed.notify_waiters();
    }
}

async fn wait_or(wait: Wait, changed: impl Future<Output = ()>) {
    match wait {
        Wait::Over => (),
        Wait::For(time) => {
            let _ = tokio::time::timeout(time, changed).await;
        }
        Wait::ForChange => changed.await,
    }
}

fn same_age(stamp: SystemTime, from: SystemTime, to: SystemTime) -> SystemTime {
    match from.duration_since(stamp) {
        Ok(age) => to - age,
        Err(ahead) => to + ahead.duration(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use tokio::time::Instant;

    use super::*;

    const START: SystemTime = UNIX_EPOCH;

    fn at(seconds: u64) -> SystemTime {
        START + Duration::from_secs(seconds)
    }

    fn seconds(clock: &Clock) -> f64 {
        clock.now().duration_since(START).unwrap().as_secs_f64()
    }

    #[tokio::test(start_paused = true)]
    async fn idle_time_passes_as_many_times_faster_as_asked() {
        let clock = Clock::new(Speed::Times(60.0), START);
        let real = Instant::now();
        clock.pass(Some(at(600)), at(100_000)).await;
        assert_eq!(real.elapsed().as_secs(), 10);
        assert!((600.0..601.0).contains(&seconds(&clock)));
    }

    #[tokio::test(start_paused = true)]
    async fn while_something_runs_time_is_real_at_any_speed() {
        for speed in [Speed::Times(60.0), Speed::Max] {
            let clock = Clock::new(speed, START);
            let _running = clock.running();
            let real = Instant::now();
            clock.pass(Some(at(5)), at(100_000)).await;
            assert_eq!(real.elapsed().as_secs(), 5, "{speed:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_sleep_goes_on_at_the_new_pace_when_the_pace_changes() {
        let clock = Clock::new(Speed::Times(60.0), START);
        let running = clock.running();
        let real = Instant::now();
        let sleep = tokio::spawn({
            let clock = clock.clone();
            async move { clock.sleep_until(at(62)).await }
        });
        tokio::time::sleep(Duration::from_secs(2)).await;
        drop(running);
        sleep.await.unwrap();
        assert_eq!(real.elapsed().as_secs(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn hours_are_jumped_over_at_once_but_no_sleeper_is() {
        let clock = Clock::new(Speed::Max, START);
        let real = Instant::now();
        let sleepers: Vec<_> = [30, 10, 20]
            .map(|wake| {
                let clock = clock.clone();
                tokio::spawn(async move {
                    clock.sleep_until(at(wake)).await;
                    (wake, seconds(&clock))
                })
            })
            .into();
        tokio::task::yield_now().await;
        clock.pass(Some(at(36_000)), at(100_000)).await;
        assert!(real.elapsed().is_zero());
        for sleeper in sleepers {
            let (wake, woken) = sleeper.await.unwrap();
            assert_eq!(wake as f64, woken);
        }
        assert_eq!(seconds(&clock), 36_000.0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_jump_stops_where_it_has_to() {
        let clock = Clock::new(Speed::Max, START);
        let _sleeper = clock.sleeper(at(500));
        clock.pass(None, at(60)).await;
        assert_eq!(seconds(&clock), 60.0);
        clock.pass(Some(at(1_000)), at(120)).await;
        assert_eq!(seconds(&clock), 120.0);
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_is_skipped_on_demand_but_no_stop_is() {
        let clock = Clock::new(Speed::Times(1.0), START);
        let real = Instant::now();
        let skipping = clock.clone();
        let skipped = tokio::spawn(async move { skipping.skip(Duration::from_secs(150)).await });
        tokio::task::yield_now().await;
        for stop in [60, 120] {
            clock.pass(None, at(stop)).await;
            assert_eq!(seconds(&clock), stop as f64);
        }
        assert!(!skipped.is_finished());
        clock.pass(Some(at(150)), at(180)).await;
        skipped.await.unwrap();
        assert_eq!((seconds(&clock), real.elapsed().as_secs()), (150.0, 0));
        clock.pass(None, at(180)).await;
        assert_eq!(real.elapsed().as_secs(), 30, "then time is real again");
    }

    #[tokio::test(start_paused = true)]
    async fn time_stands_still_when_nothing_is_to_come() {
        let clock = Clock::new(Speed::Max, START);
        let waited = tokio::time::timeout(Duration::from_secs(3_600), clock.pass(None, at(100_000))).await;
        assert!(waited.is_err());
        assert_eq!(seconds(&clock), 0.0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_timestamp_keeps_its_age_on_the_other_clock() {
        let clock = Clock::new(Speed::Max, at(1_000));
        clock.pass(Some(at(5_000)), at(100_000)).await;
        assert_eq!(clock.to_real(at(4_990), at(1_003)), at(993));
    }
}
