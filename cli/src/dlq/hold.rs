//! A hold on letters while something is done with them: nobody else receives them, and in the end those that are still
//! in the queue are visible again.

mod clock;
mod held;
mod patience;
mod receive;
mod signals;
#[cfg(test)]
mod tests;
mod visibility;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_sdk_sqs::Client;
use tokio::sync::watch;

use self::clock::now;
use self::held::Held;
use self::patience::Patience;
use self::signals::interrupted;
use self::visibility::change;
use super::tell::tell;
use crate::aws::Aws;
use crate::find::Queue;
use crate::problem::{INTERRUPT, OrProblem, Problem};

/// How long letters stay hidden if nobody is left to make them visible again.
const VISIBILITY: Duration = Duration::from_secs(60);

/// How long AWS may refuse to hand out letters, without a single answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// SQS hands out no more than 120,000 at a time, and others may hold some.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html>
const MOST: usize = 100_000;

/// Holds that are not over. Who listens for signals once, listens forever: without a hold a signal ends the process.
static ACTIVE: AtomicUsize = AtomicUsize::new(0);

/// Letters that were received and are neither deleted nor visible again.
#[derive(Debug, Clone)]
pub(crate) struct Hold {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    sqs: Client,
    url: String,
    visibility: Duration,
    held: Mutex<Held>,
    patience: Mutex<Patience>,
    /// The number of the signal that asked for it.
    stop: watch::Sender<Option<u8>>,
    /// Letters on their way to another queue.
    sending: Mutex<BTreeSet<String>>,
    over: AtomicBool,
    /// Held over calls that change visibility: an extension that comes after a release would hide letters again.
    turn: tokio::sync::Mutex<()>,
}

/// Does `work`, and makes the letters that it holds visible again in the end: when it is done, when it fails, and on
/// Ctrl-C, SIGTERM and SIGHUP, which it learns from [`Hold::is_stopped`]. A second Ctrl-C does not wait for it, and a third
/// for nothing at all.
///
/// # Errors
/// That of `work`; else `interrupted` if it was.
pub(crate) async fn hold<T>(
    aws: &Aws,
    queue: &Queue,
    work: impl AsyncFnOnce(&Hold) -> Result<T, Problem>,
) -> Result<T, Problem> {
    if let Some(policy) = queue.redrive_policy() {
        tell(format_args!(
            "warning: {} has a redrive policy of its own: each look is a receive, and after {} of them SQS moves a letter on",
            queue.name(),
            policy.max_receive_count
        ));
    }
    let hold = Hold::new(aws.sqs(), queue.url.clone(), VISIBILITY, PATIENCE);
    let beating = tokio::spawn(hold.clone().keep());
    tokio::spawn(signals::listen(hold.clone()).or_failed()?);
    ACTIVE.fetch_add(1, Ordering::SeqCst);
    let result = work(&hold).await;
    let visible = hold.release_all().await;
    beating.abort();
    ACTIVE.fetch_sub(1, Ordering::SeqCst);
    hold.inner.over.store(true, Ordering::SeqCst);
    match result {
        Ok(done) => match hold.stopped_by() {
            Some(signal) => Err(Problem::Ended(interrupted(visible), signal)),
            None => Ok(done),
        },
        Err(problem) => Err(problem),
    }
}

impl Hold {
    pub(super) fn new(sqs: Client, url: String, visibility: Duration, patience: Duration) -> Self {
        let (stop, _) = watch::channel(None);
        Self {
            inner: Arc::new(Inner {
                sqs,
                url,
                visibility,
                held: Mutex::default(),
                patience: Mutex::new(Patience::new(patience)),
                stop,
                sending: Mutex::default(),
                over: AtomicBool::new(false),
                turn: tokio::sync::Mutex::default(),
            }),
        }
    }

