//! What the page knows: the queues as they were read last, which accounts are unlocked, and the verbs that run.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use tokio::runtime::Handle;

use super::action::Typed;
use super::runs::Runs;
use crate::aws::Aws;
use crate::find::Queue;
use crate::fleet::{DeadLetterQueue, Facts, Fleet, Places, Reached, Wanted, read_facts, snooze};
use crate::history::History;

/// Queues that were read so lately are not read again.
const FRESH: Duration = Duration::from_secs(30);
/// The same if somebody asks for fresh ones, so that a key that is held down costs nothing.
const ASKED_FOR: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Console {
    pub(super) typed: Typed,
    pub(super) key: String,
    pub(super) program: PathBuf,
    pub(super) history: History,
    pub(super) runs: Runs,
    places: Vec<Reached>,
    owner_tag: String,
    last: tokio::sync::Mutex<Option<Arc<Snapshot>>>,
    unlocked: Mutex<BTreeSet<String>>,
}

/// The queues at a moment.
#[derive(Debug)]
pub(super) struct Snapshot {
    read: Instant,
    pub(super) at: SystemTime,
    pub(super) fleet: Fleet,
    pub(super) facts: Vec<Facts>,
}

impl Console {
    pub(super) fn new(typed: &Places, places: Vec<Reached>, owner_tag: &str, key: String) -> Self {
        Self {
            typed: Typed {
                profiles: typed.profiles.clone(),
                regions: typed.regions.clone(),
                endpoint_url: typed.endpoint_url.clone(),
                timeout: typed.timeout,
            },
            key,
            program: std::env::current_exe().unwrap_or_else(|_| "redrive".into()),
            history: History::from_env(),
            runs: Runs::default(),
            places,
            owner_tag: owner_tag.to_owned(),
            last: tokio::sync::Mutex::default(),
            unlocked: Mutex::default(),
        }
    }

    /// The queues as they are, or were a moment ago. Whoever asks meanwhile gets the same.
    pub(super) async fn snapshot(self: &Arc<Self>, is_asked_for: bool) -> Arc<Snapshot> {
        let console = Arc::clone(self);
        apart(move || async move { console.read(is_asked_for).await }).await
    }

    async fn read(&self, is_asked_for: bool) -> Arc<Snapshot> {
        let mut last = self.last.lock().await;
        let fresh = if is_asked_for { ASKED_FOR } else { FRESH };
        if let Some(last) = last.as_ref().filter(|last| last.read.elapsed() < fresh) {
            return Arc::clone(last);
        }
        let wanted = Wanted { owner_tag: &self.owner_tag, with_empty: false };
        let facts = read_facts(&self.places, wanted).await;
        let (read, at) = (Instant::now(), SystemTime::now());
        let snapshot = Arc::new(Snapshot { read, at, fleet: Fleet::of(&facts, true), facts });
        *last = Some(Arc::clone(&snapshot));
        snapshot
    }

    /// The queues with the snoozes of this moment.
    pub(super) fn fleet(&self, snapshot: &Snapshot) -> Fleet {
        snooze::apply(snapshot.fleet.clone(), &self.history, SystemTime::now())
    }

    /// A dead-letter queue by its ARN.
    ///
    /// # Errors
    /// It was not found in the accounts that the page shows.
    pub(super) async fn queue(self: &Arc<Self>, arn: &str) -> Result<DeadLetterQueue, String> {
        let snapshot = self.snapshot(false).await;
        let found = snapshot.fleet.queues.iter().find(|queue| queue.arn == arn);
        found.cloned().ok_or_else(|| format!("queue is {arn}, allowed: a dead-letter queue of this page"))
    }

    /// A queue as it was read, and the way to it.
    pub(super) fn reached(&self, snapshot: &Snapshot, arn: &str) -> Option<(Aws, Queue)> {
        let find = |(facts, reached): (&Facts, &Reached)| {
            let queue = facts.queues.iter().find(|queue| queue.arn == arn)?;
            Some((reached.aws.as_ref().ok()?.clone(), queue.clone()))
        };
        snapshot.facts.iter().zip(&self.places).find_map(find)
    }

    pub(super) fn unlocked(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.unlocked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs a future on a thread that may block: it borrows across calls to AWS, so that it cannot move between threads.
pub(super) async fn apart<F: Future<Output: Send + 'static>>(
    start: impl FnOnce() -> F + Send + 'static,
) -> F::Output {
    let runtime = Handle::current();
    let done = tokio::task::spawn_blocking(move || runtime.block_on(start())).await;
    done.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()))
}
