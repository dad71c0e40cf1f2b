//! The lanes of a batch that are ready to run, the slots of its runners, and the outcomes so far.

mod chunks;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use tokio::sync::Notify;
use tokio::time::{Duration, Instant};

use super::Worked;
use super::slot::{Running, Slot, What};
use crate::batch::{Outcome, Ran};

pub(crate) struct ReadyQueue {
    state: Mutex<State>,
    notify: Notify,
    concurrency: usize,
    until: Instant,
    began: Instant,
}

struct State {
    lanes: VecDeque<Range<usize>>,
    phase: Phase,
    slots: Vec<Slot>,
    free: Vec<usize>,
    runners: usize,
    worked: Vec<Worked>,
    /// Since the last call of `take`, a message has failed or the last runner has ended.
    changed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    /// No message is started any more.
    Stopped,
    /// And those that run are cancelled.
    Closed,
}

impl ReadyQueue {
    pub(super) fn new(concurrency: usize, until: Instant, began: Instant) -> Self {
        let state = State {
            lanes: VecDeque::new(),
            phase: Phase::Open,
            slots: Vec::new(),
            free: Vec::new(),
            runners: 0,
            worked: Vec::new(),
            changed: false,
        };
        Self { state: Mutex::new(state), notify: Notify::new(), concurrency, until, began }
    }

    /// No user code runs under this lock, so nothing panics.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, lanes: Vec<Range<usize>>) {
        let mut state = self.state();
        if state.lanes.is_empty() {
            state.worked.reserve(lanes.len());
            state.lanes = lanes.into();
        } else {
            state.lanes.extend(lanes);
        }
    }

    /// Waits until a message has failed or the last runner has ended.
    pub(super) async fn changed(&self) {
        while !self.has_changed() {
            self.notify.notified().await;
        }
    }

    pub(super) fn has_changed(&self) -> bool {
        self.state().changed
    }

    /// Whether nothing runs, nothing can be started, and all outcomes were taken: what was added a moment ago may have ended.
    pub(crate) fn is_idle(&self) -> bool {
        let state = self.state();
        state.is_idle() && state.worked.is_empty()
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
    pub(super) fn next_lane(&self, now: Instant) -> Option<Range<usize>> {
        let mut state = self.state();
        if state.phase == Phase::Open && now < self.until { state.lanes.pop_front() } else { None }
    }

    /// Starts the first message of the rest of a lane, and says whether there was time for it.
    pub(super) fn begin(&self, slot: usize, rest: Range<usize>, now: Instant) -> bool {
        let mut state = self.state();
        let in_time = state.phase == Phase::Open && now < self.until;
        if in_time {
            let slot = &mut state.slots[slot];
            let running = Running { what: What::One(rest.start), since: now };
            (slot.running, slot.is_polled) = (Some(running), true);
        } else {
            state.lanes.push_back(rest);
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
        let closed = state.phase == Phase::Closed;
        let slot = &mut state.slots[slot];
        match &mut slot.waker {
            Some(known) => known.clone_from(waker),
            None => slot.waker = Some(waker.clone()),
        }
        slot.is_polled = closed || slot.is_cancelled;
        slot.is_polled
    }

    /// The call has ended. Messages of a chunk have outcomes already.
    pub(super) fn finish(&self, slot: usize, outcome: Outcome, ran: Option<Ran>) {
        let mut state = self.state();
        let slot = &mut state.slots[slot];
        (slot.waker, slot.is_cancelled) = (None, false);
        let has_changed = match slot.running.take() {
            None => return,
            Some(Running { what: What::One(at), .. }) => {
                let has_changed = !matches!(outcome, Outcome::Done);
                state.worked.push(Worked { at, outcome, ran });
                has_changed
            }
            Some(chunk) => {
                let known = state.worked.len();
                state.note(chunk.end(outcome, ran));
                state.worked[known..].iter().any(|worked| !matches!(worked.outcome, Outcome::Done))
            }
        };
        self.unlock(state, has_changed);
    }

    /// A runner has ended. If it was dropped while running something, this is the outcome of what is not ruled on.
    pub(super) fn free_slot(&self, slot: usize, dropped: impl FnOnce() -> Outcome) {
        let mut state = self.state();
        let Slot { running, is_given_up, .. } = std::mem::take(&mut state.slots[slot]);
        if let Some(running) = running {
            state.note(running.cut_off(dropped(), self.began));
        }
        state.free.push(slot);
        state.runners -= usize::from(!is_given_up);
        let has_changed = state.runners == 0;
        self.unlock(state, has_changed);
    }

    fn unlock(&self, mut state: MutexGuard<'_, State>, has_changed: bool) {
        if has_changed && !std::mem::replace(&mut state.changed, true) {
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

    /// Starts no more messages.
    pub(crate) fn stop(&self) {
        let mut state = self.state();
        if state.phase == Phase::Open {
            state.phase = Phase::Stopped;
        }
    }

    /// Starts no more messages and cancels those that run.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.phase = Phase::Closed;
        let wakers: Vec<_> = state.slots.iter_mut().filter_map(|slot| slot.waker.take()).collect();
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// The outcomes since the last call, and whether the queue is idle. Both are read under one lock: a runner that fails
    /// and ends in between would go unnoticed.
    pub(crate) fn take(&self) -> (Vec<Worked>, bool) {
        let mut state = self.state();
        state.changed = false;
        (std::mem::take(&mut state.worked), state.is_idle())
    }

    /// Gives up the running messages: those that block their threads, and those that wait for a thread to be cancelled on.
    pub(crate) fn give_up(&self) -> Vec<Worked> {
        let mut state = self.state();
        let State { slots, lanes, runners, .. } = &mut *state;
        let mut given_up = Vec::new();
        for slot in slots {
            if let Some(running) = slot.running.take() {
                slot.is_given_up = true;
                *runners -= 1;
                let outcome = if slot.is_polled { Outcome::Stuck } else { Outcome::TimedOut };
                let (worked, rests) = running.cut_off(outcome, self.began);
                given_up.extend(worked);
                lanes.extend(rests);
            }
        }
        given_up
    }

    /// The lanes, and rests of lanes, that were not started.
    pub(crate) fn not_started(&self) -> Vec<Range<usize>> {
        std::mem::take(&mut self.state().lanes).into()
    }
}

impl State {
    fn is_idle(&self) -> bool {
        match self.phase {
            Phase::Open => self.runners == 0 && self.lanes.is_empty(),
            // A runner that has begun nothing yet will not: it may be waiting for a thread.
            Phase::Stopped | Phase::Closed => self.running().next().is_none(),
        }
    }

    fn wants_runners(&self, concurrency: usize) -> bool {
        self.phase == Phase::Open && self.runners < concurrency && !self.lanes.is_empty()
    }

    /// When what runs was started.
    fn running(&self) -> impl Iterator<Item = Instant> {
        self.slots.iter().filter_map(|slot| slot.running.as_ref().map(|it| it.since))
    }

    /// Rests of lanes go on before other lanes.
    fn note(&mut self, (worked, rests): (Vec<Worked>, Vec<Range<usize>>)) {
        self.worked.extend(worked);
        rests.into_iter().rev().for_each(|rest| self.lanes.push_front(rest));
    }
}

#[cfg(test)]
mod tests;
