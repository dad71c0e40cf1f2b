//! Goes through a dead-letter queue once: receives, decides, sends and deletes, ten letters at a time. It never deletes a letter
//! before it was sent, and makes those that stay visible again at the end.

mod batch;
mod send;
#[cfg(test)]
mod tests;

use std::cell::{RefCell, RefMut};
use std::time::SystemTime;

use aws_sdk_sqs::Client;
use futures_util::future::join_all;
use tokio::sync::OnceCell;

use super::condition::{ConditionFilter, without_note};
use super::end::{End, no_match};
use super::letter::Letter;
use super::letter_run::{LetterRun, Mode, Operation, Route};
use super::report::Report;
use super::reporter::Reporter;
use super::requested_ids::RequestedIds;
use super::scope::Scope;
use super::tracker::{Folding, LeftReason, MessageTracker};
use crate::aws::Aws;
use crate::problem::Problem;
use crate::sqs::{LetterLease, Pace, with_lease};

/// Number of concurrent workers if order does not matter, and letters for each.
const MOST_WORKERS: u64 = 4;
const LETTERS_A_WORKER: u64 = 50;

/// Runs the job.
///
/// # Errors
/// Some letters failed or may arrive twice, ids were not found, a call failed, or it was interrupted. The totals come before.
pub(crate) async fn run(aws: &Aws, job: &LetterRun) -> Result<(), Problem> {
    let mode = if job.dry_run { Mode::DryRun } else { Mode::Real };
    with_lease(aws, &job.from, async |lease| Run::new(aws, job, mode, lease).run(aws).await).await
}

/// Result of counting the letters of a job.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Foreseen {
    pub(crate) letters: u64,
    /// Letters that it only deletes, because an earlier run has sent them.
    pub(crate) already_sent: u64,
    /// True if there may be more letters, which SQS does not return yet.
    pub(crate) is_least: bool,
}

/// Counts the letters of a job before the user is asked. Returns none if there are none, and reports that itself.
///
/// # Errors
/// A call failed, no letter matches, or it was interrupted.
pub(crate) async fn foresee(aws: &Aws, job: &LetterRun) -> Result<Option<Foreseen>, Problem> {
    with_lease(aws, &job.from, async |lease| Run::new(aws, job, Mode::Preview, lease).foresee(aws).await)
        .await
}

/// A run. Its workers take turns in one task, so none sees the state half changed.
#[derive(Debug)]
struct Run<'run> {
    aws: &'run Aws,
    sqs: Client,
    job: &'run LetterRun,
    mode: Mode,
    lease: &'run LetterLease,
    pace: Pace,
    began: SystemTime,
    /// Time at which the history recorded that letters are about to be sent or deleted.
    start: OnceCell<Option<String>>,
    state: RefCell<RunState>,
}

#[derive(Debug)]
struct RunState {
    tracker: MessageTracker,
    reporter: Reporter,
    requested: RequestedIds,
    filter: ConditionFilter,
    /// Duplicates of letters that another worker is sending.
    duplicates: Vec<batch::Deletable>,
    /// Error that ends the run early.
    fatal: Option<anyhow::Error>,
    /// Number of letters that the user was asked about, and whether the user quit.
    questions: u64,
    quit: bool,
}

impl<'run> Run<'run> {
    fn new(aws: &'run Aws, job: &'run LetterRun, mode: Mode, lease: &'run LetterLease) -> Self {
        let (now, most, visible) = (SystemTime::now(), job.selection.most, job.from.visible());
        let began_before = job.sent_back.as_ref().and_then(|sent| sent.borrow().began);
        let (began, counted) = (began_before.unwrap_or(now), job.from.counted());
        let scope = match began_before {
            Some(began) => Scope::later(began, visible, counted),
            None => Scope::new(began, visible, counted),
        };
        let folding =
            if job.work.operation() == Operation::Delete { Folding::ByLetter } else { Folding::ByMessage };
        // With conditions or ids, all letters must be looked at to find the selected ones.
        let most_looked_at = most.filter(|_| job.selection.is_all());
        let expected =
            (!job.work.is_one_by_one()).then(|| most_looked_at.map_or(visible, |most| most.min(visible)));
        let state = RunState {
            tracker: MessageTracker::new(scope, folding, most),
            reporter: Reporter::new(job, mode, expected),
            requested: RequestedIds::new(job.selection.ids.as_ref(), folding),
            filter: ConditionFilter::new(job.selection.conditions.clone()),
            duplicates: vec![],
            fatal: None,
            questions: 0,
            quit: false,
        };
        let pace = Pace::new(job.rate.map(f64::from));
        Self {
            aws,
            sqs: aws.sqs(),
            job,
            mode,
            lease,
            pace,
            began,
            start: OnceCell::new(),
            state: RefCell::new(state),
        }
    }

