//! What a runner is doing.

use std::ops::Range;
use std::sync::Arc;
use std::task::Waker;

use tokio::time::Instant;

use super::sheet::{Ending, Sheet};
use super::{Worked, ran};
use crate::batch::{Outcome, Ran};

#[derive(Default)]
pub(super) struct Slot {
    pub(super) running: Option<Running>,
    /// Whether a thread is polling it.
    pub(super) is_polled: bool,
    /// Wakes the runner while the handler waits.
    pub(super) waker: Option<Waker>,
    /// It has exceeded its time limit.
    pub(super) is_cancelled: bool,
    /// The batch ended without waiting for the runner.
    pub(super) is_given_up: bool,
}

/// What one call of the handler took, and when that began.
pub(super) struct Running {
    pub(super) what: What,
    pub(super) since: Instant,
}

pub(super) enum What {
    /// The message at this place in the order of the plan.
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
    pub(super) fn cut_off(&self, outcome: Outcome, began: Instant) -> (Vec<Worked>, Vec<Range<usize>>) {
        let ran = Some(ran(self.since, Instant::now(), began));
        self.end(outcome, ran)
    }

    pub(super) fn end(&self, outcome: Outcome, ran: Option<Ran>) -> (Vec<Worked>, Vec<Range<usize>>) {
        match &self.what {
            What::One(at) => (vec![Worked { at: *at, outcome, ran }], Vec::new()),
            What::Chunk(sheet) => {
                let Ending { worked, rests } = sheet.end(&outcome, ran);
                (worked, rests)
            }
        }
    }
}
