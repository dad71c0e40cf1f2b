//! Claims a message's key before its handler runs, renews the claim of a worker's message, and records how the message ended.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock, and random numbers")]

use std::any::Any;
use std::borrow::Cow;
use std::fmt::Write;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use futures_util::FutureExt;
use futures_util::future::join_all;
use sha2::{Digest, Sha256};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Duration, Instant, sleep, sleep_until, timeout, timeout_at};

use super::runner::Runner;
use super::{Begun, Job, Work};
use crate::failure::{BoxError, Failure};
use crate::message::record::Record;
use crate::once::claim::{
    ANSWER, MARGIN, Next, TimeLeft, after_change, after_claim, change_after, origin_of_anybody, patience,
};
use crate::once::{Change, Claim, Claimed, Rules};
use crate::telemetry::log;
use redrive_engine::Outcome;
use redrive_executor::panic_text;

/// The minimum number of tries for a change, until the store answers.
const TRIES: u32 = 3;
/// The pause before the second try. It doubles, up to the longest one.
const PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// The longest pause between two tries of a claim, because a handler waits for it.
const LONGEST_PAUSE_OF_CLAIM: Duration = Duration::from_secs(2);
/// The longest key in bytes. DynamoDB accepts 2,048, of which a prefix needs some.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html>
const LONGEST_KEY: usize = 1_024;

/// The terms for handling each message once.
pub(crate) struct OnceTerms {
    pub(crate) rules: Rules,
    /// The visibility timeout of a worker's queue, with which leases are renewed.
    pub(crate) renewed: Option<Duration>,
}

/// A key that this delivery has claimed.
pub(super) struct ClaimGuard {
    rules: Rules,
    claim: Claim,
    /// The time before which nobody else is granted the key.
    until: Instant,
    /// The deadline of the batch. Until then, redrive tries to record the end of the message.
    batch_until: Instant,
    /// Dropped when the message is recorded.
    renewals: Option<oneshot::Sender<()>>,
}

/// The claim of a message in the store, and its outcome if its handler did not run to the end.
pub(super) struct OnceGuard<'a> {
    of: &'a Begun,
    held: OnceLock<ClaimGuard>,
    /// The outcome of a message whose handler did not run, or was canceled because the key was lost.
    ended: OnceLock<Outcome>,
}

impl OnceTerms {
    /// Creates the claim for a message. Calls the user's function.
    pub(super) fn claim(&self, record: &Record<'_>, message: &dyn Any, body: &str) -> Result<Claim, Failure> {
        let own = self.rules.key.as_ref().and_then(|key| key(message));
        if own.is_none() && record.has_unchecked_origin() {
            return Err(origin_of_anybody(record.sender_id().unwrap_or("unknown")));
        }
        let key = own.map_or_else(|| record.key(), Cow::Owned);
        if key.is_empty() || key.len() > LONGEST_KEY {
            let error = format!("the idempotency key has {} bytes, allowed: 1 to {LONGEST_KEY}", key.len());
            return Err(Failure::malformed(error));
        }
        // Each receive has its own receipt handle, but the same event may be handled twice.
        let nonce = fastrand::u128(..).to_string();
        let token = hash(&[record.id(), record.receipt_handle(), &nonce]);
        let payload = self.rules.checks_payload.then(|| hash(&[body]));
        let redrives = record.origin().map_or(0, |origin| origin.redrives);
        let keep = self.rules.keep;
        Ok(Claim { payload, redrives, keep, ..Claim::new(key, token) })
    }
}

/// The changes that the store has not answered yet.
#[derive(Default)]
pub(super) struct Recording {
    open: AtomicUsize,
    ended: Notify,
}

/// A change that the store has not answered yet.
struct Open(Arc<Recording>);

impl Open {
    fn of(recording: &Arc<Recording>) -> Self {
        recording.open.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(recording))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
        self.0.ended.notify_one();
    }
}

impl Work {
    /// Waits until the store has answered how messages ended that were canceled or given up meanwhile.
    pub(crate) async fn recorded(&self, until: Instant) {
        let recording = &self.0.recording;
        while recording.open.load(Ordering::Relaxed) > 0 {
            tokio::select! {
                () = recording.ended.notified() => {}
                // This may poll the tasks.
                () = self.changed() => drop(self.queue().take()),
                () = sleep_until(until) => return,
            }
        }
    }
}

