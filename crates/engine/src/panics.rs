//! Counts consecutive panics, over all batches of a process. The first may be the fault of its message. The others are the
//! fault of the function, such as a mutex that the first has poisoned.
//!
//! Only panics of handlers end the process. Fetching and decoding a body handles a sender's bytes, so a sender could end
//! every process.

/// Panics of handlers in a row after which the process ends.
pub const MAX_PANICS: u32 = 10;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PanicStreak {
    all: u32,
    of_handlers: u32,
}

impl PanicStreak {
    /// Counts a panic. Returns true if it is not the first since the last success.
    pub(crate) const fn panicked(&mut self, is_early: bool) -> bool {
        self.of_handlers = self.of_handlers.saturating_add(if is_early { 0 } else { 1 });
        self.all = self.all.saturating_add(1);
        self.all > 1
    }

    pub(crate) const fn succeeded(&mut self) {
        *self = Self { all: 0, of_handlers: 0 };
    }

    pub const fn is_too_long(&self) -> bool {
        self.of_handlers >= MAX_PANICS
    }
}
