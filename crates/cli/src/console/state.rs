//! State of the page: the queues at their last read, the unlocked accounts, and the verbs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;
use tokio::runtime::Handle;

use super::action::Typed;
use super::curves;
use super::runs::Runs;
use crate::aws::Aws;
use crate::find::Queue;
use crate::fleet::{DeadLetterQueue, Fleet, PlaceFacts, Places, Reached, Wanted, read_facts, remembered};
use crate::history::History;

/// Age below which queues are not read again.
const FRESH: Duration = Duration::from_secs(30);
/// The same after a request for fresh ones, so that a key that is held down costs nothing.
const ASKED_FOR: Duration = Duration::from_secs(2);

/// Age below which deployments are not read again.
const DEPLOYMENTS: Duration = Duration::from_secs(5 * 60);
/// Number of queues with deployments, because each takes two requests or more.
const MOST_URGENT: usize = 20;

#[derive(Debug)]
pub(super) struct Console {
    pub(super) typed: Typed,
    pub(super) key: String,
    pub(super) program: PathBuf,
    pub(super) history: History,
    /// Folder for letters that are about to be deleted.
    pub(super) exports: Option<PathBuf>,
    pub(super) runs: Runs,
    places: Places,
    owner_tag: String,
    last: tokio::sync::Mutex<Last>,
    deployments: tokio::sync::Mutex<Option<(Instant, Arc<Value>)>>,
    unlocked: Mutex<BTreeSet<String>>,
    /// Locks by the ARNs of dead-letter queues. A listing locks its queue.
    listings: Mutex<BTreeMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

/// Connections to AWS, and the last snapshot.
#[derive(Debug)]
struct Last {
    reached: Arc<Vec<Reached>>,
    snapshot: Option<Arc<Snapshot>>,
}

/// The queues at one time.
#[derive(Debug)]
pub(super) struct Snapshot {
    read: Instant,
    pub(super) at: SystemTime,
    pub(super) fleet: Fleet,
    pub(super) facts: Vec<PlaceFacts>,
    reached: Arc<Vec<Reached>>,
}

impl Console {
    pub(super) fn new(
        places: &Places,
        reached: Vec<Reached>,
        owner_tag: &str,
        key: String,
        program: PathBuf,
        history: History,
        exports: Option<PathBuf>,
    ) -> Self {
        let Places { profiles, regions, endpoint_url, timeout } = places.clone();
        Self {
            typed: Typed { profiles, regions, endpoint_url, timeout, environment: environment() },
            key,
            program,
            history,
            exports,
            runs: Runs::default(),
            places: places.clone(),
            owner_tag: owner_tag.to_owned(),
            last: tokio::sync::Mutex::new(Last { reached: Arc::new(reached), snapshot: None }),
            deployments: tokio::sync::Mutex::default(),
            unlocked: Mutex::default(),
            listings: Mutex::default(),
        }
    }

    /// Returns the queues, read now or a moment ago. Concurrent callers get the same.
    pub(super) async fn snapshot(self: &Arc<Self>, is_asked_for: bool) -> Arc<Snapshot> {
        let fresh = if is_asked_for { ASKED_FOR } else { FRESH };
        self.younger(fresh).await
    }

    async fn younger(self: &Arc<Self>, than: Duration) -> Arc<Snapshot> {
        let console = Arc::clone(self);
        apart(move || async move {
            let mut last = console.last.lock().await;
            match &last.snapshot {
                Some(snapshot) if snapshot.read.elapsed() < than => Arc::clone(snapshot),
                _ => console.read(&mut last).await,
            }
        })
        .await
    }

    async fn read(&self, last: &mut Last) -> Arc<Snapshot> {
        // A broken profile may work by now, as after a login.
        if last.reached.iter().any(|reached| reached.aws.is_err())
            && let Ok(reached) = self.places.connect().await
        {
            last.reached = Arc::new(reached);
        }
        let wanted = Wanted { owner_tag: &self.owner_tag, with_empty: false };
        let mut facts = read_facts(&last.reached, wanted).await;
        if let Some(before) = &last.snapshot {
            keep_unread(&mut facts, &before.facts, before.at);
        }
        let (read, at, reached) = (Instant::now(), SystemTime::now(), Arc::clone(&last.reached));
        let snapshot = Arc::new(Snapshot { read, at, fleet: Fleet::of(&facts, true), facts, reached });
        last.snapshot = Some(Arc::clone(&snapshot));
        snapshot
    }

    /// Returns the deployments of the most urgent queues' functions, at most some minutes old.
    pub(super) async fn deployments(self: &Arc<Self>) -> Arc<Value> {
        let (console, snapshot) = (Arc::clone(self), self.snapshot(false).await);
        apart(move || async move {
            let mut known = console.deployments.lock().await;
            if let Some((_, deployments)) = known.as_ref().filter(|(read, _)| read.elapsed() < DEPLOYMENTS) {
                return Arc::clone(deployments);
            }
            let queues = console.fleet(&snapshot).await.queues.into_iter().filter(|queue| queue.letters > 0);
            let reached = |queue: DeadLetterQueue| Some((snapshot.reached(&queue.arn)?.0, queue));
            let queues = queues.filter_map(reached).take(MOST_URGENT).collect();
            let read = Arc::new(curves::of_queues(queues).await);
            Arc::clone(&known.insert((Instant::now(), read)).1)
        })
        .await
    }

