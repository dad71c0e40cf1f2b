//! Waits for the user at the terminal until the command is to stop.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::anyhow;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Longest wait for input that a stop cannot interrupt.
const TICK: Duration = Duration::from_millis(100);

/// Runs blocking work on its own thread. When `stop` ends, the work's flag is set, and the work should return soon.
///
/// # Errors
/// The work panicked.
pub(super) async fn until_stopped<T: Send + 'static>(
    stop: impl Future<Output = ()>,
    work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
) -> anyhow::Result<T> {
    let over = Arc::new(AtomicBool::new(false));
    let mut working = tokio::task::spawn_blocking({
        let over = over.clone();
        move || work(&over)
    });
    let done = tokio::select! {
        done = &mut working => done,
        () = stop => {
            over.store(true, Ordering::Relaxed);
            working.await
        }
    };
    done.map_err(|_| anyhow!("could not wait for the terminal"))
}

/// Reads a line from stdin, empty at its end. Returns none if it is time to stop.
pub(super) fn read_line(over: &AtomicBool) -> io::Result<Option<String>> {
    let tick = Timespec::try_from(TICK).map_err(io::Error::other)?;
    while !over.load(Ordering::Relaxed) {
        let stdin = io::stdin();
        let mut wanted = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
        match poll(&mut wanted, Some(&tick)) {
            Ok(0) | Err(Errno::INTR) => (),
            Ok(_) => {
                let mut line = String::new();
                stdin.read_line(&mut line)?;
                return Ok(Some(line));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}
