//! The parameters of a run through a dead-letter queue.

use std::cell::RefCell;
use std::fmt;

use futures_util::future::LocalBoxFuture;
use redrive_sqs::OriginSenders;

use super::copies::Copies;
use super::letter::Letter;
use super::redrive::Redrive;
use super::selection::Selection;
use super::sent_back::SentBack;
use super::tally::Tally;
use super::tracker::LeftReason;
use crate::aws::Aws;
use crate::find::Queue;
use crate::history::{History, HistoryAction};
use crate::journal::Journal;
use crate::scratch::Desk;
use crate::sqs::{LetterLease, Receivable};

/// The letters of a queue, and what to do with them.
#[derive(Debug)]
pub(crate) struct LetterRun {
    pub(crate) work: Work,
    pub(crate) from: Receivable,
    pub(crate) selection: Selection,
    /// True if the run succeeds although the selection matches nothing.
    pub(crate) allow_none: bool,
    /// Senders whose origin counts on letters that SQS moved. None means all senders.
    pub(crate) origin_senders: Option<OriginSenders>,
    /// `maxReceiveCount` of the source queue, for the number of attempts.
    pub(crate) max_receive_count: Option<u32>,
    /// Journal of the letters that are being sent.
    pub(crate) journal: Journal,
    /// History in which the verb records its result.
    pub(crate) history: History,
    pub(crate) verb: &'static str,
    /// Letters of this run and earlier stages, if the run watches for their return.
    pub(crate) sent_back: Option<RefCell<SentBack>>,
    /// Greatest rate, in letters a second.
    pub(crate) rate: Option<u32>,
    pub(crate) dry_run: bool,
    /// True if letters that an earlier run has sent are sent again instead of only deleted.
    pub(crate) send_again: bool,
    /// True if each letter is reported as JSON. Otherwise only problems and totals are printed.
    pub(crate) json: bool,
}

impl LetterRun {
    /// Returns true if an earlier run has sent letters to the same queue without deleting them.
    pub(crate) fn has_already_sent(&self) -> bool {
        let route = self.work.route().filter(|_| !self.send_again);
        route.is_some_and(|route| self.journal.has_confirmed(&self.from, &route.to))
    }

    /// Records that letters are about to be sent or deleted, and returns the time.
    pub(super) async fn record_start(&self, aws: &Aws) -> Option<String> {
        self.history.start(aws, self.action()).await
    }

    /// Records the result.
    pub(super) async fn record(&self, aws: &Aws, tally: &Tally, began: Option<&str>) {
        let (sent, deleted) = tally.sent_and_deleted(self.work.operation());
        let (not_deleted, perhaps_sent) = (tally.sent_not_deleted, tally.perhaps_sent);
        // Includes letters that an earlier run has sent, and that this run could not delete either.
        let failed = tally.failed - perhaps_sent + tally.possible_duplicates - not_deleted;
        let action =
            HistoryAction { sent, not_deleted, deleted, failed, perhaps_sent, began, ..self.action() };
        self.history.record(aws, action).await;
    }

    fn action(&self) -> HistoryAction<'_> {
        let to = self.work.route().map(|route| route.to.arn.as_str());
        HistoryAction { verb: self.verb, queue: &self.from.arn, to, ..HistoryAction::default() }
    }
}

/// The operation on selected letters.
#[derive(Debug)]
pub(crate) enum Work {
    Send(Route),
    /// Sends each letter as the user edits it.
    Edit(Route, Box<dyn Decider>),
    /// Deletes letters, after they were copied to the file.
    Delete(Option<Copies>),
    /// Sends or deletes each letter as the user chooses.
    Ask(Route, Box<dyn Decider>),
}

impl Work {
    pub(super) fn operation(&self) -> Operation {
        match self {
            Self::Send(_) | Self::Edit(..) => Operation::Send,
            Self::Delete(_) => Operation::Delete,
            Self::Ask(..) => Operation::Ask,
        }
    }

    pub(crate) fn route(&self) -> Option<&Route> {
        match self {
            Self::Send(route) | Self::Edit(route, _) | Self::Ask(route, _) => Some(route),
            Self::Delete(_) => None,
        }
    }

    /// Returns true if the user is asked about each letter.
    pub(super) fn is_one_by_one(&self) -> bool {
        matches!(self, Self::Edit(..) | Self::Ask(..))
    }
}

/// The operation that the totals name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Send,
    Delete,
    Ask,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Real,
    DryRun,
    /// A silent dry run, which counts letters before a question.
    Preview,
}

/// Destination of letters.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) to: Queue,
    /// True if the user named `to`, so that letters of other queues go there too.
    pub(crate) named: bool,
}

/// The user's choice for a letter.
#[derive(Debug)]
pub(crate) enum Choice {
    /// Sends it as this message, with the file of the editor. None sends it unchanged.
    Send(Option<(Box<Redrive>, Desk)>),
    Delete,
    Leave(LeftReason),
    /// The letter cannot be sent, for this reason.
    Fail(String),
    /// This letter and all others stay.
    Quit,
}

/// Asks the user about one letter at a time.
pub(crate) trait Decider: fmt::Debug {
    /// Returns the choice for a letter. `place` is its position, as in "3 of 10".
    ///
    /// # Errors
    /// The user cannot be asked, which ends the run.
    fn decide<'a>(
        &'a self,
        letter: &'a mut Letter,
        place: String,
        lease: &'a LetterLease,
    ) -> LocalBoxFuture<'a, anyhow::Result<Choice>>;

    /// Reports the result.
    ///
    /// # Errors
    /// The result cannot be printed.
    fn report(&self, _line: &str) -> anyhow::Result<()> {
        Ok(())
    }
}
