//! Writes the output of programs to standard error, line by line, because standard output has the log. A slow reader slows
//! programs down, as their own pipe would. One that reads nothing does not stop them.

use std::os::fd::AsFd;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::io::ioctl_fionread;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc::{Sender, channel, error::TrySendError};
use tokio::time::timeout;

use crate::counted::counted;
use crate::tell::tell;

/// Lines that may wait to be written. If there are more, programs wait.
const MOST: usize = 1_024;
/// Time without a read after which further lines are lost until the next one.
const STUCK: Duration = Duration::from_secs(5);
/// Longest line in bytes. A longer one is passed on in pieces.
const LINE: usize = 16 * 1_024;
/// Time for the last lines.
const LAST: Duration = Duration::from_secs(1);

/// A thread that writes lines. Clones write through the same one.
#[derive(Debug, Clone)]
pub(super) struct Lines {
    sender: Arc<Mutex<Option<Sender<String>>>>,
    ended: Arc<Mutex<Receiver<()>>>,
    lost: Arc<AtomicUsize>,
}

impl Lines {
    pub(super) fn start() -> Self {
        let (sender, mut lines) = channel::<String>(MOST);
        let (end, ended) = sync_channel(0);
        let lost = Arc::new(AtomicUsize::new(0));
        let counted_lost = Arc::clone(&lost);
        std::thread::spawn(move || {
            while let Some(line) = lines.blocking_recv() {
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

    async fn write(&self, line: String) {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let is_written = match sender.as_ref().map(|sender| (sender, sender.try_send(line))) {
            Some((_, Ok(()))) => true,
            // After a lost line, none waits until one is written.
            Some((sender, Err(TrySendError::Full(line)))) if self.lost.load(Relaxed) == 0 => {
                timeout(STUCK, sender.send(line)).await.is_ok_and(|sent| sent.is_ok())
            }
            Some((_, Err(_))) | None => false,
        };
        if !is_written {
            self.lost.fetch_add(1, Relaxed);
        }
    }

    /// Waits briefly until all lines are written.
    pub(super) fn end(&self) {
        drop(self.sender.lock().unwrap_or_else(PoisonError::into_inner).take());
        let _ = self.ended.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LAST);
    }
}

/// One of the outputs of a program.
#[derive(Debug)]
pub(super) struct Output {
    lines: Lines,
    line: Vec<u8>,
    last: Vec<u8>,
    /// The line before the stack of an error, or after a `^` under a thrown value, as Node writes it.
    thrown: Vec<u8>,
}

impl Output {
    pub(super) fn new(lines: Lines) -> Self {
        Self { lines, line: Vec::new(), last: Vec::new(), thrown: Vec::new() }
    }

    /// Passes lines on until the output is closed. If a process outside of the group keeps it open, it ends with the data in the
    /// pipe at `over`.
    pub(super) async fn pass_on(
        &mut self,
        output: Option<impl AsyncRead + AsFd + Unpin>,
        over: impl Future<Output = ()>,
    ) {
        let Some(mut output) = output else { return };
        let (mut buffer, mut over) = ([0; 8_192], pin!(over));
        loop {
            tokio::select! {
                biased;
                () = &mut over => break,
                read = output.read(&mut buffer) => match read {
                    Ok(count @ 1..) => self.add(&buffer[..count]).await,
                    Ok(0) | Err(_) => return,
                },
            }
        }
        let mut left = ioctl_fionread(&output).unwrap_or_default();
        while left > 0
            && let Ok(count @ 1..) = output.read(&mut buffer).await
        {
            self.add(&buffer[..count]).await;
            left = left.saturating_sub(count as u64);
        }
    }

    async fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if byte != b'\n' {
                self.line.push(byte);
            }
            if byte == b'\n' || self.line.len() == LINE {
                self.end_line().await;
            }
        }
    }

    async fn end_line(&mut self) {
        if self.line.trim_ascii().is_empty() {
            self.line.clear();
            return;
        }
        let before = std::mem::replace(&mut self.last, std::mem::take(&mut self.line));
        let is_marker = |line: &[u8]| !line.is_empty() && line.iter().all(|byte| *byte == b'^');
        if self.last.starts_with(b"    at ") && !before.starts_with(b" ") {
            self.thrown = before;
        } else if is_marker(before.trim_ascii()) {
            self.thrown.clone_from(&self.last);
        }
        self.lines.write(String::from_utf8_lossy(&self.last).into_owned()).await;
    }

    /// Returns the last line that is not empty. After an error, Node writes its stack and its own version.
    pub(super) async fn last_line(&mut self) -> String {
        self.end_line().await;
        let is_of_node = self.last.starts_with(b"Node.js v") && !self.thrown.is_empty();
        let last = if is_of_node { &self.thrown } else { &self.last };
        String::from_utf8_lossy(last.trim_ascii()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_last_line_that_is_not_empty_is_kept() {
        for (pieces, last) in [
            (&["one\ntwo\n\n  \n"][..], "two"),
            (&["one\nt", "wo"], "two"),
            (&["", "\n"], ""),
            (&["Traceback:\n  line 1\nValueError: no such order\n"], "ValueError: no such order"),
            (
                &["x\nError: no\n    at a (b.js:1:7)\n    at c {\n  code: 'X'\n}\n\nNode.js v22.1.0\n"],
                "Error: no",
            ),
            (&["Error: no\n    at a {\n  [cause]: Error: y\n      at a\n}\nNode.js v22.1.0\n"], "Error: no"),
            (&["b.js:1\nthrow x\n  ^\ncard refused\n(Use `node`)\n\nNode.js v22.1.0\n"], "card refused"),
            (&["b.js:1\nthrow x\n  ^\n{ code: 'E1' }\n\nNode.js v22.1.0\n"], "{ code: 'E1' }"),
            (&["throw x\n^\n\nE: no\n    at a (b.js:1:7)\n\nNode.js v22.1.0\n"], "E: no"),
            (&["Error: seen\n    at a (b.js:1:7)\nend\n"], "end"),
            (&["Node.js v22.1.0\n"], "Node.js v22.1.0"),
        ] {
            let mut output = Output::new(Lines::start());
            for piece in pieces {
                output.add(piece.as_bytes()).await;
            }
            assert_eq!(output.last_line().await, last, "{pieces:?}");
        }
    }
}