    /// Whether it was asked to stop: finish what must be finished, and return.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped_by().is_some()
    }

    fn stopped_by(&self) -> Option<u8> {
        *self.inner.stop.borrow()
    }

    /// Asks it to stop, as Ctrl-C does where a terminal makes no signal of it.
    pub(crate) fn stop(&self) {
        if !self.is_stopped() {
            self.stop_by(INTERRUPT);
        }
    }

    fn stop_by(&self, signal: u8) {
        self.inner.stop.send_replace(Some(signal));
    }

    /// Waits until it is asked to stop.
    pub(crate) async fn stopped(&self) {
        // It cannot be closed while `self` lives.
        let _ = self.inner.stop.subscribe().wait_for(|stop| stop.is_some()).await;
    }

    /// Waits until it is asked to stop by a signal that no key makes.
    pub(crate) async fn terminated(&self) {
        let is_other = |stop: &Option<u8>| stop.is_some_and(|signal| signal != INTERRUPT);
        let _ = self.inner.stop.subscribe().wait_for(is_other).await;
    }

    /// Whether so many letters are held that SQS would hand out no more.
    pub(crate) fn is_full(&self) -> bool {
        self.count() >= MOST
    }

    pub(crate) fn count(&self) -> usize {
        self.held().len()
    }

    /// Whether nobody else can have received this letter.
    pub(crate) fn holds(&self, id: &str) -> bool {
        self.held().holds(id, now())
    }

    /// The newest receipt handle of a letter.
    pub(crate) fn handle(&self, id: &str) -> Option<String> {
        self.held().handle(id).map(str::to_owned)
    }

    /// Remembers which letters are on their way: if the process ends now, they may be twice.
    pub(crate) fn sending<'a>(&self, ids: impl IntoIterator<Item = &'a str>) {
        self.on_their_way().extend(ids.into_iter().map(str::to_owned));
    }

    /// Each of these was deleted, or told of.
    pub(crate) fn settled<'a>(&self, ids: impl IntoIterator<Item = &'a str>) {
        let mut sending = self.on_their_way();
        for id in ids {
            sending.remove(id);
        }
    }

    /// The letters that may be twice if the process ends now.
    pub(crate) fn on_their_way(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.inner.sending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets letters that are no longer in the queue.
    pub(crate) fn forget<'a>(&self, ids: impl IntoIterator<Item = &'a str>) {
        let mut held = self.held();
        ids.into_iter().for_each(|id| held.remove(id));
    }

    /// Makes letters visible again, also before the end, and says how many are.
    pub(crate) async fn release(&self, ids: Vec<String>) -> usize {
        let _turn = self.inner.turn.lock().await;
        let taken = self.held().take(&ids);
        self.let_go(taken).await
    }

    async fn release_all(&self) -> usize {
        let ids = self.held().ids();
        self.release(ids).await
    }

    async fn let_go(&self, letters: Vec<(String, String)>) -> usize {
        let count = letters.len();
        let changed = change(&self.inner.sqs, &self.inner.url, letters, 0).await;
        if let Some(reason) = &changed.reason {
            tell(format_args!(
                "warning: {} letters stay hidden for up to {} s: {reason}",
                changed.refused,
                seconds(self.inner.visibility)
            ));
        }
        count - changed.refused
    }

    /// Extends the hold for as long as it is needed.
    async fn keep(self) {
        let mut tick = tokio::time::interval(self.inner.visibility / 6);
        loop {
            tick.tick().await;
            let _turn = self.inner.turn.lock().await;
            let since = now();
            let expiring = self.held().expiring(since + self.inner.visibility / 2);
            if expiring.is_empty() {
                continue;
            }
            let changed =
                change(&self.inner.sqs, &self.inner.url, expiring, seconds(self.inner.visibility)).await;
            self.held().extend(&changed.ids, since, since + self.inner.visibility);
            if let Some(reason) = changed.reason {
                tell(format_args!(
                    "warning: the hold on {} letters could not be extended: {reason}",
                    changed.refused
                ));
            }
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // No holder of the lock panics, and a map of handles is never half changed.
        self.inner.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn seconds(duration: Duration) -> i32 {
    duration.as_secs().try_into().unwrap_or(i32::MAX)
}