    async fn foresee(self, aws: &Aws) -> Result<Option<Foreseen>, Problem> {
        self.go(aws).await;
        let (letters, already_sent) = {
            let tally = &self.state().reporter.tally;
            (tally.done, tally.already_sent)
        };
        if letters + already_sent == 0 || self.is_stopping() {
            return self.conclude(aws).await.map(|()| None);
        }
        let state = self.state();
        let has_behind =
            self.job.from.is_fifo() && state.tracker.scope.unseen() > 0 && state.tracker.room() > 0;
        Ok(Some(Foreseen { letters, already_sent, is_least: has_behind || self.lease.is_full() }))
    }

    async fn run(self, aws: &Aws) -> Result<(), Problem> {
        self.go(aws).await;
        self.conclude(aws).await
    }

    async fn go(&self, aws: &Aws) {
        join_all((0..self.workers()).map(|_| self.work())).await;
        self.take_kept_back().await;
        self.take_visible_again(aws).await;
        self.settle_duplicates().await;
    }

    /// Receives letters that were in flight at the start and are visible again. The last receive may be long ago if another
    /// worker was sending slowly.
    async fn take_visible_again(&self, aws: &Aws) {
        while self.is_to_the_end() && self.state().tracker.scope.hidden() > 0 {
            let seen = self.state().tracker.scope.seen();
            if !self.job.from.refresh(aws).await.is_ok_and(|now| now.visible() > 0) {
                return;
            }
            self.state().tracker.scope.reopen();
            self.work().await;
            if self.state().tracker.scope.seen() == seen {
                return;
            }
        }
    }

    async fn conclude(self, aws: &Aws) -> Result<(), Problem> {
        let hidden = self.still_hidden(aws).await;
        self.report_unseen(hidden);
        self.finish_journal().await;
        let is_to_the_end = !self.is_stopping() && self.state().tracker.room() > 0;
        let (job, mode, is_full) = (self.job, self.mode, self.lease.is_full());
        let (start, state) = (self.start.into_inner().flatten(), self.state.into_inner());
        let RunState { mut reporter, requested: RequestedIds { missing, .. }, filter, fatal, .. } = state;
        let operation = job.work.operation();
        let to = job.work.route().map_or("", |route| route.to.name());
        if mode == Mode::Real {
            job.record(aws, &reporter.tally, start.as_deref()).await;
        }
        let sum = reporter.tally.sum(operation, mode == Mode::DryRun, job.from.name(), to);
        let silent = reporter.tally.left.get(&LeftReason::NoNote).copied().unwrap_or_default();
        let remarks = without_note(silent, "pass --ids from redrive dlq list --logs --json");
        remarks.iter().chain(&filter.absent()).for_each(|line| reporter.print_line(line));
        reporter.end(&sum);
        let Reporter { tally, broken, .. } = reporter;
        let end = End {
            tally,
            operation,
            mode,
            has_all: job.selection.is_all(),
            is_none_allowed: job.allow_none,
            is_to_the_end,
            is_full,
            hidden,
            missing,
            fatal,
            unread: broken.map(|broken| (broken, sum)),
        };
        end.result(|| no_match(job.from.name(), filter.reasons()))
    }

    /// Returns true if the run looks at all letters: nothing stops it early.
    fn is_to_the_end(&self) -> bool {
        let state = self.state();
        !self.should_stop(&state) && state.tracker.room() > 0 && !self.is_complete(&state)
    }

