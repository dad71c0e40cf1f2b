//! Tokio's clock during runs. If the test does not pause it, the kit does so while no function or worker has messages.

#[cfg(test)]
mod tests;

use std::cell::Cell;

use tokio::runtime::Handle;
use tokio::time::Instant;

thread_local! {
    /// The runs of this thread whose test does not pause the clock, and the deliveries that are being handled.
    static RUNS: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// A run of a mapping or of workers, until it is dropped.
#[derive(Debug)]
pub(super) struct Run {
    /// True if the test pauses the clock.
    is_virtual: bool,
}

/// Messages that a function or worker is handling, until this is dropped.
#[derive(Debug)]
pub(super) struct Handling;

impl Run {
    pub(super) fn begin() -> Self {
        let is_virtual = RUNS.get().0 == 0 && is_paused();
        if !is_virtual {
            change(|(runs, handled)| (runs + 1, handled));
        }
        Self { is_virtual }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if !self.is_virtual {
            change(|(runs, handled)| (runs - 1, handled));
        }
    }
}

impl Handling {
    pub(super) fn begin() -> Self {
        change(|(runs, handled)| (runs, handled + 1));
        Self
    }
}

impl Drop for Handling {
    fn drop(&mut self) {
        change(|(runs, handled)| (runs, handled - 1));
    }
}

/// Pauses or resumes the clock if the change makes the difference.
fn change(change: impl FnOnce((usize, usize)) -> (usize, usize)) {
    let is_idle = |(runs, handled): (usize, usize)| runs > 0 && handled == 0;
    let (before, after) = (RUNS.get(), change(RUNS.get()));
    RUNS.set(after);
    match (is_idle(before), is_idle(after)) {
        (false, true) => tokio::time::pause(),
        // A test may drop a run after its runtime.
        (true, false) if Handle::try_current().is_ok() => tokio::time::resume(),
        _ => (),
    }
}

fn is_paused() -> bool {
    let (before, real) = (Instant::now(), std::time::Instant::now());
    while std::time::Instant::now() == real {
        std::hint::spin_loop();
    }
    before == Instant::now()
}
