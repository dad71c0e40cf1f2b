//! The lanes that are ready to run, the slots of the runners, and the outcomes so far.

mod chunks;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use tokio::sync::Notify;
use tokio::time::{Duration, Instant};

use super::slot::{Running, Slot, What};
use super::{Begun, Phase, Worked};
use crate::engine::keys::{BatchKey, MessageKey};
use crate::engine::{Outcome, Ran};

pub(crate) struct ReadyQueue {
    state: Mutex<State>,
    notify: Notify,
    concurrency: usize,
    /// Whether each outcome is told at once, and not failures only.
    tells_all: bool,
}

/// Messages of a batch that run one after the other.
pub(crate) struct Lane {
    pub(crate) of: Arc<Begun>,
    pub(crate) rest: Range<usize>,
}

struct State {
    /// Batches with lanes to run.
    lanes: VecDeque<(Arc<Begun>, VecDeque<Range<usize>>)>,
    /// Nothing is started any more, and everything is canceled.
    is_closed: bool,
    slots: Vec<Slot>,
    free: Vec<usize>,
    runners: usize,
    worked: Vec<Worked>,
    /// Batches that were given up while a handler blocked its thread, and the handler has returned.
    unblocked: Vec<BatchKey>,
    /// Since the last call of `take`, something has happened that is told.
    changed: bool,
}

impl ReadyQueue {
    pub(super) fn new(concurrency: usize, tells_all: bool) -> Self {
        let state = State {
            lanes: VecDeque::new(),
            is_closed: false,
            slots: Vec::new(),
            free: Vec::new(),
            runners: 0,
            worked: Vec::new(),
            unblocked: Vec::new(),
            changed: false,
        };
        Self { state: Mutex::new(state), notify: Notify::new(), concurrency, tells_all }
    }

