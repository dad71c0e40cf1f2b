//! Standard output and error without the locks of `std`: a handler may hold a lock, and the response must not wait for it.
//!
//! A worker must not wait for a reader either, so a thread writes its lines. On Lambda that thread might be frozen before
//! it has written the last lines.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::sync::LazyLock;
#[cfg(feature = "worker")]
use std::sync::atomic::{AtomicUsize, Ordering};
#[cfg(feature = "worker")]
use std::thread::Builder;
#[cfg(feature = "worker")]
use std::time::Duration;

#[cfg(feature = "worker")]
use crate::backlog::Backlog;

static STDOUT: LazyLock<Option<File>> =
    LazyLock::new(|| std::io::stdout().as_fd().try_clone_to_owned().ok().map(File::from));

#[cfg(feature = "worker")]
static BACKLOG: Backlog = Backlog::new();
/// Workers that run.
#[cfg(feature = "worker")]
static WORKERS: AtomicUsize = AtomicUsize::new(0);

/// Writes whole lines at once. Lines that cannot be written are lost.
pub fn write(lines: &[u8]) {
    #[cfg(feature = "worker")]
    if WORKERS.load(Ordering::Relaxed) > 0 {
        return BACKLOG.add(lines);
    }
    write_now(lines);
}

/// Lets a thread write the lines while a worker runs.
#[cfg(feature = "worker")]
pub fn worker_begins() {
    static WRITER: LazyLock<bool> = LazyLock::new(|| {
        let writer = Builder::new().name("redrive-log".to_owned());
        writer.spawn(|| BACKLOG.write(write_now)).is_ok()
    });
    WORKERS.fetch_add(usize::from(*WRITER), Ordering::Relaxed);
}

/// Waits until the lines of a worker that has ended are written, unless nobody reads them.
#[cfg(feature = "worker")]
pub fn worker_ends(patience: Duration) {
    if WORKERS.load(Ordering::Relaxed) > 0 && BACKLOG.flush(patience) {
        WORKERS.fetch_sub(1, Ordering::Relaxed);
    }
}

fn write_now(lines: &[u8]) {
    if let Some(mut stdout) = STDOUT.as_ref() {
        let _ = stdout.write_all(lines);
    }
}

/// Writes a line to standard error in the same way.
pub fn write_error(line: &str) {
    if let Ok(stderr) = std::io::stderr().as_fd().try_clone_to_owned() {
        let _ = File::from(stderr).write_all(line.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn a_held_lock_delays_no_output() {
        let held = std::io::stdout().lock();
        let (sender, receiver) = channel();
        let writing = std::thread::spawn(move || {
            super::write(b"");
            sender.send(()).unwrap();
        });
        let written = receiver.recv_timeout(Duration::from_secs(10));
        drop(held);
        writing.join().unwrap();
        assert_eq!(written, Ok(()));
    }
}
