//! Ctrl-C, SIGTERM, and SIGHUP unless nohup or another has it ignored: what is on its way is finished and told of first.

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

/// Who listens: one that listens later takes over.
static LISTENER: AtomicUsize = AtomicUsize::new(0);

/// Whether it is time to stop.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// The number of the signal that asked for it.
    signal: watch::Sender<Option<u8>>,
    /// What may be twice if the process ends now, in words.
    on_its_way: Mutex<BTreeSet<String>>,
    is_over: AtomicBool,
}

impl Stop {
    /// Listens from now on; what nobody waits for is only named if the process ends before its time.
    ///
    /// # Errors
    /// Signals cannot be listened to.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let stop = Self::default();
        stop.listen_and(std::future::ready(anyhow!("interrupted")), "interrupted")?;
        Ok(stop)
    }

    /// Listens from now on, instead of an earlier listener. The first signal asks to stop. With a second one the process does not wait for that: it ends
    /// after `last`, which gives the last words, and a third does not wait for `last` either and has `otherwise` said.
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

    /// From now on the first signal ends the process.
    pub(super) fn end(&self) {
        self.0.is_over.store(true, Ordering::SeqCst);
    }

    /// Asks to stop, as a signal of this number does.
    pub(crate) fn request(&self, signal: u8) {
        self.0.signal.send_if_modified(|wanted| {
            let is_first = wanted.is_none();
            wanted.get_or_insert(signal);
            is_first
        });
    }

    /// The number of the signal that asked for it.
    pub(crate) fn signal(&self) -> Option<u8> {
        *self.0.signal.borrow()
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.signal().is_some()
    }

    /// Waits until it is.
    pub(crate) async fn wanted(&self) {
        self.wait_for(|_| true).await;
    }

    /// Waits until it is, for a signal that no key makes.
    pub(crate) async fn terminated(&self) {
        self.wait_for(|signal| signal != INTERRUPT).await;
    }

    async fn wait_for(&self, is_it: impl Fn(u8) -> bool) {
        // It cannot be closed while `self` lives.
        let _ = self.0.signal.subscribe().wait_for(|signal| signal.is_some_and(&is_it)).await;
    }

    /// From now on this may be twice if the process ends.
    pub(crate) fn begin(&self, what: String) {
        self.on_its_way().insert(what);
    }

    /// It is known by now what became of it.
    pub(crate) fn settle(&self, what: &str) {
        self.on_its_way().remove(what);
    }

    pub(crate) fn on_its_way(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.on_its_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a failure is if it was asked for.
    pub(crate) fn or_failed(&self, error: anyhow::Error) -> Problem {
        match self.signal() {
            Some(signal) => Problem::Ended(error, signal),
            None => Problem::Failed(error),
        }
    }
}

/// As `nohup` has it. Where the system does not say so, a command without a terminal cannot lose it.
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    is_ignored(&status, HANGUP).unwrap_or_else(|| !has_terminal())
}

/// Whether Linux's status of a process has a signal among the ignored ones.
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
