//! Where the calls to SQS for a batch are made: a batch of Lambda's makes its own, a worker makes those of all its messages
//! together.

mod calls;

use std::sync::Arc;

use tokio::time::Instant;

use self::calls::Calls;
use super::progress::{Progress, Step};
use crate::aws::Sqs;
use crate::batch::Ran;
use crate::batch::settle::{Change, Letter};
use crate::records::Records;
use crate::worker::hold::{Ask, Hold, Kind, NewLetter, Notice};

pub(super) enum Settling<'a> {
    Here(Calls<'a>),
    Worker { hold: &'a mut Hold, records: &'a Arc<Records>, began: Instant },
}

/// What a worker tells a batch to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Halt {
    /// Start nothing more.
    Stop,
    /// Cancel what runs, since the worker ends.
    Interrupt,
    /// Cancel what runs, since its leases are lost.
    Lost,
}

impl<'a> Settling<'a> {
    pub(super) fn here(sqs: Option<&'a Sqs>, url: Option<&'a str>, began: Instant, until: Instant) -> Self {
        Self::Here(Calls::new(sqs, url, began, until))
    }

    /// Queues a step for the next call; without a client, nothing.
    pub(super) fn add(&mut self, step: &Step, batch: &Progress<'_>, now: Instant) {
        let (hold, records) = match self {
            Self::Here(calls) => return calls.add(step, now),
            Self::Worker { hold, records, .. } => (hold, records),
        };
        match *step {
            Step::Letter { at, lane } => {
                if let Some(Letter { attributes, .. }) = batch.letter(at) {
                    let (records, index, lane) = (Arc::clone(records), batch.index(at), hold.lane(lane));
                    hold.ask(
                        at,
                        index,
                        Ask::Letter(Arc::new(NewLetter { records, index, lane, attributes })),
                    );
                }
            }
            Step::Change(at) => {
                if let Some(Change { after, .. }) = batch.change(at) {
                    hold.ask(at, batch.index(at), Ask::Change(after));
                }
            }
            Step::Delete(at) => hold.ask(at, batch.index(at), Ask::Delete),
            Step::GoOn(_) => {}
        }
    }

    /// Makes the calls that are due, or all of them with `flush`.
    pub(super) fn send<'r: 'a>(&mut self, batch: &Progress<'r>, now: Instant, flush: bool) {
        if let Self::Here(calls) = self {
            calls.send(batch, now, flush);
        }
    }

    /// Waits for the next answer and records it, or for what a worker says.
    pub(super) async fn answered(&mut self, batch: &mut Progress<'_>) -> Option<Halt> {
        let (hold, began) = match self {
            Self::Here(calls) => {
                calls.answered(batch).await;
                return None;
            }
            Self::Worker { hold, began, .. } => (hold, *began),
        };
        match hold.notice().await {
            Notice::Answered { at, kind, confirmed, took } => {
                let ran = Ran { took, ended: began.elapsed(), is_shared: false };
                match kind {
                    Kind::Letter => batch.letter_answered(at, confirmed, ran),
                    Kind::Change => batch.change_answered(at, confirmed, ran),
                    Kind::Delete => batch.delete_answered(at, confirmed, ran),
                }
                None
            }
            Notice::Lost { index } => batch.lost(index).then_some(Halt::Lost),
            Notice::Stop => Some(Halt::Stop),
            Notice::Close => Some(Halt::Interrupt),
        }
    }

    /// Whether something may be answered.
    pub(super) fn is_under_way(&self) -> bool {
        match self {
            Self::Here(calls) => calls.is_under_way(),
            Self::Worker { .. } => true,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        match self {
            Self::Here(calls) => calls.is_done(),
            Self::Worker { hold, .. } => hold.is_settled(),
        }
    }

    /// When the next call is due.
    pub(super) fn due_at(&self) -> Option<Instant> {
        match self {
            Self::Here(calls) => calls.due_at(),
            Self::Worker { .. } => None,
        }
    }
}
