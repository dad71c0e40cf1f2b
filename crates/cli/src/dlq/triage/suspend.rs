//! Suspends the process on Ctrl-Z. It restores the terminal first, and continues after `fg`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use rustix::process::{Signal, getpid, getppid, getsid, kill_process};
use tokio::signal::unix::{SignalKind, signal};

static WANTED: AtomicBool = AtomicBool::new(false);
static READING: AtomicBool = AtomicBool::new(false);
static RESUMED: AtomicBool = AtomicBool::new(false);

/// Pause between checks whether the process continues, and their number. If nothing reports it, it was not suspended.
const TICK: Duration = Duration::from_millis(10);
const TICKS: usize = 100;

/// Held while a key is read, when the terminal is in raw mode.
pub(super) struct Reading(());

impl Reading {
    pub(super) fn begin() -> Self {
        READING.store(true, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        READING.store(false, Ordering::SeqCst);
    }
}

/// Starts to listen for Ctrl-Z. While no key is read, it suspends the process immediately.
///
/// # Errors
/// The signal cannot be listened to.
pub(super) fn listen() -> anyhow::Result<()> {
    let listen =
        |kind: Signal| signal(SignalKind::from_raw(kind.as_raw())).context("could not listen for signals");
    let (mut suspended, mut resumed) = (listen(Signal::TSTP)?, listen(Signal::CONT)?);
    tokio::spawn(async move {
        while resumed.recv().await.is_some() {
            RESUMED.store(true, Ordering::SeqCst);
        }
    });
    tokio::spawn(async move {
        while suspended.recv().await.is_some() {
            WANTED.store(has_shell(), Ordering::SeqCst);
            if !READING.load(Ordering::SeqCst) {
                // No key is read, so the terminal needs no restoring.
                tokio::task::spawn_blocking(now_if_wanted);
            }
        }
    });
    Ok(())
}

pub(super) fn is_wanted() -> bool {
    WANTED.load(Ordering::SeqCst)
}

/// Suspends the process if Ctrl-Z was pressed. Returns when it continues.
pub(super) fn now_if_wanted() {
    if WANTED.swap(false, Ordering::SeqCst) {
        RESUMED.store(false, Ordering::SeqCst);
        // A process may always stop itself, but its threads run on for a moment.
        let _ = kill_process(getpid(), Signal::STOP);
        for _ in 0..TICKS {
            if RESUMED.load(Ordering::SeqCst) {
                return;
            }
            std::thread::sleep(TICK);
        }
    }
}

/// Returns true if a shell can continue the process. Without one, systems ignore this signal.
/// <https://pubs.opengroup.org/onlinepubs/9799919799/functions/V2_chap02.html#tag_16_04_03>
fn has_shell() -> bool {
    let session = |process| getsid(process).ok();
    getppid().is_some_and(|parent| session(Some(parent)) == session(None))
}
