//! The last lines that a process wrote, for whoever asks why it ended.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use redrive_sqs::cut_to;

/// So many lines are kept, of so many bytes each.
const LINES: usize = 10;
const LONGEST: usize = 300;

/// Clones are the same one.
#[derive(Debug, Clone, Default)]
pub(super) struct Tail(Arc<Mutex<VecDeque<String>>>);

impl Tail {
    pub(super) fn add(&self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        let mut lines = self.lines();
        if lines.len() == LINES {
            lines.pop_front();
        }
        lines.push_back(cut_to(line, LONGEST).into());
    }

    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.lines()).into()
    }

    fn lines(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.0.lock().expect("nothing panics while it holds the lines")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_and_no_endless_one() {
        let tail = Tail::default();
        for number in 0..20 {
            tail.add(&number.to_string());
            tail.add(" ");
        }
        tail.add(&"x".repeat(10_000));
        (0..LINES).for_each(|_| tail.add(" "));
        let lines = tail.take();
        assert_eq!(lines.len(), LINES);
        assert_eq!((lines[0].as_str(), lines[LINES - 2].as_str()), ("11", "19"));
        assert!(lines[LINES - 1].len() < 310, "{lines:?}");
    }
}
