//! Consecutive panics, over all batches of a process: the first may be the fault of its message, the others are the fault
//! of the function, such as a mutex that the first has poisoned.
//!
//! Only panics of handlers end the process. Fetching and decoding a body handles a sender's bytes, so a
//! sender could end every process.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::MAX_PANICS;

#[derive(Debug, Default)]
pub(crate) struct Streak {
    all: AtomicU32,
    of_handlers: AtomicU32,
}

impl Streak {
    /// Counts a panic, and says whether it is not the first since the last success.
    pub(super) fn panicked(&self, is_early: bool) -> bool {
        self.of_handlers.fetch_add(u32::from(!is_early), Ordering::Relaxed);
        self.all.fetch_add(1, Ordering::Relaxed) > 0
    }

    pub(super) fn succeeded(&self) {
        for count in [&self.all, &self.of_handlers] {
            if count.load(Ordering::Relaxed) > 0 {
                count.store(0, Ordering::Relaxed);
            }
        }
    }

    pub(super) fn is_too_long(&self) -> bool {
        self.of_handlers.load(Ordering::Relaxed) >= MAX_PANICS
    }
}
