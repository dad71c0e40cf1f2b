//! What is still to be done of a batch, who is at it, and what came of the rest.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use tokio::sync::Notify;
use tokio::time::{Duration, Instant};

use super::{Worked, ran};
use crate::batch::{Outcome, Ran};

pub(super) struct Board {
    state: Mutex<State>,
    changed: Notify,
    concurrency: usize,
    until: Instant,
}

struct State {
    lanes: VecDeque<Range<usize>>,
    phase: Phase,
    seats: Vec<Seat>,
    free: Vec<usize>,
    runners: usize,
    worked: Vec<Worked>,
    /// Something failed, or nothing runs, and nobody has taken it in yet.
    news: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    /// What runs may end.
    Stopped,
    Closed,
}

/// A runner's place.
#[derive(Default)]
struct Seat {
    /// The message that it is at, and since when.
    message: Option<(usize, Instant)>,
    /// Whether that has a thread now.
    is_polled: bool,
    /// Wakes it while the message waits.
    waker: Option<Waker>,
    /// The message has had its time.
    is_cut_off: bool,
    /// It was not waited for.
    is_given_up: bool,
}

impl Board {
    pub(super) fn new(concurrency: usize, until: Instant) -> Self {
        let state = State {
            lanes: VecDeque::new(),
            phase: Phase::Open,
            seats: Vec::new(),
            free: Vec::new(),
            runners: 0,
            worked: Vec::new(),
            news: false,
        };
        Self { state: Mutex::new(state), changed: Notify::new(), concurrency, until }
    }

    /// Nothing of the user's runs under this lock, so nothing panics.
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

    /// Until there is news.
    pub(super) async fn news(&self) {
        while !self.has_news() {
            self.changed.notified().await;
        }
    }

    pub(super) fn has_news(&self) -> bool {
        self.state().news
    }

    /// Whether nothing runs or could.
    pub(super) fn is_idle(&self) -> bool {
        self.state().is_idle()
    }

    /// A seat for one more runner, if one is wanted.
    pub(super) fn seat(&self) -> Option<usize> {
        let mut state = self.state();
        state.wants_runners(self.concurrency).then(|| {
            state.runners += 1;
            state.free.pop().unwrap_or_else(|| {
                state.seats.push(Seat::default());
                state.seats.len() - 1
            })
        })
    }

    /// When to see whether one more runner is wanted, and whether it is that time.
    pub(super) fn slow_at(&self, patience: Duration, now: Instant) -> Option<(Instant, bool)> {
        let state = self.state();
        if !state.wants_runners(self.concurrency) {
            return None;
        }
        if state.runners == 0 {
            // The last one was leaving when a lane was added.
            return Some((now, true));
        }
        // One that has not begun waits for a thread, and so would the next.
        let all_have_begun = state.messages().count() == state.runners;
        let latest = state.messages().map(|(_, since)| since).max().filter(|_| all_have_begun);
        let at = latest.map_or(now + 10 * patience, |latest| latest + patience);
        Some((at, at <= now))
    }

    /// When the first of the messages that run was started, or the next one may be.
    pub(super) fn longest_at(&self, now: Instant) -> Option<Instant> {
        let state = self.state();
        let running = state.seats.iter().filter(|seat| !seat.is_cut_off);
        let longest = running.filter_map(|seat| seat.message.map(|(_, since)| since)).min();
        longest.or_else(|| (state.runners > 0).then_some(now))
    }

    /// The next lane, while there is time for it.
    pub(super) fn next_lane(&self, now: Instant) -> Option<Range<usize>> {
        let mut state = self.state();
        if state.phase == Phase::Open && now < self.until { state.lanes.pop_front() } else { None }
    }

    /// Whether there is time for the first message of what is left of a lane; if so it counts as begun.
    pub(super) fn begin(&self, seat: usize, rest: Range<usize>, now: Instant) -> bool {
        let mut state = self.state();
        let in_time = state.phase == Phase::Open && now < self.until;
        if in_time {
            let seat = &mut state.seats[seat];
            (seat.message, seat.is_polled) = (Some((rest.start, now)), true);
        } else {
            state.lanes.push_back(rest);
        }
        in_time
    }

    /// The message is polled again; says whether anybody still waits for it.
    pub(super) fn resume(&self, seat: usize) -> bool {
        let seat = &mut self.state().seats[seat];
        seat.is_polled = true;
        seat.message.is_some()
    }