    /// Returns the queues with the current snoozes, and the errors that were seen last.
    pub(super) async fn fleet(&self, snapshot: &Snapshot) -> Fleet {
        remembered(snapshot.fleet.clone(), &self.history, SystemTime::now()).await
    }

    /// Returns a dead-letter queue by its ARN, as of the last read.
    ///
    /// # Errors
    /// The queue is not in the accounts that the page shows.
    pub(super) async fn queue(self: &Arc<Self>, arn: &str) -> Result<DeadLetterQueue, String> {
        let snapshot = self.younger(Duration::MAX).await;
        let found = snapshot.fleet.queues.iter().find(|queue| queue.arn == arn);
        found.cloned().ok_or_else(|| match snapshot.fleet.problem() {
            Some(problem) => format!("queue {arn} was not read: {problem}"),
            None => format!("queue is {arn}, allowed: a dead-letter queue of this page"),
        })
    }

    /// Returns the file for letters of a queue that are about to be deleted, if there is a folder for it.
    pub(super) fn export(&self, queue: &DeadLetterQueue) -> Option<PathBuf> {
        let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string().replace(':', "");
        let DeadLetterQueue { name, account, .. } = queue;
        self.exports.as_ref().map(|folder| folder.join(format!("{name}-{account}-{now}.jsonl")))
    }

    /// Returns the lock for listing a queue's letters, which nobody else sees meanwhile.
    pub(super) fn listing(&self, queue: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut listings = self.listings.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(listings.entry(queue.to_owned()).or_default())
    }

    pub(super) fn unlocked(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.unlocked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the variables with which commands reach the same queues.
fn environment() -> Vec<(&'static str, String)> {
    let names = ["AWS_ENDPOINT_URL", "AWS_PROFILE", "AWS_CONFIG_FILE"];
    let set = |name| Some((name, std::env::var(name).ok().filter(|value| !value.is_empty())?));
    names.into_iter().filter_map(set).collect()
}

impl Snapshot {
    /// Returns a queue of the last read, and the connection to it.
    pub(super) fn reached(&self, arn: &str) -> Option<(Aws, Queue)> {
        let find = |(facts, reached): (&PlaceFacts, &Reached)| {
            let queue = facts.queues.iter().find(|queue| queue.arn == arn)?;
            Some((reached.aws.as_ref().ok()?.clone(), queue.clone()))
        };
        self.facts.iter().zip(&*self.reached).find_map(find)
    }
}

/// Keeps the former queues of a place that cannot be read, and reports it, unless another profile has read them.
fn keep_unread(facts: &mut [PlaceFacts], before: &[PlaceFacts], at: SystemTime) {
    let read: BTreeSet<String> =
        facts.iter().flat_map(|facts| &facts.queues).map(|queue| queue.arn.clone()).collect();
    for (facts, before) in facts.iter_mut().zip(before) {
        let is_unread = facts.queues.is_empty() && !facts.failures.is_empty();
        if is_unread && before.queues.iter().any(|queue| !read.contains(&queue.arn)) {
            facts.queues = before.queues.iter().filter(|queue| !read.contains(&queue.arn)).cloned().collect();
            facts.details.clone_from(&before.details);
            let at = humantime::format_rfc3339_seconds(at);
            facts.failures.push(format!("the page shows what was read before {at}"));
        }
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

#[cfg(test)]
mod tests {
    use aws_sdk_sqs::types::QueueAttributeName;

    use super::*;

    #[test]
    fn queues_of_a_place_that_fails_stay_as_they_were() {
        let attributes = [(QueueAttributeName::ApproximateNumberOfMessages, "7".to_owned())].into();
        let queue =
            Queue::new("url".to_owned(), "arn:aws:sqs:eu-west-1:123456789012:q".to_owned(), attributes);
        let read = |queues: Vec<Queue>, failures: &[&str]| PlaceFacts {
            queues,
            failures: failures.iter().map(|&failure| failure.to_owned()).collect(),
            ..PlaceFacts::default()
        };
        let before = [read(vec![queue.clone()], &[]), read(vec![queue.clone()], &[])];
        let mut facts = [read(vec![], &["ExpiredToken"]), read(vec![], &[])];
        keep_unread(&mut facts, &before, SystemTime::UNIX_EPOCH);
        assert_eq!(facts[0].queues.len(), 1);
        assert_eq!(
            facts[0].failures,
            ["ExpiredToken", "the page shows what was read before 1970-01-01T00:00:00Z"]
        );
        assert!(facts[1].queues.is_empty(), "its queues were deleted");
        let mut facts = [read(vec![], &["ExpiredToken"]), read(vec![queue], &[])];
        keep_unread(&mut facts, &before, SystemTime::UNIX_EPOCH);
        assert!(facts[0].queues.is_empty(), "another profile has read it");
    }
}
