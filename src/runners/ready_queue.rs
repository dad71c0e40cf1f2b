//! The lanes that are ready to run, the slots of the runners, and the outcomes so far.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use tokio::sync::Notify;
use tokio::time::{Duration, Instant};

use super::chunk_runner::SharedChunk;
use super::{Begun, Phase, Worked, ran};
use crate::once::claim::after_change;
use redrive_engine::keys::{BatchKey, MessageKey};
use redrive_engine::{Outcome, Ran};
use redrive_executor::Executor;

pub(crate) struct ReadyQueue {
    state: Mutex<State>,
    notify: Arc<Notify>,
    concurrency: usize,
    /// True if each outcome is reported at once, and not failures only.
    tells_all: bool,
    /// Notifies after the tasks that are ready, so that outcomes of the same moment are reported together.
    teller: Option<Arc<Executor>>,
}

/// Messages of a batch that run one after the other.
type Lane = Range<usize>;

#[derive(Default)]
struct State {
    /// Batches with lanes to run.
    lanes: VecDeque<(Arc<Begun>, VecDeque<Lane>)>,
    /// True if nothing starts any more and everything is canceled.
    is_closed: bool,
    slots: Vec<Slot>,
    free: Vec<usize>,
    runners: usize,
    worked: Vec<Worked>,
    /// Batches that were given up while a handler blocked its thread, after the handler has returned.
    unblocked: Vec<BatchKey>,
    /// Batches whose leases may have ended, each with a runner that waits until the engine has checked them.
    doubted: Vec<(BatchKey, Waker)>,
    /// True if there is something to report since the last call of `take`.
    changed: bool,
}

/// The slot of one runner.
#[derive(Default)]
struct Slot {
    running: Option<Running>,
    /// True if a thread is polling it.
    is_polled: bool,
    /// Wakes the runner while the handler waits.
    waker: Option<Waker>,
    /// True if it has exceeded its time limit.
    is_cancelled: bool,
    /// True if it has continued after that, and was reported.
    is_overdue: bool,
    /// The outcome of its call, while that is being recorded.
    ended: Option<Outcome>,
    /// The batch that ended without waiting for the runner.
    given_up: Option<BatchKey>,
}

/// The messages of one call of the handler, and its start.
struct Running {
    of: Arc<Begun>,
    what: What,
    since: Instant,
}

pub(super) enum What {
    /// The message at this place in the order of the batch.
    One(usize),
    Chunk(Arc<SharedChunk>),
}

impl ReadyQueue {
    pub(super) fn new(concurrency: usize, tells_all: bool, teller: Option<Arc<Executor>>) -> Self {
        Self { state: Mutex::default(), notify: Arc::default(), concurrency, tells_all, teller }
    }

