//! Shows the progress of long work.

use std::fmt::{self, Display};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::escape::escape;
use super::stream::Stream;

/// Progress that is drawn on stderr until it is dropped, if stderr is a terminal. Other output appears above it.
#[derive(Debug)]
pub struct Progress(ProgressBar);

/// The progress that is drawn.
static DRAWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

const TICK: Duration = Duration::from_millis(120);

impl Progress {
    /// Draws a bar for `length` steps. `template` is one of indicatif's, in which `{rate}` means steps per second.
    ///
    /// # Panics
    /// Panics if the template is invalid.
    pub fn bar(length: u64, template: &str) -> Self {
        Self::draw(ProgressBar::new(length), template)
    }

    /// Draws progress without a known end. `template` is one of indicatif's.
    ///
    /// # Panics
    /// Panics if the template is invalid.
    pub fn spinner(template: &str) -> Self {
        let progress = Self::draw(ProgressBar::new_spinner(), template);
        if Stream::Stderr.is_terminal() {
            progress.0.enable_steady_tick(TICK);
        }
        progress
    }

    fn draw(bar: ProgressBar, template: &str) -> Self {
        if !Stream::Stderr.is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let style = ProgressStyle::with_template(template).expect("the template is valid");
        let rate = |state: &ProgressState, out: &mut dyn fmt::Write| {
            // A failed write leaves out the rate.
            let _ = out.write_str(&rate(state.per_sec()));
        };
        bar.set_style(style.with_key("rate", rate));
        *drawn() = Some(bar.clone());
        Self(bar)
    }

    pub fn set_message(&self, message: impl Display) {
        self.0.set_message(escape(&message.to_string()));
    }

    /// Advances the bar. Steps beyond its length make it longer.
    pub fn advance(&self, by: u64) {
        let position = self.0.position() + by;
        self.set(position, self.0.length().unwrap_or_default().max(position));
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

/// Writes a rate with two digits, or rounded to whole steps.
fn rate(per_second: f64) -> String {
    match per_second {
        10.0.. => format!("{per_second:.0}"),
        1.0.. => format!("{per_second:.1}"),
        _ => format!("{per_second:.2}"),
    }
}

/// Writes while the progress is not drawn.
pub(super) fn aside<T>(write: impl FnOnce() -> T) -> T {
    let bar = drawn().clone();
    match bar {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

fn drawn() -> MutexGuard<'static, Option<ProgressBar>> {
    // A panic cannot leave the value half changed.
    DRAWN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_no_more_digits_than_it_needs() {
        let rates = [0.0, 0.4321, 1.0, 9.96, 43.3184, 1_234.5].map(rate);
        assert_eq!(rates, ["0.00", "0.43", "1.0", "10.0", "43", "1234"]);
    }

    #[test]
    fn more_than_expected_makes_the_bar_longer() {
        let progress = Progress::bar(10, "{pos}/{len} {rate}/s");
        progress.advance(9);
        assert_eq!((progress.0.position(), progress.0.length()), (9, Some(10)));
        progress.advance(2);
        assert_eq!((progress.0.position(), progress.0.length()), (11, Some(11)));
    }
}
