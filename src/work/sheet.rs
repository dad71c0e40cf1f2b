//! The messages of a chunk while calls of the handler take them: who rules, and what ended how.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Worked;
use super::chunk::Segment;
use super::standing::{Standing, held, open, outcomes};
use crate::Failure;
use crate::bulk::Rule;
use crate::engine::keys::{BatchKey, MessageKey};
use crate::engine::{Outcome, Ran};
use crate::failure::{Fault, Ruling};
use crate::judge::Judge;
use crate::panic::catch;

/// The messages of a chunk, numbered from 0 in the order of their lanes.
pub(crate) struct Sheet {
    batch: BatchKey,
    segments: Vec<Segment>,
    messages: Vec<Message>,
    judge: Judge,
    state: Mutex<State>,
}

struct Message {
    /// In the order of the plan.
    place: usize,
    attempt: u32,
    segment: usize,
}

struct State {
    standings: Vec<Standing>,
    /// The number of the last call that each was in, and when that was.
    ran: Vec<Option<(u32, Ran)>>,
    call: u32,
    /// What the call under way has taken.
    taken: Vec<usize>,
    is_closed: bool,
}

/// How a call ended for the messages that it left open.
pub(crate) enum Ended {
    /// With these outcomes.
    Returned(Vec<(usize, Outcome)>),
    Panicked {
        text: String,
        again: bool,
    },
    Canceled,
}

/// How a chunk ends: outcomes in the order of lanes, successes first, and rests of lanes that may run now.
pub(crate) struct Ending {
    pub(crate) worked: Vec<Worked>,
    pub(crate) rests: Vec<Range<usize>>,
}

/// The rulings of one call: they count until it ends.
struct OfCall {
    sheet: Arc<Sheet>,
    call: u32,
}

impl Sheet {
    pub(crate) fn new(
        batch: BatchKey,
        segments: Vec<Segment>,
        attempt: impl Fn(usize) -> u32,
        judge: Judge,
    ) -> Self {
        let places = segments
            .iter()
            .enumerate()
            .flat_map(|(number, segment)| segment.items.clone().map(move |place| (number, place)));
        let messages: Vec<_> =
            places.map(|(segment, place)| Message { place, attempt: attempt(place), segment }).collect();
        let state = State {
            standings: messages.iter().map(|_| Standing::Open(Outcome::NotStarted)).collect(),
            ran: vec![None; messages.len()],
            call: 0,
            taken: Vec::new(),
            is_closed: false,
        };
        Self { batch, segments, messages, judge, state: Mutex::new(state) }
    }

    /// No user code runs under this lock, so nothing panics.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn len(&self) -> usize {
        self.messages.len()
    }

    pub(crate) fn place(&self, item: usize) -> usize {
        self.messages[item].place
    }

    pub(crate) fn attempt(&self, item: usize) -> u32 {
        self.messages[item].attempt
    }

    /// The number of its lane within the chunk.
    pub(crate) fn lane(&self, item: usize) -> usize {
        self.messages[item].segment
    }

    /// Begins a call that takes what is open of these.
    pub(crate) fn begin(&self, items: Range<usize>) -> Vec<usize> {
        let mut state = self.state();
        if state.is_closed {
            return Vec::new();
        }
        state.call += 1;
        state.taken = self.filter(&state, open).filter(|item| items.contains(item)).collect();
        state.taken.clone()
    }

    /// Where the call under way rules.
    pub(crate) fn rulings(self: &Arc<Self>) -> Arc<dyn Rule> {
        Arc::new(OfCall { sheet: Arc::clone(self), call: self.state().call })
    }

    /// What the call under way leaves open so far.
    pub(crate) fn open(&self) -> Vec<usize> {
        self.taken(&self.state(), open)
    }

    /// A message could not be fetched or decoded; returns its lane if that waits.
    pub(crate) fn unread(&self, item: usize, outcome: Outcome) -> Option<usize> {
        let waits = !outcome.lets_the_lane_go_on();
        let mut state = self.state();
        if !state.is_closed {
            state.standings[item] = Standing::Unread(outcome);
        }
        waits.then_some(self.lane(item))
    }

    /// Ends a call. With `halves`, returns what is to be tried again if the call failed as a whole.
    pub(crate) fn end_call(&self, ended: Ended, ran: Option<Ran>, halves: bool) -> Option<Range<usize>> {
        let mut state = self.state();
        state.note_ran(ran);
        let open = self.taken(&state, open);
        // Any message that the handler still held may be to blame.
        let is_shared = self.taken(&state, held).len() > 1;
        let outcomes = match ended {
            Ended::Returned(outcomes) => outcomes,
            Ended::Panicked { text, again } => {
                let again = again || is_shared;
                let panicked =
                    |item| (item, Outcome::Panicked { text: text.clone(), again, is_early: false });
                open.iter().copied().map(panicked).collect()
            }
            Ended::Canceled => open.iter().map(|&item| (item, Outcome::TimedOut)).collect(),
        };
        let tries_again = halves && is_shared && outcomes.iter().all(|(_, outcome)| may_be_of_one(outcome));
        for (item, outcome) in outcomes.into_iter().filter(|(item, _)| open.binary_search(item).is_ok()) {
            state.standings[item] = match tries_again {
                true => Standing::Open(spared(outcome)),
                false => Standing::Called(outcome),
            };
        }
        state.taken.clear();
        open.first().zip(open.last()).filter(|_| tries_again).map(|(first, last)| *first..last + 1)
    }

    /// Ends the chunk; a call under way ends like this. Later rulings change nothing.
    pub(crate) fn end(&self, whole: &Outcome, ran: Option<Ran>) -> Ending {
        let mut state = self.state();
        state.note_ran(ran);
        let held = self.taken(&state, held);
        let is_shared = held.len() > 1;
        let open = if matches!(whole, Outcome::Stuck) { held } else { self.taken(&state, open) };
        let again = |outcome: &Outcome| match outcome {
            Outcome::Panicked { text, is_early, .. } if is_shared => {
                Outcome::Panicked { text: text.clone(), again: true, is_early: *is_early }
            }
            outcome => outcome.clone(),
        };
        for &item in &open {
            state.standings[item] = Standing::Called(again(whole));
        }
        state.taken.clear();
        state.is_closed = true;
        let closed = || Standing::Open(Outcome::NotStarted);
        let standings: Vec<_> =
            state.standings.iter_mut().map(|standing| std::mem::replace(standing, closed())).collect();
        let (mut standings, mut ran) = (standings.into_iter(), state.ran.iter().copied());
        let (mut ended, mut rests) = (Vec::with_capacity(self.len()), Vec::new());
        for segment in &self.segments {
            let lane: Vec<_> = outcomes(standings.by_ref().take(segment.items.len())).collect();
            if lane.iter().all(Outcome::lets_the_lane_go_on) && !segment.rest.is_empty() {
                rests.push(segment.rest.clone());
            }
            ended.extend(segment.items.clone().zip(lane).zip(ran.by_ref()).map(|((at, outcome), ran)| {
                let has_run = !matches!(outcome, Outcome::NotStarted);
                let key = MessageKey { batch: self.batch, at };
                (Worked { key, outcome, ran: None }, ran.filter(|_| has_run))
            }));
        }
        Ending { worked: with_calls(ended), rests }
    }

    fn filter<'a, I>(
        &self,
        state: &'a State,
        which: fn(std::slice::Iter<'a, Standing>) -> I,
    ) -> impl Iterator<Item = usize>
    where
        I: Iterator<Item = bool>,
    {
        let mut start = 0;
        let lanes = self.segments.iter().flat_map(move |segment| {
            let lane = start..start + segment.items.len();
            start = lane.end;
            which(state.standings[lane].iter())
        });
        lanes.enumerate().filter(|(_, is)| *is).map(|(item, _)| item)
    }

    fn taken<'a, I>(&self, state: &'a State, which: fn(std::slice::Iter<'a, Standing>) -> I) -> Vec<usize>
    where
        I: Iterator<Item = bool>,
    {
        self.filter(state, which).filter(|item| state.has_taken(*item)).collect()
    }
}

