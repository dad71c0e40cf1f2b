//! Hides letters from other consumers while a verb works on them, and makes those that are still in the queue visible again at
//! the end.

mod clock;
mod leased_letters;
mod receive;
#[cfg(test)]
mod tests;
mod visibility;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::anyhow;
use aws_sdk_sqs::Client;

use self::clock::now;
use self::leased_letters::LeasedLetters;
use self::receive::POLL;
use self::visibility::change;
use super::pace::Backoff;
use super::receivable::Receivable;
use super::signals::Stop;
use crate::aws::Aws;
use crate::problem::{OrProblem, Problem};
use crate::tell::tell;

/// Visibility timeout of letters, which ends the lease if the process is killed.
const VISIBILITY: Duration = Duration::from_secs(60);

/// Longest time of failing receives without a single answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Most letters to lease. SQS allows 120,000 in flight, and other consumers may have some.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html>
const MOST: usize = 100_000;

/// Letters that were received and are neither deleted nor visible again.
#[derive(Debug, Clone)]
pub(crate) struct LetterLease {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    sqs: Client,
    url: String,
    visibility: Duration,
    leased: Mutex<LeasedLetters>,
    /// Longest time of failing receives without a single answer.
    patience: Duration,
    backoff: Mutex<Backoff>,
    stop: Stop,
    /// Locked during calls that change visibility: an extension after a release would hide letters again.
    turn: tokio::sync::Mutex<()>,
}

/// Runs `work`, and then makes the letters that it holds visible again: when it is done, when it fails, and on Ctrl-C, SIGTERM
/// and SIGHUP, which it learns from [`LetterLease::stop`]. After a second Ctrl-C the process releases the letters without waiting for
/// `work`. After a third, it ends immediately.
///
/// # Errors
/// Those of `work`, else `interrupted` if it was.
pub(crate) async fn with_lease<T>(
    aws: &Aws,
    queue: &Receivable,
    work: impl AsyncFnOnce(&LetterLease) -> Result<T, Problem>,
) -> Result<T, Problem> {
    let lease = LetterLease::new(aws.polling(POLL).sqs(), queue.url.clone(), VISIBILITY, PATIENCE);
    let (last, hidden) = (lease.clone(), VISIBILITY.as_secs());
    let last = async move { interrupted(last.release_all().await) };
    let otherwise = format!("interrupted, and the letters in flight stay hidden for up to {hidden} s");
    lease.stop().listen_and(last, otherwise).or_failed()?;
    let keeping = tokio::spawn(lease.clone().keep());
    let result = work(&lease).await;
    let visible = lease.release_all().await;
    keeping.abort();
    lease.stop().end();
    match result {
        Ok(_) if lease.is_stopped() => Err(lease.stop().or_failed(interrupted(visible))),
        result => result,
    }
}

fn interrupted(visible: usize) -> anyhow::Error {
    match visible {
        0 => anyhow!("interrupted"),
        1 => anyhow!("interrupted, and the letter in flight is visible again"),
        _ => anyhow!("interrupted, and the {visible} letters in flight are visible again"),
    }
}

impl LetterLease {
    pub(crate) fn new(sqs: Client, url: String, visibility: Duration, patience: Duration) -> Self {
        let inner = Inner {
            sqs,
            url,
            visibility,
            leased: Mutex::new(LeasedLetters::new(visibility)),
            patience,
            backoff: Mutex::default(),
            stop: Stop::default(),
            turn: tokio::sync::Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Returns the stop signal. The work must then finish its calls and return.
    pub(crate) fn stop(&self) -> &Stop {
        &self.inner.stop
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop().is_wanted()
    }

    /// Waits for the stop signal.
    pub(crate) async fn stopped(&self) {
        self.stop().wanted().await;
    }

    /// Returns true if SQS would return no more letters because too many are leased.
    pub(crate) fn is_full(&self) -> bool {
        self.count() >= MOST
    }

    pub(crate) fn count(&self) -> usize {
        self.leased().len()
    }

    /// Returns true if nobody else can have received this letter.
    pub(crate) fn holds(&self, id: &str) -> bool {
        self.leased().holds(id, now())
    }

    /// Returns the newest receipt handle of a letter.
    pub(crate) fn handle(&self, id: &str) -> Option<String> {
        self.leased().handle(id).map(str::to_owned)
    }

    /// Forgets a letter that has left the queue.
    pub(crate) fn forget(&self, id: &str) {
        self.leased().remove(id);
    }

    /// Makes all letters visible again, and returns their number.
    async fn release_all(&self) -> usize {
        let _turn = self.inner.turn.lock().await;
        let letters = self.leased().release();
        let changed = change(&self.inner.sqs, &self.inner.url, &letters).await;
        if let Some(reason) = &changed.reason {
            tell(format_args!(
                "warning: {} letters stay hidden for up to {} s: {reason}",
                changed.refused,
                seconds(self.inner.visibility)
            ));
        }
        letters.len() - changed.refused
    }

    /// Extends the visibility timeouts until aborted.
    async fn keep(self) {
        let mut tick = tokio::time::interval(self.inner.visibility / 6);
        loop {
            tick.tick().await;
            let _turn = self.inner.turn.lock().await;
            let since = now();
            let due = self.leased().due(since);
            let changed = change(&self.inner.sqs, &self.inner.url, &due).await;
            self.leased().extended(&due, &changed.keys, since);
            if let Some(reason) = changed.reason {
                tell(format_args!(
                    "warning: the visibility timeout of {} letters could not be extended: {reason}",
                    changed.refused
                ));
            }
        }
    }

    fn leased(&self) -> MutexGuard<'_, LeasedLetters> {
        // Nobody panics while holding the lock, and the map is never half changed.
        self.inner.leased.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn seconds(duration: Duration) -> i32 {
    duration.as_secs().try_into().unwrap_or(i32::MAX)
}