    /// Estimates the letters that were in flight at the start, were not received, and are still in flight. Other consumers may be
    /// done with some.
    async fn still_hidden(&self, aws: &Aws) -> u64 {
        let hidden = self.state().tracker.scope.hidden();
        if hidden == 0 || !self.is_to_the_end() {
            return 0;
        }
        let held = u64::try_from(self.lease.count()).unwrap_or(u64::MAX);
        match self.job.from.refresh(aws).await {
            Ok(now) => now.counted().saturating_sub(now.visible()).saturating_sub(held).min(hidden),
            Err(_) => hidden,
        }
    }

    /// Closes the journal. If all letters were received, an unseen one has left the queue. One that was in flight at the start may
    /// be visible again, so it counts as received only if it was seen.
    async fn finish_journal(&self) {
        let to_the_end = self.is_to_the_end() && !self.lease.is_full();
        if self.mode == Mode::Real {
            let tracker = &self.state().tracker;
            let is_complete = to_the_end && tracker.scope.unseen() == 0 && tracker.scope.hidden() == 0;
            self.job.journal.finish(&self.job.from, |id| is_complete && !tracker.has_seen(id));
        }
        self.job.journal.commit().await;
    }

    fn report_unseen(&self, hidden: u64) {
        let to_the_end = self.is_to_the_end();
        let mut state = self.state();
        let unseen = state.tracker.scope.unseen();
        let reporter = &mut state.reporter;
        if self.lease.is_full() {
            reporter.print_line(
                "SQS returns no more letters while so many are in flight: run it again for the rest",
            );
        }
        if self.job.from.is_fifo() && unseen > 0 && to_the_end {
            reporter.print_line(&format!("{unseen} letters behind others of their group were not received"));
        }
        if self.job.work.operation() == Operation::Ask && unseen > 0 {
            *reporter.tally.left.entry(LeftReason::NotShown).or_default() += unseen;
        }
        if hidden > 0 && to_the_end {
            reporter.print_line(&format!(
                "about {hidden} more were in flight and were not received: a run that was killed hides its letters for up \
                 to 60 s, any other consumer for its visibility timeout"
            ));
        }
    }

    /// Returns the number of letters to look at.
    fn expected(&self) -> u64 {
        self.job.selection.most.unwrap_or(u64::MAX).min(self.job.from.visible())
    }

    /// Returns the number of workers: one if order matters or the user is asked about each letter.
    fn workers(&self) -> u64 {
        if self.job.from.is_fifo() || self.job.work.is_one_by_one() || self.mode == Mode::DryRun {
            return 1;
        }
        self.expected().div_ceil(LETTERS_A_WORKER).clamp(1, MOST_WORKERS)
    }

    /// Returns true if all requested ids were found.
    fn is_complete(&self, state: &RunState) -> bool {
        self.job.selection.ids.is_some() && state.requested.missing.is_empty()
    }

    fn is_stopping(&self) -> bool {
        self.should_stop(&self.state())
    }

    /// Returns true if the run must stop. A closed stdout ends only dry runs: the others were started to move letters.
    fn should_stop(&self, state: &RunState) -> bool {
        let unread = self.mode != Mode::Real && state.reporter.broken.is_some();
        // Letters that were sent have failed again, so the others would too.
        let fails_again = self.job.sent_back.as_ref().is_some_and(|sent| sent.borrow().has_returns());
        state.fatal.is_some() || state.quit || self.lease.is_stopped() || unread || fails_again
    }

    /// Records the start, before the first letter is sent or deleted.
    async fn record_start(&self) {
        self.start.get_or_init(|| self.job.record_start(self.aws)).await;
    }

    fn has_fatal(&self) -> bool {
        self.state().fatal.is_some()
    }

    fn fail(&self, error: anyhow::Error) {
        self.state().fatal.get_or_insert(error);
    }

    fn report(&self, letter: &Letter, what: Report<'_>) {
        self.state().reporter.report(letter, what);
    }

    /// Borrows the state. Callers must not keep it across an await.
    fn state(&self) -> RefMut<'_, RunState> {
        self.state.borrow_mut()
    }
}

fn on_its_way(id: &str) -> String {
    format!("letter {id}")
}
