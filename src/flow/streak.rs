//! Consecutive panics, over all batches of a process: the first may be the fault of its message, the others are the fault
//! of the function, such as a mutex that the first has poisoned.

use std::sync::atomic::{AtomicU32, Ordering};

/// After this many the process ends.
const TOO_MANY: u32 = 10;

#[derive(Debug, Default)]
pub(crate) struct Streak(AtomicU32);

impl Streak {
    /// Counts a panic, and says whether it is not the first since the last success.
    pub(super) fn panicked(&self) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed) > 0
    }

    pub(super) fn succeeded(&self) {
        if self.0.load(Ordering::Relaxed) > 0 {
            self.0.store(0, Ordering::Relaxed);
        }
    }

    pub(super) fn is_too_long(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= TOO_MANY
    }
}