    /// No user code runs under this lock, so nothing panics.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, of: &Arc<Begun>, lanes: Vec<Range<usize>>) {
        let mut state = self.state();
        if state.worked.is_empty() {
            state.worked.reserve(lanes.len());
        }
        match state.lanes.iter_mut().find(|(other, _)| Arc::ptr_eq(other, of)) {
            Some((_, known)) => known.extend(lanes),
            None => state.lanes.push_back((Arc::clone(of), lanes.into())),
        }
    }

    /// Waits until something has happened that is told.
    pub(super) async fn changed(&self) {
        while !self.has_changed() {
            self.notify.notified().await;
        }
    }

    pub(super) fn has_changed(&self) -> bool {
        self.state().changed
    }

    /// Whether nothing runs of a batch that was stopped or closed. A runner that has begun nothing yet will not: it may be
    /// waiting for a thread.
    pub(crate) fn is_idle(&self, batch: BatchKey) -> bool {
        let state = self.state();
        !state.of_batch(batch) && !state.worked.iter().any(|worked| worked.key.batch == batch)
    }

    /// A slot for one more runner, if there is a lane for it.
    pub(super) fn claim_slot(&self) -> Option<usize> {
        let mut state = self.state();
        state.wants_runners(self.concurrency).then(|| {
            state.runners += 1;
            state.free.pop().unwrap_or_else(|| {
                state.slots.push(Slot::default());
                state.slots.len() - 1
            })
        })
    }

    /// When one more runner will be needed, and whether that is now.
    pub(super) fn slow_at(&self, slow: Duration, now: Instant) -> Option<(Instant, bool)> {
        let state = self.state();
        if !state.wants_runners(self.concurrency) {
            return None;
        }
        if state.runners == 0 {
            // The last runner was ending when a lane was added.
            return Some((now, true));
        }
        // A runner that has not started a message waits for a thread, and the next one would too.
        let all_have_started = state.running().count() == state.runners;
        let latest = state.running().max().filter(|_| all_have_started);
        let at = latest.map_or(now + 10 * slow, |latest| latest + slow);
        Some((at, at <= now))
    }

    /// When the oldest running message was started; `now` if a runner is about to start one.
    pub(super) fn first_started_at(&self, now: Instant) -> Option<Instant> {
        let state = self.state();
        let running = state.slots.iter().filter(|slot| !slot.is_cancelled);
        let oldest = running.filter_map(|slot| slot.running.as_ref().map(|it| it.since)).min();
        oldest.or_else(|| (state.runners > 0).then_some(now))
    }

    /// The next lane, while there is time for it.
    pub(super) fn next_lane(&self, now: Instant) -> Option<Lane> {
        let mut state = self.state();
        let at = state.startable(now)?;
        let (of, lanes) = state.lanes.get_mut(at)?;
        let rest = lanes.pop_front()?;
        if !lanes.is_empty() {
            return Some(Lane { of: Arc::clone(of), rest });
        }
        state.lanes.remove(at).map(|(of, _)| Lane { of, rest })
    }

    /// Starts the message at this place of a batch, and says whether there was time for it.
    pub(super) fn begin(&self, slot: usize, of: &Arc<Begun>, at: usize, now: Instant) -> bool {
        let mut state = self.state();
        let in_time = !state.is_closed && of.phase.is_open() && now < of.until;
        if in_time {
            let slot = &mut state.slots[slot];
            let running = Running { of: Arc::clone(of), what: What::One(at), since: now };
            (slot.running, slot.is_polled) = (Some(running), true);
        }
        in_time
    }

    /// The message is polled again; says whether it has not been given up.
    pub(super) fn resume(&self, slot: usize) -> bool {
        let slot = &mut self.state().slots[slot];
        slot.is_polled = true;
        slot.running.is_some()
    }

    /// The message waits; says whether it is to be cancelled instead.
    pub(super) fn wait(&self, slot: usize, waker: &Waker) -> bool {
        let mut state = self.state();
        let running = state.slots[slot].running.as_ref();
        let closed = state.is_closed || running.is_none_or(|running| running.of.phase.is_closed());
        let slot = &mut state.slots[slot];
        match &mut slot.waker {
            Some(known) => known.clone_from(waker),
            None => slot.waker = Some(waker.clone()),
        }
        slot.is_polled = closed || slot.is_cancelled;
        slot.is_polled
    }

    /// The call has ended. Messages of a chunk have outcomes already. Says whether the runner goes on: not if it was given
    /// up.
    pub(super) fn finish(&self, slot: usize, outcome: Outcome, ran: Option<Ran>) -> bool {
        let mut state = self.state();
        let slot = &mut state.slots[slot];
        (slot.waker, slot.is_cancelled) = (None, false);
        let Some(running) = slot.running.take() else { return false };
        let known = state.worked.len();
        match running.what {
            What::One(at) => {
                let key = MessageKey { batch: running.of.key, at };
                state.worked.push(Worked { key, outcome, ran });
            }
            What::Chunk(_) => state.note(&running, running.end(outcome, ran)),
        }
        let is_told = self.tells_all
            || state.worked[known..].iter().any(|worked| !matches!(worked.outcome, Outcome::Done));
        self.unlock(state, is_told);
        true
    }

    /// A runner has ended. If it was dropped while running something, this is the outcome of what is not ruled on.
    pub(super) fn free_slot(&self, slot: usize, dropped: impl FnOnce() -> Outcome) {
        let mut state = self.state();
        let Slot { running, given_up, .. } = std::mem::take(&mut state.slots[slot]);
        let was_running = running.is_some();
        if let Some(running) = running {
            state.note(&running, running.cut_off(dropped()));
        }
        state.free.push(slot);
        state.runners -= usize::from(given_up.is_none());
        state.unblocked.extend(given_up);
        // A lane may have been added while this runner was ending.
        let is_told = state.runners == 0 || was_running || given_up.is_some() || !state.lanes.is_empty();
        self.unlock(state, is_told);
    }

    fn unlock(&self, mut state: MutexGuard<'_, State>, is_told: bool) {
        if is_told && !std::mem::replace(&mut state.changed, true) {
            drop(state);
            self.notify.notify_one();
        }
    }

    /// Cancels the messages that were started at this time or before.
    pub(super) fn cancel_started_by(&self, since: Option<Instant>) {
        let mut state = self.state();
        let over = |running: &Running| since.is_some_and(|since| running.since <= since);
        let slots = state.slots.iter_mut().filter(|slot| !slot.is_cancelled);
        let slots = slots.filter(|slot| slot.running.as_ref().is_some_and(over));
        let wakers: Vec<_> = slots.filter_map(Slot::cancel).collect();
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Starts no more messages of a batch.
    pub(crate) fn stop(&self, batch: &Begun) {
        let mut state = self.state();
        batch.phase.reach(Phase::STOPPED);
        state.lanes.retain(|(of, _)| of.key != batch.key);
    }

    /// Starts no more messages of a batch, and cancels those that run.
    pub(crate) fn cancel(&self, batch: &Begun) {
        let mut state = self.state();
        batch.phase.reach(Phase::CLOSED);
        state.lanes.retain(|(of, _)| of.key != batch.key);
        let is_of =
            |slot: &&mut Slot| slot.running.as_ref().is_some_and(|running| running.of.key == batch.key);
        let wakers: Vec<_> =
            state.slots.iter_mut().filter(is_of).filter_map(|slot| slot.waker.take()).collect();
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Starts nothing more, and cancels everything.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        state.lanes.clear();
        let wakers: Vec<_> = state.slots.iter_mut().filter_map(|slot| slot.waker.take()).collect();
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// The outcomes since the last call, and the batches whose blocked handlers have returned.
    pub(crate) fn take(&self) -> (Vec<Worked>, Vec<BatchKey>) {
        let mut state = self.state();
        state.changed = false;
        (std::mem::take(&mut state.worked), std::mem::take(&mut state.unblocked))
    }

    /// Gives up the running messages of a batch: those that block their threads, and those that wait for a thread to be
    /// cancelled on. Returns all outcomes of the batch that were not taken.
    pub(crate) fn give_up(&self, of: &Begun) -> Vec<Worked> {
        let mut state = self.state();
        let batch = of.key;
        of.phase.reach(Phase::CLOSED);
        let State { slots, runners, worked, .. } = &mut *state;
        let (mut given_up, others): (Vec<_>, Vec<_>) =
            std::mem::take(worked).into_iter().partition(|worked| worked.key.batch == batch);
        *worked = others;
        for slot in slots {
            if let Some(running) = slot.running.take_if(|running| running.of.key == batch) {
                slot.given_up = Some(batch);
                *runners -= 1;
                let outcome = if slot.is_polled { Outcome::Stuck } else { Outcome::TimedOut };
                given_up.extend(running.cut_off(outcome).0);
            }
        }
        state.lanes.retain(|(of, _)| of.key != batch);
        given_up
    }
}

impl State {
    /// The first batch with a lane for which there is time.
    fn startable(&self, now: Instant) -> Option<usize> {
        self.lanes.iter().position(|(of, _)| !self.is_closed && now < of.until)
    }

    /// Whether something of a batch runs.
    fn of_batch(&self, batch: BatchKey) -> bool {
        self.slots.iter().any(|slot| slot.running.as_ref().is_some_and(|running| running.of.key == batch))
    }

    fn wants_runners(&self, concurrency: usize) -> bool {
        !self.is_closed && self.runners < concurrency && !self.lanes.is_empty()
    }

    /// When what runs was started.
    fn running(&self) -> impl Iterator<Item = Instant> {
        self.slots.iter().filter_map(|slot| slot.running.as_ref().map(|it| it.since))
    }

    /// Rests of lanes go on before other lanes.
    fn note(&mut self, running: &Running, (worked, rests): (Vec<Worked>, Vec<Range<usize>>)) {
        self.worked.extend(worked);
        if !rests.is_empty() && !self.is_closed && running.of.phase.is_open() {
            self.lanes.push_front((Arc::clone(&running.of), rests.into()));
        }
    }
}

#[cfg(test)]
mod tests;
