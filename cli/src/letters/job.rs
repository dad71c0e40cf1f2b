//! What a verb asks of the engine.

use std::cell::RefCell;
use std::fmt;

use futures_util::future::LocalBoxFuture;
use redrive_sqs::OriginSenders;

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
use crate::sqs::Hold;

/// What is to be done.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) work: Work,
    pub(crate) from: Queue,
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
    /// Whether each letter is told of as JSON, and not only problems and a sum.
    pub(crate) json: bool,
}

impl Job {
    /// Writes down that letters are about to be sent or deleted, and returns when.
    pub(super) async fn record_start(&self, aws: &Aws) -> Option<String> {
        self.history.start(aws, self.action()).await
    }

    /// Writes down what was done.
    pub(super) async fn record(&self, aws: &Aws, tally: &Tally, began: Option<&str>) {
        let (sent, deleted) = tally.sent_and_deleted(self.work.operation());
        self.history
            .record(aws, Action { sent, deleted, failed: tally.failed, began, ..self.action() })
            .await;
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
    Delete,
    /// Either, as somebody says of each.
    Ask(Route, Box<dyn Decider>),
}

impl Work {
    pub(super) fn operation(&self) -> Operation {
        match self {
            Self::Send(_) | Self::Edit(..) => Operation::Send,
            Self::Delete => Operation::Delete,
            Self::Ask(..) => Operation::Ask,
        }
    }

    pub(crate) fn route(&self) -> Option<&Route> {
        match self {
            Self::Send(route) | Self::Edit(route, _) | Self::Ask(route, _) => Some(route),
            Self::Delete => None,
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
    /// As this message, else as it is.
    Send(Option<Box<Redrive>>),
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