    /// No user code runs under this lock, so nothing panics.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, of: &Arc<Begun>, lanes: Vec<Lane>) {
        let mut state = self.state();
        if state.worked.is_empty() {
            state.worked.reserve(lanes.len());
        }
        match state.lanes.iter_mut().find(|(other, _)| Arc::ptr_eq(other, of)) {
            // These are rests of lanes that have begun, and messages that have waited for others.
            Some((_, known)) => lanes.into_iter().rev().for_each(|lane| known.push_front(lane)),
            None => state.lanes.push_back((Arc::clone(of), lanes.into())),
        }
    }

    /// Waits until there is something to report.
    pub(super) async fn changed(&self) {
        while !self.has_changed() {
            self.notify.notified().await;
        }
    }

    pub(super) fn has_changed(&self) -> bool {
        self.state().changed
    }

    /// Returns true if a batch that was stopped or closed has nothing running. A runner that has begun nothing yet does not
    /// count, because it will begin nothing: it may be waiting for a thread.
    pub(crate) fn is_idle(&self, batch: BatchKey) -> bool {
        let state = self.state();
        !state.slots.iter().any(|slot| slot.runs(batch))
            && !state.worked.iter().any(|worked| worked.key.batch == batch)
    }

    /// Returns a slot for one more runner if there is a lane for it.
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

    /// Returns the time at which one more runner is needed, and true if that is now.
    pub(super) fn slow_at(&self, slow: Duration, now: Instant) -> Option<(Instant, bool)> {
        let state = self.state();
        if !state.wants_runners(self.concurrency) {
            return None;
        }
        if state.runners == 0 {
            // The last runner was ending when a lane was added.
            return Some((now, true));
        }
        let running = || state.slots.iter().filter_map(|slot| Some(slot.running.as_ref()?.since));
        // A runner that has not started a message waits for a thread, and the next one would too.
        let all_have_started = running().count() == state.runners;
        let latest = running().max().filter(|_| all_have_started);
        let at = latest.map_or(now + 10 * slow, |latest| latest + slow);
        Some((at, at <= now))
    }

    /// Returns the start of the oldest running message, or `now` if a runner is about to start one.
    pub(super) fn first_started_at(&self, now: Instant) -> Option<Instant> {
        let state = self.state();
        let running = state.slots.iter().filter(|slot| !slot.is_cancelled);
        let oldest = running.filter_map(|slot| Some(slot.running.as_ref()?.since)).min();
        oldest.or_else(|| (state.runners > 0).then_some(now))
    }

    /// Calls `take` with the lanes of the first batch that has time left. Returns its result.
    pub(super) fn next<T>(
        &self,
        now: Instant,
        take: impl FnOnce(&Begun, &mut VecDeque<Lane>) -> T,
    ) -> Option<(Arc<Begun>, T)> {
        let mut state = self.state();
        let at = state.lanes.iter().position(|(of, _)| now < of.until)?;
        let (of, lanes) = state.lanes.get_mut(at)?;
        let taken = (Arc::clone(of), take(of, lanes));
        if lanes.is_empty() {
            state.lanes.remove(at);
        }
        Some(taken)
    }

    /// Starts a call if there is time for one of this duration. Returns true if it was started.
    pub(super) fn begin(
        &self,
        slot: usize,
        of: &Arc<Begun>,
        what: What,
        now: Instant,
        takes: Duration,
    ) -> bool {
        let mut state = self.state();
        let in_time = !state.is_closed && of.phase.is_open() && now + takes < of.until;
        if in_time {
            let running = Running { of: Arc::clone(of), what, since: now };
            state.slots[slot] = Slot { running: Some(running), is_polled: true, ..Slot::default() };
        }
        in_time
    }

    /// Marks a message as polled again. Returns false if it was given up.
    pub(super) fn resume(&self, slot: usize) -> bool {
        let slot = &mut self.state().slots[slot];
        slot.is_polled = true;
        slot.running.is_some()
    }

    /// Keeps the outcome of a call while the store records it.
    pub(super) fn ended(&self, slot: usize, outcome: Outcome) {
        self.state().slots[slot].ended = Some(outcome);
    }

    /// Marks a message as waiting for the store.
    pub(super) fn pause(&self, slot: usize, waker: &Waker) {
        let mut state = self.state();
        let slot = &mut state.slots[slot];
        (slot.is_polled, slot.waker) = (false, Some(waker.clone()));
    }

    /// Marks a message as waiting. Returns true if it must be cancelled instead.
    pub(super) fn wait(&self, slot: usize, waker: &Waker) -> bool {
        self.state().wait(slot, waker)
    }

    /// Works like [`wait`](Self::wait), for a message whose lease may have ended. Its runner is woken once that is known.
    pub(super) fn wait_for_lease(&self, slot: usize, waker: &Waker) -> bool {
        let mut state = self.state();
        let is_canceled = state.wait(slot, waker);
        if let Some(running) = state.slots[slot].running.as_ref().filter(|_| !is_canceled) {
            let batch = running.of.key;
            state.doubted.push((batch, waker.clone()));
            self.unlock(state, true);
        }
        is_canceled
    }

    /// Ends a call. Messages of a chunk have outcomes already. Returns false if the call was given up, so that its runner ends.
    pub(super) fn finish(&self, slot: usize, outcome: Outcome, ran: Option<Ran>) -> bool {
        let mut state = self.state();
        let slot = &mut state.slots[slot];
        (slot.waker, slot.is_cancelled, slot.is_overdue) = (None, false, false);
        let Some(running) = slot.running.take() else { return slot.given_up.is_none() };
        let known = state.worked.len();
        state.end(running, outcome, ran);
        let is_told = self.tells_all
            || state.worked[known..].iter().any(|worked| !matches!(worked.outcome, Outcome::Done));
        self.unlock(state, is_told);
        true
    }

    /// Frees the slot of a runner that has ended. If it was dropped during a call, `outcome` is for messages without a result.
    pub(super) fn free_slot(&self, slot: usize, outcome: Outcome) {
        let mut state = self.state();
        let Slot { running, given_up, .. } = std::mem::take(&mut state.slots[slot]);
        let was_running = running.is_some();
        if let Some(running) = running {
            state.cut_off(running, outcome);
        }
        state.free.push(slot);
        state.runners -= usize::from(given_up.is_none());
        // A batch of a bulk handler may have several calls.
        let others_block =
            state.slots.iter().any(|slot| slot.given_up.is_some() && slot.given_up == given_up);
        state.unblocked.extend(given_up.filter(|_| !others_block));
        // A lane may have been added while this runner was ending.
        let is_told = state.runners == 0 || was_running || given_up.is_some() || !state.lanes.is_empty();
        self.unlock(state, is_told);
    }

    fn unlock(&self, mut state: MutexGuard<'_, State>, is_told: bool) {
        if is_told && !std::mem::replace(&mut state.changed, true) {
            let teller = self.teller.as_ref().filter(|_| !state.is_closed);
            drop(state);
            match teller {
                Some(teller) => {
                    let notify = Arc::clone(&self.notify);
                    teller.spawn(async move { notify.notify_one() });
                }
                None => self.notify.notify_one(),
            }
        }
    }

    /// Cancels the messages that were started at this time or before.
    pub(super) fn cancel_started_by(&self, since: Instant) {
        wake(self.state(), |slot| {
            let is_started = slot.running.as_ref().is_some_and(|running| running.since <= since);
            is_started && !std::mem::replace(&mut slot.is_cancelled, true)
        });
    }

    /// Returns the start of the oldest cancelled message that is not reported as overdue yet.
    pub(super) fn first_cancelled_at(&self) -> Option<Instant> {
        let state = self.state();
        let cancelled = state.slots.iter().filter(|slot| slot.is_cancelled && !slot.is_overdue);
        cancelled.filter_map(Slot::started_at).min()
    }

    /// Returns the messages that were started at this time or before, and still run although they were cancelled, each once.
    pub(super) fn take_overdue(&self, since: Instant) -> Vec<MessageKey> {
        let mut messages = Vec::new();
        for slot in &mut self.state().slots {
            let is_overdue = slot.is_cancelled && slot.started_at().is_some_and(|at| at <= since);
            if is_overdue
                && !std::mem::replace(&mut slot.is_overdue, true)
                && let Some(Running { of, what, .. }) = &slot.running
            {
                let key = |at| MessageKey { batch: of.key, at };
                match what {
                    What::One(at) => messages.push(key(*at)),
                    What::Chunk(chunk) => messages.extend(chunk.results().places().map(key)),
                }
            }
        }
        messages
    }

    /// Takes back the lanes that begin with one of these messages and that no runner has taken. `places` are in order.
    pub(crate) fn withdraw(&self, batch: &Begun, places: &[usize]) -> Vec<Worked> {
        let mut worked = Vec::new();
        let mut state = self.state();
        for (of, lanes) in state.lanes.iter_mut().filter(|(of, _)| of.key == batch.key) {
            lanes.retain(|lane| {
                let is_held = places.binary_search(&lane.start).is_ok();
                let key = MessageKey { batch: of.key, at: lane.start };
                worked.extend(is_held.then_some(Worked { key, outcome: Outcome::BreakerOpen, ran: None }));
                !is_held
            });
        }
        state.lanes.retain(|(_, lanes)| !lanes.is_empty());
        worked
    }

    /// Starts no more messages of a batch.
    pub(crate) fn stop(&self, batch: &Begun) {
        self.state().reach(batch, Phase::STOPPED);
    }

    /// Starts no more messages of a batch, and cancels those that run.
    pub(crate) fn cancel(&self, batch: &Begun) {
        let mut state = self.state();
        state.reach(batch, Phase::CLOSED);
        wake(state, |slot| slot.runs(batch.key));
    }

    /// Starts nothing more, and cancels everything.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        state.lanes.clear();
        wake(state, |_| true);
    }

    /// Returns the outcomes since the last call, and the batches whose blocked handlers have returned.
    pub(crate) fn take(&self) -> (Vec<Worked>, Vec<BatchKey>) {
        let mut state = self.state();
        state.changed = false;
        (std::mem::take(&mut state.worked), std::mem::take(&mut state.unblocked))
    }

    /// Returns the batches whose leases may have ended, and runners that wait until the engine has checked them.
    pub(crate) fn take_doubted(&self) -> Vec<(BatchKey, Waker)> {
        std::mem::take(&mut self.state().doubted)
    }

    /// Gives up the running messages of a batch: those that block their threads, and those that wait for a thread to be
    /// cancelled on. Returns all outcomes of the batch that were not taken.
    pub(crate) fn give_up(&self, batch: &Begun) -> Vec<Worked> {
        let mut state = self.state();
        state.reach(batch, Phase::CLOSED);
        for slot in 0..state.slots.len() {
            let slot = &mut state.slots[slot];
            let outcome = if slot.is_polled { Outcome::Stuck } else { Outcome::TimedOut };
            if let Some(running) = slot.running.take_if(|running| running.of.key == batch.key) {
                let outcome = slot.ended.take().map_or(outcome, |ended| after_change(ended, false));
                slot.given_up = Some(batch.key);
                state.runners -= 1;
                state.cut_off(running, outcome);
            }
        }
        state.worked.extract_if(.., |worked| worked.key.batch == batch.key).collect()
    }
}

