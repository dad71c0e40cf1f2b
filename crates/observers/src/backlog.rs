//! Lines that wait for the thread that writes them. Adding a line does not wait for a reader.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tracing::warn;

/// Bytes that may wait. Lines beyond that are lost, and counted.
const MOST_BYTES: usize = 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Backlog {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    lines: Vec<u8>,
    lost: u64,
    is_writing: bool,
}

impl Backlog {
    pub(crate) const fn new() -> Self {
        let state = State { lines: Vec::new(), lost: 0, is_writing: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds whole lines, unless too many wait.
    pub(crate) fn add(&self, lines: &[u8]) {
        let mut state = self.state();
        if state.lines.len() + lines.len() <= MOST_BYTES {
            state.lines.extend_from_slice(lines);
        } else {
            state.lost += 1;
        }
        self.changed.notify_all();
    }

    /// Writes lines one by one, and logs how many were lost meanwhile.
    pub(crate) fn write(&self, mut write: impl FnMut(&[u8])) -> ! {
        let mut lines = Vec::new();
        loop {
            let is_idle = |state: &mut State| state.lines.is_empty() && state.lost == 0;
            let state = self.changed.wait_while(self.state(), is_idle);
            let mut state = state.unwrap_or_else(PoisonError::into_inner);
            std::mem::swap(&mut state.lines, &mut lines);
            let lost = std::mem::take(&mut state.lost);
            state.is_writing = true;
            drop(state);
            lines.split_inclusive(|byte| *byte == b'\n').for_each(&mut write);
            lines.clear();
            if lost > 0 {
                warn!(target: "redrive::log", lost, "lines of the log were lost, because nobody read standard output");
            }
            self.state().is_writing = false;
            self.changed.notify_all();
        }
    }

    /// Waits until all lines are written, and returns whether they are.
    pub(crate) fn flush(&self, patience: Duration) -> bool {
        let is_behind = |state: &mut State| state.is_writing || !state.lines.is_empty();
        let waited = self.changed.wait_timeout_while(self.state(), patience, is_behind);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::{channel, sync_channel};

    use super::*;

    #[test]
    fn a_full_backlog_drops_lines_and_counts_them() {
        let backlog = Arc::new(Backlog::new());
        let ((reader, read), (writing, begun)) = (sync_channel::<Vec<u8>>(0), channel());
        let writer = Arc::clone(&backlog);
        std::thread::spawn(move || {
            writer.write(|line| {
                let _ = writing.send(());
                let _ = reader.send(line.to_vec());
            })
        });
        backlog.add(b"first\n");
        begun.recv().unwrap();
        let kilobyte = [[b'x'; 1_023].as_slice(), b"\n"].concat();
        (0..1_024).for_each(|_| backlog.add(&kilobyte));
        backlog.add(b"lost\n");
        assert_eq!(backlog.state().lost, 1);
        assert!(!backlog.flush(Duration::ZERO), "nobody reads");
        let next = || read.recv().unwrap();
        assert_eq!(next(), b"first\n");
        assert!((0..1_024).all(|_| next() == kilobyte));
        assert!(backlog.flush(Duration::from_secs(60)));
        assert_eq!(backlog.state().lost, 0);
        backlog.add(b"last\n");
        assert_eq!(next(), b"last\n");
    }
}
