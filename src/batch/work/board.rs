//! What is still to be done in a round, who is at it, and what came of the rest.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::{Worked, ran};
use crate::batch::{Outcome, Ran};

pub(super) struct Board {
    state: Mutex<State>,
    deserted: Notify,
    concurrency: usize,
    until: Instant,
}

struct State {
    lanes: std::vec::IntoIter<Range<usize>>,
    open: bool,
    /// The message that each runner is at, and since when.
    seats: Vec<Option<(usize, Instant)>>,
    runners: usize,
    tasks: Vec<AbortHandle>,
    worked: Vec<Worked>,
}

impl Board {
    pub(super) fn new(lanes: Vec<Range<usize>>, concurrency: usize, until: Instant) -> Self {
        let state = State {
            worked: Vec::with_capacity(lanes.len()),
            lanes: lanes.into_iter(),
            open: true,
            seats: Vec::new(),
            runners: 0,
            tasks: Vec::new(),
        };
        Self { state: Mutex::new(state), deserted: Notify::new(), concurrency, until }
    }

    /// Nothing of the user's runs under this lock, so nothing panics.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Until there is no runner.
    pub(super) async fn deserted(&self) {
        self.deserted.notified().await;
    }

    /// Whether there is work and room for one more at it.
    pub(super) fn wants_runners(&self) -> bool {
        self.state().wants_runners(self.concurrency)
    }

    /// A seat for one more runner, if one is wanted.
    pub(super) fn seat(&self) -> Option<usize> {
        let mut state = self.state();
        let wanted = state.wants_runners(self.concurrency);
        wanted.then(|| {
            state.runners += 1;
            state.seats.push(None);
            state.seats.len() - 1
        })
    }

    /// Notes the task of a runner, to end it when time is up.
    pub(super) fn note(&self, task: AbortHandle) {
        let mut state = self.state();
        if state.open {
            return state.tasks.push(task);
        }
        // Aborting could drop the task here and now, which leaves the board.
        drop(state);
        task.abort();
    }

    /// The next lane, while there is time for it.
    pub(super) fn next_lane(&self, now: Instant) -> Option<Range<usize>> {
        let mut state = self.state();
        if state.open && now < self.until { state.lanes.next() } else { None }
    }

    /// Whether there is time for this message; if so it counts as begun.
    pub(super) fn begin(&self, seat: usize, index: usize, now: Instant) -> bool {
        let mut state = self.state();
        let in_time = state.open && now < self.until;
        if in_time {
            state.seats[seat] = Some((index, now));
        }
        in_time
    }

    pub(super) fn finish(&self, seat: usize, outcome: Outcome, ran: Option<Ran>) {
        let mut state = self.state();
        if let Some((index, _)) = state.seats[seat].take() {
            state.worked.push((index, outcome, ran));
        }
    }

    /// A runner is gone; what it was at when it was cut off has this outcome.
    pub(super) fn leave(&self, seat: usize, cut_off: impl FnOnce() -> Outcome, began: Instant) {
        let mut state = self.state();
        if let Some(at) = state.seats[seat].take() {
            state.worked.push(cut(at, cut_off(), began));
        }
        state.runners -= 1;
        if state.runners == 0 {
            self.deserted.notify_one();
        }
    }

    /// Ends every runner; says whether there are any.
    pub(super) fn close(&self) -> bool {
        let mut state = self.state();
        state.open = false;
        let (runners, tasks) = (state.runners, std::mem::take(&mut state.tasks));
        drop(state);
        tasks.iter().for_each(AbortHandle::abort);
        runners > 0
    }

    /// All outcomes. Who still has a seat holds on to a thread.
    pub(super) fn take(&self, began: Instant) -> Vec<Worked> {
        let mut state = self.state();
        let mut worked = std::mem::take(&mut state.worked);
        let stuck = state.seats.iter_mut().filter_map(Option::take);
        worked.extend(stuck.map(|at| cut(at, Outcome::Stuck, began)));
        worked
    }
}

impl State {
    fn wants_runners(&self, concurrency: usize) -> bool {
        self.open && self.runners < concurrency && self.lanes.len() > 0
    }
}

fn cut((index, since): (usize, Instant), outcome: Outcome, began: Instant) -> Worked {
    (index, outcome, Some(ran(since, Instant::now(), began)))
}