/// Records how a message ended. Returns true if the store has confirmed it. An end is tried until this time at least, because a
/// message whose end is not recorded would run again.
async fn record(rules: Rules, claim: Claim, change: Change, until: Instant) -> bool {
    let is_end = matches!(change, Change::End { .. });
    let (mut tries, mut pause) = (0, PAUSE);
    loop {
        let error = match answered(|| rules.store.change(&claim.key, &claim.token, &change)).await {
            Ok(is_recorded) => return is_recorded,
            Err(error) => error,
        };
        let left = until.saturating_duration_since(Instant::now());
        let goes_on = is_end && !left.is_zero();
        tries += 1;
        if tries >= TRIES && !goes_on {
            log::unrecorded(&error);
            return false;
        }
        if tries == TRIES {
            log::not_recorded_yet(&error);
        }
        // The last try is at the end of the time.
        sleep(if goes_on { pause.min(left) } else { pause }).await;
        pause = (2 * pause).min(LONGEST_PAUSE);
    }
}

/// Renews a claim until it is no longer needed, and notifies if it was lost.
async fn renew(
    (rules, claim, until): (Rules, Claim, Instant),
    every: Duration,
    mut ended: oneshot::Receiver<()>,
    lost: Arc<Notify>,
) {
    // The margin is for the clocks of others.
    let mut until = until - MARGIN;
    let mut next = Instant::now() + every;
    while timeout_at(next.min(until), &mut ended).await.is_err() {
        let sent = Instant::now();
        let renewal = Change::Renew(claim.lease);
        let call = answered(|| rules.store.change(&claim.key, &claim.token, &renewal));
        match timeout_at(until, call).await {
            Ok(Ok(true)) => (until, next) = (sent + claim.lease - MARGIN, sent + every),
            Ok(Err(_)) if Instant::now() + PAUSE < until => next = Instant::now() + PAUSE,
            Ok(Ok(false) | Err(_)) | Err(_) => return lost.notify_one(),
        }
    }
}

/// Calls the store. A late answer and a panic are errors.
async fn answered<T, F>(call: impl FnOnce() -> F) -> Result<T, String>
where
    F: Future<Output = Result<T, BoxError>>,
{
    let call = async { call().await.map_err(|error| Failure::from(error).to_string()) };
    match timeout(ANSWER, AssertUnwindSafe(call).catch_unwind()).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(panic)) => Err(format!("a panic: {}", panic_text(panic))),
        Err(_elapsed) => Err(format!("no answer in {} s", ANSWER.as_secs())),
    }
}

