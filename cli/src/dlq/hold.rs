//! A hold on letters while something is done with them: nobody else receives them, and in the end those that are still
//! in the queue are visible again.

mod held;
#[cfg(test)]
mod tests;
mod visibility;

use std::collections::BTreeSet;
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::MessageSystemAttributeName;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use self::held::Held;
use self::visibility::change;
use super::letter::Letter;
use super::tell::tell;
use crate::aws::{Aws, Said};
use crate::find::Queue;
use crate::problem::{OrProblem, Problem};

/// How long letters stay hidden if nobody is left to make them visible again.
const VISIBILITY: Duration = Duration::from_secs(60);

/// Any wait makes SQS ask all its servers, not a part of them.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-short-and-long-polling.html>
const POLL: i32 = 1;

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
    stop: watch::Sender<bool>,
    /// Letters on their way to another queue.
    sending: Mutex<BTreeSet<String>>,
    over: AtomicBool,
    /// Held over calls that change visibility: an extension that comes after a release would hide letters again.
    turn: tokio::sync::Mutex<()>,
}

/// Does `work`, and makes the letters that it holds visible again in the end: when it is done, when it fails, and on
/// Ctrl-C, SIGTERM and SIGHUP, which it learns from [`Hold::is_stopped`]. A second Ctrl-C does not wait for it.
///
/// # Errors
/// That of `work`; `interrupted` if it was.
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
    let hold = Hold::new(aws.sqs(), queue.url.clone(), VISIBILITY);
    let beating = tokio::spawn(hold.clone().keep());
    tokio::spawn(hold.clone().listen().or_failed()?);
    ACTIVE.fetch_add(1, Ordering::SeqCst);
    let result = work(&hold).await;
    let visible = hold.release_all().await;
    beating.abort();
    ACTIVE.fetch_sub(1, Ordering::SeqCst);
    hold.inner.over.store(true, Ordering::SeqCst);
    match result {
        Ok(_) if hold.is_stopped() => Err(Problem::Failed(interrupted(visible))),
        result => result,
    }
}

impl Hold {
    pub(super) fn new(sqs: Client, url: String, visibility: Duration) -> Self {
        let (stop, _) = watch::channel(false);
        Self {
            inner: Arc::new(Inner {
                sqs,
                url,
                visibility,
                held: Mutex::default(),
                stop,
                sending: Mutex::default(),
                over: AtomicBool::new(false),
                turn: tokio::sync::Mutex::default(),
            }),
        }
    }

    /// Receives up to ten letters, fewer if fewer are asked for. None: no more are visible, or it is time to stop. Wait
    /// for its end, since letters that were received by a call that nobody waits for stay hidden.
    ///
    /// # Errors
    /// No permission, no such queue.
    pub(crate) async fn receive(&self, at_most: usize) -> anyhow::Result<Vec<Letter>> {
        if self.is_stopped() || self.is_full() || at_most == 0 {
            return Ok(vec![]);
        }
        let since = Instant::now();
        let received = self.inner.sqs.receive_message().queue_url(&self.inner.url);
        let received = received
            .max_number_of_messages(at_most.min(10).try_into().unwrap_or(10))
            .visibility_timeout(seconds(self.inner.visibility))
            .wait_time_seconds(POLL)
            .message_attribute_names("All")
            .message_system_attribute_names(MessageSystemAttributeName::All)
            .send()
            .await;
        let received = received.said(&format!("receive from {}", self.inner.url), "sqs:ReceiveMessage")?;
        let letters: Vec<_> = received.messages.unwrap_or_default().into_iter().map(Letter::new).collect();
        let until = since + self.inner.visibility;
        let mut held = self.held();
        letters.iter().for_each(|letter| held.add(&letter.id, &letter.handle, until));
        Ok(letters)
    }

    /// Whether it was asked to stop: finish what must be finished, and return.
    pub(crate) fn is_stopped(&self) -> bool {
        *self.inner.stop.borrow()
    }

    /// Asks it to stop, as Ctrl-C does where a terminal makes no signal of it.
    pub(crate) fn stop(&self) {
        self.inner.stop.send_replace(true);
    }

    /// Waits until it is asked to stop.
    pub(crate) async fn stopped(&self) {
        // It cannot be closed while `self` lives.
        let _ = self.inner.stop.subscribe().wait_for(|stop| *stop).await;
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
        self.held().holds(id, Instant::now())
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

    fn on_their_way(&self) -> MutexGuard<'_, BTreeSet<String>> {
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
            let since = Instant::now();
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

    /// Listens for Ctrl-C and SIGTERM from now on, and for the end of the terminal if there is one: `nohup` takes it away.
    fn listen(self) -> anyhow::Result<impl Future<Output = ()> + Send + 'static> {
        let listen = |kind| signal(kind).context("could not listen for signals");
        let (mut interrupt, mut terminate) =
            (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
        let mut hangup = has_terminal().then(|| listen(SignalKind::hangup())).transpose()?;
        let mut any = async move || {
            tokio::select! {
                _ = interrupt.recv() => (),
                _ = terminate.recv() => (),
                Some(_) = async { hangup.as_mut()?.recv().await } => (),
            }
        };
        Ok(async move {
            loop {
                any().await;
                match (self.inner.over.load(Ordering::SeqCst), self.is_stopped()) {
                    // Another hold has letters, and listens too.
                    (true, _) if ACTIVE.load(Ordering::SeqCst) > 0 => (),
                    (false, false) => self.stop(),
                    (true, _) | (false, true) => break,
                }
            }
            let visible = self.release_all().await;
            for id in &*self.on_their_way() {
                tell(format_args!("redrive: possible duplicate: letter {id} was on its way"));
            }
            tell(format_args!("redrive: {}", interrupted(visible)));
            std::process::exit(1);
        })
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // No holder of the lock panics, and a map of handles is never half changed.
        self.inner.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn has_terminal() -> bool {
    io::stdin().is_terminal() || io::stdout().is_terminal() || io::stderr().is_terminal()
}

fn interrupted(visible: usize) -> anyhow::Error {
    match visible {
        0 => anyhow!("interrupted"),
        1 => anyhow!("interrupted, and the letter that was held is visible again"),
        _ => anyhow!("interrupted, and the {visible} letters that were held are visible again"),
    }
}

fn seconds(duration: Duration) -> i32 {
    duration.as_secs().try_into().unwrap_or(i32::MAX)
}
