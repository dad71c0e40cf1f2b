//! How far something is that takes its time.

use std::fmt::Display;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::escape::escape;
use super::stream::Stream;

/// Drawn on stderr until it is dropped, if that is a terminal. What is written meanwhile stands above it.
#[derive(Debug)]
pub struct Progress(ProgressBar);

/// The one that is drawn.
static DRAWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

const TICK: Duration = Duration::from_millis(120);

impl Progress {
    /// Towards so many; `template` is one of indicatif.
    ///
    /// # Panics
    /// It is none.
    pub fn bar(length: u64, template: &str) -> Self {
        Self::draw(ProgressBar::new(length), template)
    }

    /// Without an end that is known; `template` is one of indicatif.
    ///
    /// # Panics
    /// It is none.
    pub fn spinner(template: &str) -> Self {
        let progress = Self::draw(ProgressBar::new_spinner(), template);
        if Stream::Stderr.is_terminal() {
            progress.0.enable_steady_tick(TICK);
        }
        progress
    }

    fn draw(bar: ProgressBar, template: &str) -> Self {
        let bar = if Stream::Stderr.is_terminal() { bar } else { ProgressBar::hidden() };
        bar.set_style(ProgressStyle::with_template(template).expect("the template is valid"));
        *drawn() = Some(bar.clone());
        Self(bar)
    }

    pub fn set_message(&self, message: impl Display) {
        self.0.set_message(escape(&message.to_string()));
    }

    pub fn advance(&self, by: u64) {
        self.0.inc(by);
    }

    pub fn set(&self, position: u64, length: u64) {
        self.0.set_length(length);
        self.0.set_position(position);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
        *drawn() = None;
    }
}

/// Writes while it is not drawn.
pub(super) fn aside<T>(write: impl FnOnce() -> T) -> T {
    let bar = drawn().clone();
    match bar {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

fn drawn() -> MutexGuard<'static, Option<ProgressBar>> {
    // What is in it is never half changed.
    DRAWN.lock().unwrap_or_else(PoisonError::into_inner)
}
