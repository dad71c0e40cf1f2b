//! Ctrl-C and SIGTERM while messages are sent: the call that is on its way is waited for, and then it is said what went.

use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::problem::{INTERRUPT, Problem, TERMINATE, code_of_signal};

/// Whether it is time to stop.
#[derive(Debug, Clone)]
pub(crate) struct Stop {
    signal: watch::Receiver<Option<u8>>,
    /// What nobody would know of who does not wait; empty between calls.
    on_its_way: Arc<Mutex<String>>,
}

impl Stop {
    /// Listens from now on. A second signal ends the process at once.
    ///
    /// # Errors
    /// Signals cannot be listened to.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("could not listen for signals");
        let mut interrupt = listen(SignalKind::interrupt())?;
        let mut terminate = listen(SignalKind::terminate())?;
        let mut next = async move || {
            tokio::select! {
                _ = interrupt.recv() => INTERRUPT,
                _ = terminate.recv() => TERMINATE,
            }
        };
        let (sender, signal) = watch::channel(None);
        let stop = Self { signal, on_its_way: Arc::default() };
        let on_its_way = stop.clone();
        tokio::spawn(async move {
            sender.send_replace(Some(next().await));
            let signal = next().await;
            let what = on_its_way.on_its_way().clone();
            if !what.is_empty() {
                let _ = writeln!(std::io::stderr(), "redrive: {what} may have been sent anyway");
            }
            std::process::exit(code_of_signal(signal).into());
        });
        Ok(stop)
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.signal.borrow().is_some()
    }

    /// Waits until it is.
    pub(crate) async fn wanted(&self) {
        // It is not closed before the process ends.
        let _ = self.signal.clone().wait_for(Option::is_some).await;
    }

    /// What is on its way from now on, empty for nothing.
    pub(crate) fn sending(&self, what: String) {
        *self.on_its_way() = what;
    }

    /// What a failure is if it was asked for.
    pub(crate) fn or_failed(&self, error: anyhow::Error) -> Problem {
        match *self.signal.borrow() {
            Some(signal) => Problem::Ended(error, signal),
            None => Problem::Failed(error),
        }
    }

    fn on_its_way(&self) -> MutexGuard<'_, String> {
        self.on_its_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