/// Wakes the waiting runners of these slots, which then cancel what they run.
fn wake(mut state: MutexGuard<'_, State>, mut is_woken: impl FnMut(&mut Slot) -> bool) {
    let slots = state.slots.iter_mut();
    let wakers: Vec<_> =
        slots.filter_map(|slot| if is_woken(slot) { slot.waker.take() } else { None }).collect();
    drop(state);
    wakers.into_iter().for_each(Waker::wake);
}

impl Slot {
    /// Returns the start of its message, unless that has ended and is being recorded.
    fn started_at(&self) -> Option<Instant> {
        self.running.as_ref().filter(|_| self.ended.is_none()).map(|running| running.since)
    }

    fn runs(&self, batch: BatchKey) -> bool {
        self.running.as_ref().is_some_and(|running| running.of.key == batch)
    }
}

impl State {
    fn wants_runners(&self, concurrency: usize) -> bool {
        self.runners < concurrency && !self.lanes.is_empty()
    }

    fn wait(&mut self, slot: usize, waker: &Waker) -> bool {
        let running = self.slots[slot].running.as_ref();
        let closed = self.is_closed || running.is_none_or(|running| running.of.phase.is_closed());
        let slot = &mut self.slots[slot];
        match &mut slot.waker {
            Some(known) => known.clone_from(waker),
            None => slot.waker = Some(waker.clone()),
        }
        slot.is_polled = closed || slot.is_cancelled;
        slot.is_polled
    }

    fn reach(&mut self, batch: &Begun, phase: u8) {
        batch.phase.reach(phase);
        self.lanes.retain(|(of, _)| of.key != batch.key);
    }

    /// Ends a call, with this outcome for messages without a result. Rests of lanes continue before other lanes.
    fn end(&mut self, Running { of, what, .. }: Running, outcome: Outcome, ran: Option<Ran>) {
        match what {
            What::One(at) => {
                self.worked.push(Worked { key: MessageKey { batch: of.key, at }, outcome, ran });
            }
            What::Chunk(chunk) => {
                let (worked, rests) = chunk.results().end(&outcome, ran);
                self.worked.extend(worked);
                if !rests.is_empty() && !self.is_closed && of.phase.is_open() {
                    self.lanes.push_front((of, rests.into()));
                }
            }
        }
    }

    /// Ends a call from outside.
    fn cut_off(&mut self, running: Running, outcome: Outcome) {
        let ran = ran(running.since, Instant::now(), running.of.began);
        self.end(running, outcome, Some(ran));
    }
}

#[cfg(test)]
mod tests;
