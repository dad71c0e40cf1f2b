//! The simulated clock: real time while code runs, faster or skipped time while everything waits.

mod client_clock;
mod pace;
#[cfg(test)]
mod tests;

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

pub(crate) use client_clock::ClientClock;
use pace::{ClockState, Step, Wait};
use tokio::sync::Notify;

/// Speed of simulated time while no invocation runs. While one runs, simulated time is as fast as real time. While clients
/// have received messages in hand, it is no faster.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "time passes or it does not")]
pub enum Speed {
    /// This many times as fast as real time: above 0, at most 1,000,000.
    Times(f64),
    /// Waiting is skipped: time stands still, and jumps to the next event when nothing is left to do.
    Max,
}

/// The clock. Clones are the same clock.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    shared: Arc<Shared>,
}

/// A guard: while one exists, simulated time passes at the pace of real time.
#[derive(Debug)]
pub(crate) struct Running(Clock);

impl Clock {
    /// Creates a clock that shows `start`.
    pub(crate) fn new(speed: Speed, start: SystemTime) -> Self {
        let state = ClockState::new(speed, start);
        Self { shared: Arc::new(Shared { state: Mutex::new(state), changed: Notify::new() }) }
    }

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

    /// Returns the speed, and true if the clock is held.
    pub(crate) fn setting(&self) -> (Speed, bool) {
        let state = self.state();
        (state.speed, state.held)
    }

    /// Returns the time that the clock shows, and the present number of simulated seconds per second.
    pub(crate) fn pace(&self) -> (SystemTime, f64) {
        let state = self.state();
        (state.now(), state.pace())
    }

    /// Limits time to the pace of real time until this moment, because clients have messages in hand. Only
    /// [`skip`](Self::skip) can make it jump.
    pub(crate) fn keep_real_until(&self, until: Option<SystemTime>) {
        let mut state = self.state();
        if state.real_until != until {
            state.settle();
            state.real_until = until;
            drop(state);
            self.shared.changed.notify_waiters();
        }
    }

    /// Sets the speed of time while nothing runs. A held clock then stands still.
    pub(crate) fn set(&self, speed: Speed, held: bool) {
        let mut state = self.state();
        state.settle();
        (state.speed, state.held) = (speed, held);
        drop(state);
        self.shared.changed.notify_waiters();
    }

    /// Waits until the clock shows `until`. This does not make time jump, but [`pass`](Self::pass) stops there.
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

    /// Skips waiting until this much time has passed, at any speed. Everything that is due on the way still happens, and
    /// while something runs, time keeps its own pace.
    pub(crate) async fn skip(&self, time: Duration) {
        let end = self.state().skip(time);
        self.shared.changed.notify_waiters();
        self.sleep_until(end).await;
    }

    /// Lets time pass until the clock shows `until` or `stop`, whichever is earlier. Under [`Speed::Max`] this makes time
    /// jump: to `until` or to an earlier sleeper, who then runs before time continues, but never past `stop`. Without either
    /// of them, time stands still. Only one task may call this, and only when it has nothing left to do at the present
    /// moment. It ends once `is_outdated`, because `until` may then be too late. Code that changes what `until` depends on
    /// reports that before time passes faster.
    pub(crate) async fn pass(
        &self,
        until: Option<SystemTime>,
        stop: SystemTime,
        is_outdated: impl Fn() -> bool,
    ) {
        loop {
            let mut changed = pin!(self.shared.changed.notified());
            changed.as_mut().enable();
            let step = {
                let mut state = self.state();
                if is_outdated() {
                    return;
                }
                state.step(until, stop)
            };
            match step {
                Step::Jumped => self.shared.changed.notify_waiters(),
                Step::Wait(Wait::Over) => return,
                Step::Wait(wait) => wait_or(wait, changed).await,
            }
        }
    }

    /// Converts a simulated timestamp to the real clock, so that it is equally old at `real_now`.
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

    fn state(&self) -> MutexGuard<'_, ClockState> {
        self.shared.state.lock().expect("nothing panics while it holds the clock")
    }
}

impl Running {
    pub(crate) fn now(&self) -> SystemTime {
        self.0.now()
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
    state: Mutex<ClockState>,
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
