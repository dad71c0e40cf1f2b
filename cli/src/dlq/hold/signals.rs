//! What ends a hold before its time: Ctrl-C, SIGTERM, and SIGHUP unless nohup or another has it ignored.

use std::io::{self, IsTerminal};
use std::sync::atomic::Ordering;

use anyhow::{Context, anyhow};
use tokio::signal::unix::{SignalKind, signal};

use super::{ACTIVE, Hold, VISIBILITY};
use crate::dlq::tell::tell;
use crate::problem::{HANGUP, INTERRUPT, TERMINATE, code_of_signal};
use crate::scratch;

/// Listens from now on.
pub(super) fn listen(hold: Hold) -> anyhow::Result<impl Future<Output = ()> + Send + 'static> {
    let listen = |kind| signal(kind).context("could not listen for signals");
    let mut hangup = (!is_hangup_ignored()).then(|| listen(SignalKind::hangup())).transpose()?;
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    let mut any = async move || {
        tokio::select! {
            _ = interrupt.recv() => INTERRUPT,
            _ = terminate.recv() => TERMINATE,
            Some(_) = async { hangup.as_mut()?.recv().await } => HANGUP,
        }
    };
    Ok(async move {
        let signal = loop {
            let signal = any().await;
            match (hold.inner.over.load(Ordering::SeqCst), hold.is_stopped()) {
                // Another hold has letters, and listens too.
                (true, _) if ACTIVE.load(Ordering::SeqCst) > 0 => (),
                (false, false) => hold.stop_by(signal),
                (true, _) | (false, true) => break signal,
            }
        };
        // Where AWS does not answer, whoever does not wait for it need not.
        let told = tokio::select! {
            visible = hold.release_all() => interrupted(visible),
            _ = any() => anyhow!("interrupted, and the letters that were held stay hidden for up to {} s", VISIBILITY.as_secs()),
        };
        for id in &*hold.on_their_way() {
            tell(format_args!("redrive: possible duplicate: letter {id} was on its way"));
        }
        tell(format_args!("redrive: {told}"));
        scratch::remove_all();
        std::process::exit(code_of_signal(signal).into());
    })
}

pub(super) fn interrupted(visible: usize) -> anyhow::Error {
    match visible {
        0 => anyhow!("interrupted"),
        1 => anyhow!("interrupted, and the letter that was held is visible again"),
        _ => anyhow!("interrupted, and the {visible} letters that were held are visible again"),
    }
}

/// As `nohup` has it. Where the system does not say so, whoever has no terminal cannot lose it.
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
    io::stdin().is_terminal() || io::stdout().is_terminal() || io::stderr().is_terminal()
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