    /// The message has to wait; says whether it is cut off instead.
    pub(super) fn wait(&self, seat: usize, waker: &Waker) -> bool {
        let mut state = self.state();
        let closed = state.phase == Phase::Closed;
        let seat = &mut state.seats[seat];
        match &mut seat.waker {
            Some(known) => known.clone_from(waker),
            None => seat.waker = Some(waker.clone()),
        }
        seat.is_polled = closed || seat.is_cut_off;
        seat.is_polled
    }

    pub(super) fn finish(&self, seat: usize, outcome: Outcome, ran: Option<Ran>) {
        let mut state = self.state();
        let seat = &mut state.seats[seat];
        (seat.waker, seat.is_cut_off) = (None, false);
        let Some((at, _)) = seat.message.take() else { return };
        let is_news = !matches!(outcome, Outcome::Done);
        state.worked.push(Worked { at, outcome, ran });
        self.tell(state, is_news);
    }

    /// A runner is gone; what it was at when it was dropped has this outcome.
    pub(super) fn leave(&self, seat: usize, dropped: impl FnOnce() -> Outcome, began: Instant) {
        let mut state = self.state();
        let Seat { message, is_given_up, .. } = std::mem::take(&mut state.seats[seat]);
        if let Some(message) = message {
            state.worked.push(cut(message, dropped(), began));
        }
        state.free.push(seat);
        state.runners -= usize::from(!is_given_up);
        let is_news = state.runners == 0;
        self.tell(state, is_news);
    }

    fn tell(&self, mut state: MutexGuard<'_, State>, is_news: bool) {
        if is_news && !std::mem::replace(&mut state.news, true) {
            drop(state);
            self.changed.notify_one();
        }
    }

    /// Cuts off the messages that run since then or longer.
    pub(super) fn cut_off(&self, since: Option<Instant>) {
        let mut state = self.state();
        let over = |message: Option<(usize, Instant)>| matches!((message, since), (Some((_, began)), Some(since)) if began <= since);
        let seats = state.seats.iter_mut().filter(|seat| over(seat.message) && !seat.is_cut_off);
        let wakers: Vec<_> = seats.filter_map(Seat::cut_off).collect();
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    pub(super) fn stop(&self) {
        let mut state = self.state();
        if state.phase == Phase::Open {
            state.phase = Phase::Stopped;
        }
    }

    pub(super) fn close(&self) {
        let mut state = self.state();
        state.phase = Phase::Closed;
        let wakers: Vec<_> = state.seats.iter_mut().filter_map(|seat| seat.waker.take()).collect();
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// All that came since this was last called, and whether the board is idle: said in one breath, since a runner that
    /// fails and leaves in between would not be heard.
    pub(super) fn take(&self) -> (Vec<Worked>, bool) {
        let mut state = self.state();
        state.news = false;
        (std::mem::take(&mut state.worked), state.is_idle())
    }

    /// The messages that still run: some hold on to their threads, others wait for one to be cancelled on.
    pub(super) fn give_up(&self, began: Instant) -> Vec<Worked> {
        let mut state = self.state();
        let mut given_up = Vec::new();
        for seat in &mut state.seats {
            if let Some(message) = seat.message.take() {
                seat.is_given_up = true;
                let outcome = if seat.is_polled { Outcome::Stuck } else { Outcome::TimedOut };
                given_up.push(cut(message, outcome, began));
            }
        }
        state.runners -= given_up.len();
        given_up
    }

    /// What nobody has begun, and nobody will.
    pub(super) fn left(&self) -> Vec<Range<usize>> {
        std::mem::take(&mut self.state().lanes).into()
    }
}

impl State {
    fn is_idle(&self) -> bool {
        self.runners == 0 && (self.lanes.is_empty() || self.phase != Phase::Open)
    }

    fn wants_runners(&self, concurrency: usize) -> bool {
        self.phase == Phase::Open && self.runners < concurrency && !self.lanes.is_empty()
    }

    fn messages(&self) -> impl Iterator<Item = (usize, Instant)> {
        self.seats.iter().filter_map(|seat| seat.message)
    }
}

impl Seat {
    fn cut_off(&mut self) -> Option<Waker> {
        self.is_cut_off = true;
        self.waker.take()
    }
}

fn cut((at, since): (usize, Instant), outcome: Outcome, began: Instant) -> Worked {
    Worked { at, outcome, ran: Some(ran(since, Instant::now(), began)) }
}

#[cfg(test)]
mod tests;
