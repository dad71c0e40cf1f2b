//! Handles Ctrl-C, SIGTERM, and SIGHUP unless it is ignored, as by nohup: the command finishes and reports its calls first.

use std::collections::BTreeSet;
use std::io::{IsTerminal, stdin};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, anyhow};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::output::Stream;
use crate::problem::{HANGUP, INTERRUPT, Problem, TERMINATE, code_of_signal};
use crate::scratch;
use crate::tell::tell;

/// Number of the current listener. A later one takes over.
static LISTENER: AtomicUsize = AtomicUsize::new(0);

/// The signal to stop.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Number of the signal that requested it.
    signal: watch::Sender<Option<u8>>,
    /// Names of letters that may arrive twice if the process ends now.
    on_its_way: Mutex<BTreeSet<String>>,
    is_over: AtomicBool,
}

impl Stop {
    /// Starts to listen. A second signal ends the process, which then names calls without an answer.
    ///
    /// # Errors
    /// Signals cannot be listened to.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let stop = Self::default();
        stop.listen_and(std::future::ready(anyhow!("interrupted")), "interrupted")?;
        Ok(stop)
    }

    /// Starts to listen in place of an earlier listener. The first signal requests a stop. After a second one the process waits
    /// only for `last`, prints its error and ends. After a third, it prints `otherwise` and ends.
    ///
    /// # Errors
    /// Signals cannot be listened to.
    pub(super) fn listen_and(
        &self,
        last: impl Future<Output = anyhow::Error> + Send + 'static,
        otherwise: impl Into<String>,
    ) -> anyhow::Result<()> {
        let listen = |kind| signal(kind).context("could not listen for signals");
        let mut hangup = (!is_hangup_ignored()).then(|| listen(SignalKind::hangup())).transpose()?;
        let (mut interrupt, mut terminate) =
            (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
        let mut any = async move || {
            tokio::select! {
                _ = interrupt.recv() => INTERRUPT,
                _ = terminate.recv() => TERMINATE,
                Some(_) = async { hangup.as_mut()?.recv().await } => HANGUP,
            }
        };
        let (stop, otherwise) = (self.clone(), otherwise.into());
        let listener = LISTENER.fetch_add(1, Ordering::SeqCst) + 1;
        tokio::spawn(async move {
            let signal = loop {
                let signal = any().await;
                if LISTENER.load(Ordering::SeqCst) != listener {
                    return;
                }
                if stop.is_wanted() || stop.0.is_over.load(Ordering::SeqCst) {
                    break signal;
                }
                stop.request(signal);
            };
            let last = tokio::select! {
                last = last => last.to_string(),
                _ = any() => otherwise,
            };
            for what in &*stop.on_its_way() {
                tell(format_args!("redrive: possible duplicate: {what} was being sent"));
            }
            tell(format_args!("redrive: {last}"));
            scratch::remove_all();
            std::process::exit(code_of_signal(signal).into());
        });
        Ok(())
    }

    /// Makes the first signal end the process from now on.
    pub(super) fn end(&self) {
        self.0.is_over.store(true, Ordering::SeqCst);
    }

    /// Requests a stop, as a signal with this number does.
    pub(crate) fn request(&self, signal: u8) {
        self.0.signal.send_if_modified(|wanted| {
            let is_first = wanted.is_none();
            wanted.get_or_insert(signal);
            is_first
        });
    }

    /// Returns the number of the signal that requested it.
    pub(crate) fn signal(&self) -> Option<u8> {
        *self.0.signal.borrow()
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.signal().is_some()
    }

    /// Waits for the stop.
    pub(crate) async fn wanted(&self) {
        self.wait_for(|_| true).await;
    }

    /// Waits for a stop by a signal that no key sends.
    pub(crate) async fn terminated(&self) {
        self.wait_for(|signal| signal != INTERRUPT).await;
    }

    async fn wait_for(&self, is_it: impl Fn(u8) -> bool) {
        // It cannot be closed while `self` lives.
        let _ = self.0.signal.subscribe().wait_for(|signal| signal.is_some_and(&is_it)).await;
    }

    /// Adds a letter that may arrive twice if the process ends from now on.
    pub(crate) fn begin(&self, what: String) {
        self.on_its_way().insert(what);
    }

    /// Removes a letter once its result is known.
    pub(crate) fn settle(&self, what: &str) {
        self.on_its_way().remove(what);
    }

    pub(crate) fn on_its_way(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.on_its_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Turns an error into the problem of a requested stop, or of a failure.
    pub(crate) fn or_failed(&self, error: anyhow::Error) -> Problem {
        match self.signal() {
            Some(signal) => Problem::Ended(error, signal),
            None => Problem::Failed(error),
        }
    }
}

/// Returns true if SIGHUP is ignored, as under `nohup`. If the system does not show it: without a terminal, none can be lost.
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    is_ignored(&status, HANGUP).unwrap_or_else(|| !has_terminal())
}

/// Returns true if Linux's status of a process has the signal among the ignored ones.
/// <https://man7.org/linux/man-pages/man5/proc_pid_status.5.html>
fn is_ignored(status: &str, signal: u8) -> Option<bool> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
    Some(mask >> (signal - 1) & 1 == 1)
}

fn has_terminal() -> bool {
    stdin().is_terminal() || Stream::Stdout.is_terminal() || Stream::Stderr.is_terminal()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_is_ignored_stays_so() {
        let status = "Name:\tredrive\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000002\n";
        assert_eq!(is_ignored(status, HANGUP), Some(true));
        assert_eq!(is_ignored(status, INTERRUPT), Some(false));
        assert_eq!(is_ignored("", HANGUP), None);
    }
}