impl State {
    fn has_taken(&self, item: usize) -> bool {
        self.taken.binary_search(&item).is_ok()
    }

    fn note_ran(&mut self, ran: Option<Ran>) {
        let Self { ran: all, taken, call, standings, .. } = self;
        for &item in taken.iter().filter(|&&item| !matches!(standings[item], Standing::Unread(_))) {
            all[item] = ran.map(|ran| (*call, ran));
        }
    }
}

impl Rule for OfCall {
    fn rule(&self, item: usize, ruling: Result<(), Failure>) {
        let judge = |failure| Outcome::Failed(self.sheet.judge.failed(failure, self.sheet.attempt(item)));
        // A ruling whose error panics is a failure too, also in a task that nobody waits for.
        let judged = |failure| catch(|| judge(failure)).unwrap_or_else(Outcome::panicked);
        let outcome = ruling.map_or_else(judged, |()| Outcome::Done);
        let mut state = self.sheet.state();
        if state.call == self.call && state.has_taken(item) {
            state.standings[item] = Standing::Ruled(outcome);
        }
    }
}

/// The outcome of a message for which there is no time to be tried again: that of several is no reason to dead-letter one.
fn spared(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Failed(fault) => Outcome::Failed(Fault { ruling: Ruling::Retry, ..fault }),
        outcome => outcome,
    }
}

/// Whether one message may be to blame for how a call ended for several.
fn may_be_of_one(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Failed(fault) => match fault.ruling {
            Ruling::Retry | Ruling::Reject | Ruling::Malformed => true,
            Ruling::RetryAfter(_) | Ruling::Defer(_) | Ruling::Discard => false,
        },
        Outcome::Panicked { .. } => true,
        Outcome::Done
        | Outcome::TimedOut
        | Outcome::Stuck
        | Outcome::Interrupted
        | Outcome::LeaseLost
        | Outcome::NotStarted => false,
    }
}

/// One message stands for each call: a panicked one if there is any. Successes come first, since they were ruled on before
/// a panic.
fn with_calls(mut ended: Vec<(Worked, Option<(u32, Ran)>)>) -> Vec<Worked> {
    ended.sort_by_key(|(worked, _)| !worked.outcome.lets_the_lane_go_on());
    let is_panic = |worked: &Worked| matches!(worked.outcome, Outcome::Panicked { .. });
    let mut known = HashSet::new();
    for panics in [true, false] {
        for (worked, ran) in &mut ended {
            if let Some((call, ran)) = *ran
                && is_panic(worked) == panics
            {
                let is_shared = !known.insert(call);
                worked.ran = Some(Ran { is_shared, ..ran });
            }
        }
    }
    ended.into_iter().map(|(worked, _)| worked).collect()
}
