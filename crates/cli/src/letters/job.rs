//! What a verb asks of the engine.

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
use super::tracker::Why;
use crate::aws::Aws;
use crate::find::Queue;
use crate::history::{Action, History};
use crate::journal::Journal;
use crate::scratch::Desk;
use crate::sqs::{Hold, Receivable};

/// What is to be done.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) work: Work,
    pub(crate) from: Receivable,
    pub(crate) selection: Selection,
    /// Whether a run succeeds if the selection matches nothing.
    pub(crate) allow_none: bool,
    /// Whose origin counts on letters that SQS moved; everybody's if nobody is named.
    pub(crate) origin_senders: Option<OriginSenders>,
    /// Of the source queue, from which attempts are counted.
    pub(crate) max_receive_count: Option<u32>,
    /// Where it is written down which letters are being sent.
    pub(crate) journal: Journal,
    /// Where it is written down what this verb did.
    pub(crate) history: History,
    pub(crate) verb: &'static str,
    /// The letters of this run and of those before it, if it is watched whether they come back.
    pub(crate) sent_back: Option<RefCell<SentBack>>,
    /// Letters that are sent a second.
    pub(crate) rate: Option<u32>,
    pub(crate) dry_run: bool,
    /// Whether letters that an earlier run has sent are sent once more, and not only deleted.
    pub(crate) send_again: bool,
    /// Whether each letter is told of as JSON, and not only problems and a sum.
    pub(crate) json: bool,
}

impl Job {
    /// Whether an earlier run has sent letters to where this one sends them, and could not delete them.
    pub(crate) fn has_already_sent(&self) -> bool {
        let route = self.work.route().filter(|_| !self.send_again);
        route.is_some_and(|route| self.journal.has_confirmed(&self.from, &route.to))
    }

    /// Writes down that letters are about to be sent or deleted, and returns when.
    pub(super) async fn record_start(&self, aws: &Aws) -> Option<String> {
        self.history.start(aws, self.action()).await
    }

    /// Writes down what was done.
    pub(super) async fn record(&self, aws: &Aws, tally: &Tally, began: Option<&str>) {
        let (sent, deleted) = tally.sent_and_deleted(self.work.operation());
        let (not_deleted, perhaps_sent) = (tally.sent_not_deleted, tally.perhaps_sent);
        // Those too that an earlier run has sent, and this one could not delete either.
        let failed = tally.failed - perhaps_sent + tally.possible_duplicates - not_deleted;
        let action = Action { sent, not_deleted, deleted, failed, perhaps_sent, began, ..self.action() };
        self.history.record(aws, action).await;
    }

    fn action(&self) -> Action<'_> {
        let to = self.work.route().map(|route| route.to.arn.as_str());
        Action { verb: self.verb, queue: &self.from.arn, to, ..Action::default() }
    }
}

/// What becomes of the letters that are wanted.
#[derive(Debug)]
pub(crate) enum Work {
    Send(Route),
    /// Somebody makes another message of each.
    Edit(Route, Box<dyn Decider>),
    /// After they were written there.
    Delete(Option<Copies>),
    /// Either, as somebody says of each.
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

    /// Whether somebody is asked about each letter.
    pub(super) fn is_one_by_one(&self) -> bool {
        matches!(self, Self::Edit(..) | Self::Ask(..))
    }
}

/// What a sum is called.
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

/// Where letters go.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) to: Queue,
    /// Whether `to` was named, so that letters of other queues go there too.
    pub(crate) named: bool,
}

/// What becomes of a letter.
#[derive(Debug)]
pub(crate) enum Choice {
    /// As this message, with the file in which it was written, else as it is.
    Send(Option<(Box<Redrive>, Desk)>),
    Delete,
    Leave(Why),
    /// It cannot be sent, and why.
    Fail(String),
    /// It stays, and so do all others.
    Quit,
}

/// Somebody who decides about one letter at a time.
pub(crate) trait Decider: fmt::Debug {
    /// `place` says which of how many letters it is.
    ///
    /// # Errors
    /// What ends the run: nobody can be asked.
    fn decide<'a>(
        &'a self,
        letter: &'a mut Letter,
        place: String,
        hold: &'a Hold,
    ) -> LocalBoxFuture<'a, anyhow::Result<Choice>>;

    /// Says what came of it.
    ///
    /// # Errors
    /// Nobody can be told.
    fn tell(&self, _line: &str) -> anyhow::Result<()> {
        Ok(())
    }
}
