//! What a batch of a worker's knows of the worker: whom it asks to settle a message, and what it is told.

use std::sync::Arc;
use std::time::Duration;

use redrive_sqs::Attributes;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use crate::records::Records;

/// Names a message in hand.
pub(crate) type Key = usize;

/// The messages of one batch.
#[derive(Debug)]
pub(crate) struct Hold {
    /// Of its records, in their order.
    keys: Vec<Key>,
    asks: UnboundedSender<Request>,
    notices: UnboundedReceiver<Notice>,
    unanswered: usize,
}

/// A message that is to be settled. `at` is its place in the batch, which the answer repeats.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) key: Key,
    pub(super) at: usize,
    pub(super) ask: Ask,
}

#[derive(Debug)]
pub(crate) enum Ask {
    Delete,
    /// Visible again after this long.
    Change(Duration),
    Letter(Arc<NewLetter>),
}

#[derive(Debug)]
pub(crate) struct NewLetter {
    pub(crate) records: Arc<Records>,
    pub(crate) index: usize,
    /// Letters of the same lane are sent in order.
    pub(crate) lane: Key,
    pub(crate) attributes: Attributes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Letter,
    Delete,
    Change,
}

#[derive(Debug)]
pub(crate) enum Notice {
    Answered {
        at: usize,
        kind: Kind,
        confirmed: bool,
        took: Duration,
    },
    /// The lease of this record is lost.
    Lost {
        index: usize,
    },
    /// The worker was told to end.
    Stop,
    /// It waits no longer.
    Close,
}

impl Ask {
    pub(super) const fn kind(&self) -> Kind {
        match self {
            Self::Delete => Kind::Delete,
            Self::Change(_) => Kind::Change,
            Self::Letter(_) => Kind::Letter,
        }
    }
}

impl Hold {
    pub(super) fn new(
        keys: Vec<Key>,
        asks: UnboundedSender<Request>,
        notices: UnboundedReceiver<Notice>,
    ) -> Self {
        Self { keys, asks, notices, unanswered: 0 }
    }

    /// What stands for a lane of this batch among those of all.
    pub(crate) fn lane(&self, lane: usize) -> Key {
        self.keys[lane]
    }

    /// Asks the worker to settle the message of this record, which stands at this place in the batch.
    pub(crate) fn ask(&mut self, at: usize, index: usize, ask: Ask) {
        // Without a worker nothing is answered, and the batch has ended before.
        if self.asks.send(Request { key: self.keys[index], at, ask }).is_ok() {
            self.unanswered += 1;
        }
    }

    pub(crate) async fn notice(&mut self) -> Notice {
        let Some(notice) = self.notices.recv().await else { return std::future::pending().await };
        self.unanswered -= usize::from(matches!(notice, Notice::Answered { .. }));
        notice
    }

    /// Whether everything that was asked for was answered.
    pub(crate) const fn is_settled(&self) -> bool {
        self.unanswered == 0
    }
}