/// Returns the SHA-256 of texts, in hexadecimal digits.
fn hash(texts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    texts.iter().for_each(|text| hasher.update(text));
    hasher.finalize().iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

impl<'a> OnceGuard<'a> {
    pub(super) const fn new(of: &'a Begun) -> Self {
        Self { of, held: OnceLock::new(), ended: OnceLock::new() }
    }

    /// Returns the outcome if the handler did not run to its end.
    pub(super) fn ended(&self) -> Option<Outcome> {
        self.ended.get().cloned()
    }

    /// Runs the handler if its message gets its key, for a lease until the deadline of the batch.
    pub(super) async fn run<F>(
        &self,
        job: &Job,
        once: &OnceTerms,
        (claim, record): (Claim, &Record<'_>),
        handler: impl FnOnce() -> F,
    ) -> Result<(), Failure>
    where
        F: Future<Output = Result<(), Failure>>,
    {
        let deadline = Instant::from_std(record.deadline());
        // A handler that blocks its thread outlives the time limit of its message.
        let times = (self.of.until, deadline);
        let is_last = record.is_last_attempt();
        let mut held = match job.hold(once, claim, times, is_last, (!is_last).then_some(self.of)).await {
            Ok(held) => held,
            Err(outcome) => return self.end(outcome),
        };
        let lost = once.renewed.map(|visibility| job.renew(&mut held, visibility));
        let _ = self.held.set(held);
        let Some(lost) = lost else { return handler().await };
        tokio::select! {
            biased;
            result = handler() => result,
            () = lost.notified() => self.end(Outcome::LeaseLost),
        }
    }

    /// Sets the outcome, and returns a result for the hooks around the handler that says the same.
    fn end(&self, outcome: Outcome) -> Result<(), Failure> {
        let result = match &outcome {
            Outcome::Failed(summary) => Err(Failure::restored(summary)),
            Outcome::LeaseLost => Err("the idempotency key was lost".into()),
            Outcome::NotStarted => Err("no handler begins any more".into()),
            _ => Ok(()),
        };
        let _ = self.ended.set(outcome);
        result
    }
}

impl Job {
    /// Claims the key of a message, for a lease until the first time, to be handled until the second one. The error is the
    /// outcome of a message whose handler does not run, for example because its batch was stopped, unless this is its last
    /// delivery.
    pub(super) async fn hold(
        &self,
        once: &OnceTerms,
        claim: Claim,
        (lease_until, deadline): (Instant, Instant),
        is_last: bool,
        stops_with: Option<&Begun>,
    ) -> Result<ClaimGuard, Outcome> {
        let rules = &once.rules;
        let began = Instant::now();
        let patient_until = began + patience(is_last, deadline.saturating_duration_since(began));
        let mut pause = PAUSE;
        loop {
            let sent = Instant::now();
            let until = once.renewed.map_or(lease_until, |visibility| sent + visibility);
            let lease = until.saturating_duration_since(sent) + MARGIN;
            let claim = Claim { lease, ..claim.clone() };
            let answer = answered(|| rules.store.claim(&claim)).await;
            let may_be_ours = matches!(answer, Ok(Claimed::Granted) | Err(_));
            let now = Instant::now();
            let left = TimeLeft {
                claim: until.saturating_duration_since(now),
                message: deadline.saturating_duration_since(now),
                patience: patient_until.saturating_duration_since(now),
            };
            let next = after_claim(answer, claim.payload.as_deref(), is_last, left);
            let is_stopped = stops_with.is_some_and(|batch| !batch.phase.is_open());
            match if is_stopped { next.of_stopped() } else { next } {
                Next::Run => {
                    let (rules, until) = (rules.clone(), sent + lease);
                    return Ok(ClaimGuard { rules, claim, until, batch_until: lease_until, renewals: None });
                }
                Next::ClaimAfter(pause) => sleep(pause).await,
                Next::TryAgain(error) => {
                    if is_last && pause == PAUSE {
                        log::waits_for_the_store(&error);
                    }
                    sleep(pause.min(left.patience)).await;
                    pause = (2 * pause).min(LONGEST_PAUSE_OF_CLAIM);
                }
                Next::Ended(outcome) => {
                    let rules = rules.clone();
                    if may_be_ours {
                        self.tasks.spawn(async move {
                            let release = || rules.store.change(&claim.key, &claim.token, &Change::Release);
                            let _ = answered(release).await;
                        });
                    }
                    return Err(outcome);
                }
            }
        }
    }

    /// Renews a claim in its own task, because the handler may block its thread. Notifies if the claim was lost.
    pub(super) fn renew(&self, held: &mut ClaimGuard, visibility: Duration) -> Arc<Notify> {
        let (ends, ended) = oneshot::channel();
        held.renewals = Some(ends);
        let lost = Arc::new(Notify::new());
        let of = (held.rules.clone(), held.claim.clone(), held.until);
        self.tasks.spawn(renew(of, visibility / 3, ended, Arc::clone(&lost)));
        lost
    }
}

impl Runner {
    /// Records how a message ended, if it has its key.
    pub(super) async fn record(&self, guard: OnceGuard<'_>, outcome: Outcome) -> Outcome {
        match guard.held.into_inner() {
            Some(held) => {
                self.job.queue.ended(self.slot, outcome.clone());
                self.record_all(vec![(held, outcome)]).await.pop().unwrap_or_default()
            }
            None => outcome,
        }
    }

    /// Records how messages ended, in tasks that finish even if nobody waits any more. Returns the final outcomes.
    pub(super) async fn record_all(&self, ended: Vec<(ClaimGuard, Outcome)>) -> Vec<Outcome> {
        let spawn = |(held, outcome): (ClaimGuard, Outcome)| {
            let ClaimGuard { rules, claim, batch_until, renewals, .. } = held;
            let answer = change_after(&outcome, rules.keep).map(|change| {
                let (told, answer) = oneshot::channel();
                let open = Open::of(&self.job.recording);
                self.job.tasks.spawn(async move {
                    // The key is kept until the end is recorded.
                    let renewals = renewals.filter(|_| matches!(change, Change::End { .. }));
                    let is_recorded = record(rules, claim, change, batch_until).await;
                    drop((open, renewals));
                    let _ = told.send(is_recorded);
                });
                answer
            });
            (outcome, answer)
        };
        let (outcomes, answers): (Vec<_>, Vec<_>) = ended.into_iter().map(spawn).unzip();
        let wait = |answer: Option<oneshot::Receiver<bool>>| async {
            match answer {
                Some(answer) => answer.await.unwrap_or_default(),
                None => true,
            }
        };
        let answers = self.until_given_up(join_all(answers.into_iter().map(wait))).await;
        let answers = answers.unwrap_or_else(|| vec![false; outcomes.len()]);
        outcomes.into_iter().zip(answers).map(|(outcome, answer)| after_change(outcome, answer)).collect()
    }
}
