//! Writes the output of programs to standard error, line by line. Standard output has the log. A reader that is slow delays nothing.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::counted::counted;
use crate::tell::tell;

/// So many lines may wait to be written. Further ones are lost.
const MOST: usize = 1_024;
/// A longer line is passed on in pieces.
const LINE: usize = 16 * 1_024;
/// How long the last lines may take.
const LAST: Duration = Duration::from_secs(1);

/// A thread that writes lines. Clones write through the same one.
#[derive(Debug, Clone)]
pub(super) struct Lines {
    sender: Arc<Mutex<Option<SyncSender<String>>>>,
    ended: Arc<Mutex<Receiver<()>>>,
    lost: Arc<AtomicUsize>,
}

impl Lines {
    pub(super) fn start() -> Self {
        let (sender, lines) = sync_channel::<String>(MOST);
        let (end, ended) = sync_channel(0);
        let lost = Arc::new(AtomicUsize::new(0));
        let counted_lost = Arc::clone(&lost);
        std::thread::spawn(move || {
            for line in lines {
                tell(line);
                match counted_lost.swap(0, Relaxed) {
                    0 => {}
                    lost => {
                        tell(format!("redrive: {} of programs could not be written", counted(lost, "line")))
                    }
                }
            }
            drop(end);
        });
        Self { sender: Arc::new(Mutex::new(Some(sender))), ended: Arc::new(Mutex::new(ended)), lost }
    }

    fn write(&self, line: String) {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        if sender.as_ref().is_none_or(|sender| sender.try_send(line).is_err()) {
            self.lost.fetch_add(1, Relaxed);
        }
    }

    /// Waits for a moment until all lines are written.
    pub(super) fn end(&self) {
        drop(self.sender.lock().unwrap_or_else(PoisonError::into_inner).take());
        let _ = self.ended.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LAST);
    }
}

/// What a program writes to one of its outputs.
#[derive(Debug)]
pub(super) struct Output {
    lines: Lines,
    line: Vec<u8>,
    last: Vec<u8>,
}

impl Output {
    pub(super) fn new(lines: Lines) -> Self {
        Self { lines, line: Vec::new(), last: Vec::new() }
    }

    /// Passes lines on until it is closed.
    pub(super) async fn pass_on(&mut self, output: Option<impl AsyncRead + Unpin>) {
        let Some(mut output) = output else { return };
        let mut buffer = [0; 8_192];
        while let Ok(count @ 1..) = output.read(&mut buffer).await {
            self.add(&buffer[..count]);
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if byte != b'\n' {
                self.line.push(byte);
            }
            if byte == b'\n' || self.line.len() == LINE {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        if self.line.trim_ascii().is_empty() {
            self.line.clear();
        } else {
            self.last = std::mem::take(&mut self.line);
            self.lines.write(String::from_utf8_lossy(&self.last).into_owned());
        }
    }

    /// The last line that was not empty.
    pub(super) fn last_line(&mut self) -> String {
        self.end_line();
        String::from_utf8_lossy(self.last.trim_ascii()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_that_is_not_empty_is_kept() {
        for (pieces, last) in [
            (&["one\ntwo\n\n  \n"][..], "two"),
            (&["one\nt", "wo"], "two"),
            (&["", "\n"], ""),
            (&["Traceback:\n  line 1\nValueError: no such order\n"], "ValueError: no such order"),
        ] {
            let mut output = Output::new(Lines::start());
            pieces.iter().for_each(|piece| output.add(piece.as_bytes()));
            assert_eq!(output.last_line(), last, "{pieces:?}");
        }
    }
}
