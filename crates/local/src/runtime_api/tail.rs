//! The last lines of a process, to explain its end.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use redrive_sqs::cut_to;

/// Most lines that are kept, and most bytes of each.
const LINES: usize = 10;
const LONGEST: usize = 300;

/// The last lines. Clones share them.
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
