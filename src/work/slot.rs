//! The slot of one runner: the call of the handler that it makes.

use std::ops::Range;
use std::sync::Arc;
use std::task::Waker;

use tokio::time::Instant;

use super::sheet::{Ending, Sheet};
use super::{Begun, Worked, ran};
use crate::engine::keys::{BatchKey, MessageKey};
use crate::engine::{Outcome, Ran};

#[derive(Default)]
pub(super) struct Slot {
    pub(super) running: Option<Running>,
    /// Whether a thread is polling it.
    pub(super) is_polled: bool,
    /// Wakes the runner while the handler waits.
    pub(super) waker: Option<Waker>,
    /// It has exceeded its time limit.
    pub(super) is_cancelled: bool,
    /// The batch that ended without waiting for the runner.
    pub(super) given_up: Option<BatchKey>,
}

/// What one call of the handler took, and when that began.
pub(super) struct Running {
    pub(super) of: Arc<Begun>,
    pub(super) what: What,
    pub(super) since: Instant,
}

pub(super) enum What {
    /// The message at this place in the order of the batch.
    One(usize),
    Chunk(Arc<Sheet>),
}

impl Slot {
    pub(super) fn cancel(&mut self) -> Option<Waker> {
        self.is_cancelled = true;
        self.waker.take()
    }
}

impl Running {
    /// Ends it from outside, with this outcome for what is not ruled on; also returns rests of lanes that were not started.
    pub(super) fn cut_off(&self, outcome: Outcome) -> (Vec<Worked>, Vec<Range<usize>>) {
        let ran = Some(ran(self.since, Instant::now(), self.of.began));
        self.end(outcome, ran)
    }

    pub(super) fn end(&self, outcome: Outcome, ran: Option<Ran>) -> (Vec<Worked>, Vec<Range<usize>>) {
        match &self.what {
            What::One(at) => {
                let key = MessageKey { batch: self.of.key, at: *at };
                (vec![Worked { key, outcome, ran }], Vec::new())
            }
            What::Chunk(sheet) => {
                let Ending { worked, rests } = sheet.end(&outcome, ran);
                (worked, rests)
            }
        }
    }
}
