//! One invocation, on a clock that is a number: handlers that take so long, and calls that take so long, side by side.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::bulk::Chunk;
use super::history::Run;
use super::scenario::Says;
use super::{
    ENDED_AFTER_THE_DEADLINE, FOR_THE_RESPONSE, KILLED_BEHIND_A_LETTER, LOST_WHILE_OTHERS_RAN, Relaxed,
    STUCK, Simulation,
};
use crate::engine::keys::{BatchKey, MessageKey};
use crate::engine::{Call, Command, Engine, Event, Kind, Message, Note, Outcome, Ran, Settled, Worked};
use crate::record::Record;
use crate::settings::Settings;
use crate::{Failure, Invocation};

pub(super) type ReadyLanes = VecDeque<Range<usize>>;

/// A batch and the engine that follows it.
pub(super) struct Course<'r> {
    pub(super) engine: Engine<'r, &'r Record<'r>>,
    pub(super) invocation: &'r Invocation,
    pub(super) batch: BatchKey,
    pub(super) order: Arc<[usize]>,
    pub(super) records: &'r [Record<'r>],
    /// By the simulation's clock.
    pub(super) began: Duration,
}

impl<'r> Course<'r> {
    pub(super) fn new(
        engine: Engine<'r, &'r Record<'r>>,
        invocation: &'r Invocation,
        records: &'r [Record<'r>],
        began: Duration,
    ) -> Self {
        Self { engine, invocation, batch: BatchKey::default(), order: Arc::new([]), records, began }
    }

    pub(super) fn record(&self, at: usize) -> &'r Record<'r> {
        &self.records[self.order[at]]
    }

    pub(super) fn worked(&self, at: usize, outcome: Outcome, ran: Option<Ran>) -> Worked {
        Worked { key: MessageKey { batch: self.batch, at }, outcome, ran }
    }

    pub(super) fn note(&mut self, worked: Vec<Worked>, now: Duration) {
        self.on(Event::Ended(worked), now);
    }

    fn on(&mut self, event: Event<&'r Record<'r>>, now: Duration) {
        self.engine.on(event, now - self.began);
    }
}

/// A handler at work.
pub(super) struct Running {
    pub(super) ends: Duration,
    pub(super) what: What,
}

pub(super) enum What {
    /// On the first message of what is left of a lane.
    One {
        run: usize,
        says: Option<Says>,
        rest: Range<usize>,
    },
    Chunk(Chunk),
}

/// A call under way, and for which of its messages it will be confirmed.
struct UnderWay {
    answered: Duration,
    call: Call,
    confirmed: Vec<MessageKey>,
}

impl Simulation<'_> {
    /// As in the flow, but for the waiting. What happened to the messages, if the process is alive at the end.
    pub(super) fn follow(&mut self, course: &mut Course<'_>) -> Option<Vec<Settled>> {
        let began = self.now;
        let left = self.scenario.left;
        self.until = began + left - Settings::default().reserve_of(left);
        let mut lanes = VecDeque::new();
        let (mut running, mut calls): (Vec<Running>, Vec<UnderWay>) = (Vec::new(), Vec::new());
        let mut stuck = Vec::new();
        let mut closed = false;
        loop {
            while let Some(command) = course.engine.next(self.now - began) {
                match command {
                    Command::Begin { batch, order, .. } => (course.batch, course.order) = (batch, order),
                    Command::Run { lanes: more, .. } => lanes.extend(more),
                    Command::Stop(_) => {
                        (closed, lanes) = (true, VecDeque::new());
                    }
                    Command::Cancel(_) => {
                        (closed, lanes) = (true, VecDeque::new());
                        for Running { ends, what } in running.drain(..) {
                            match what {
                                What::One { run, says, rest } => {
                                    self.cut_off(course, &mut stuck, (ends, run, says, rest));
                                }
                                What::Chunk(chunk) => self.cut_off_call(course, &mut stuck, (ends, chunk)),
                            }
                        }
                    }
                    Command::GiveUp(batch) => {
                        let worked = std::mem::take(&mut stuck);
                        course.on(Event::GivenUp { batch, worked }, self.now);
                    }
                    Command::Call(call) => {
                        let call = self.call(course, call, began + left - FOR_THE_RESPONSE);
                        let is_lost = call.confirmed.len() < call.call.messages.len();
                        LOST_WHILE_OTHERS_RAN.fetch_add(usize::from(is_lost && !running.is_empty()), Relaxed);
                        calls.push(call);
                    }
                    Command::Report { settled, .. } => return Some(settled),
                    Command::EndProcess(_) | Command::Note(Note::AttributeIgnored { .. }) => {}
                    other => unreachable!("{other:?} is for a worker"),
                }
            }
            if !closed
                && self.now < self.until
                && running.len() < self.scenario.concurrency
                && !lanes.is_empty()
            {
                running.extend(match (self.scenario.bulk, lanes.pop_front()) {
                    (_, None) => None,
                    (None, Some(lane)) => self.start(course, lane),
                    (Some(bulk), Some(lane)) => {
                        lanes.push_front(lane);
                        self.start_chunk(course, &mut lanes, bulk)
                    }
                });
                continue;
            }
            if closed && running.is_empty() && stuck.is_empty() {
                course.on(Event::Idle(course.batch), self.now);
                closed = false;
                self.until = Duration::ZERO;
                continue;
            }
            let is_behind_a_letter = calls.iter().any(|it| it.call.kind == Kind::Letters);
            if self.entries_left == Some(0) {
                KILLED_BEHIND_A_LETTER.fetch_add(usize::from(is_behind_a_letter), Relaxed);
                return None;
            }
            let due = course.engine.wake_at().map(|due| began + due);
            let ends = running.iter().map(|it| it.ends).chain(calls.iter().map(|it| it.answered));
            let next = ends.chain(due).min().expect("something is to come");
            if self.dies_at.is_some_and(|at| at <= next) {
                KILLED_BEHIND_A_LETTER.fetch_add(usize::from(is_behind_a_letter), Relaxed);
                return None;
            }
            self.now = self.now.max(next);
            while let Some(at) = running.iter().position(|it| it.ends <= self.now) {
                let Running { ends, what } = running.remove(at);
                match what {
                    What::One { run, says, rest } => lanes.extend(self.end(course, ends, run, says, rest)),
                    What::Chunk(chunk) => {
                        running.extend(self.end_call(course, &mut lanes, (ends, chunk)));
                    }
                }
            }
            while let Some(at) = calls.iter().position(|it| it.answered <= self.now) {
                let UnderWay { call, confirmed, .. } = calls.remove(at);
                let refused = Vec::new();
                course.on(Event::Answered { call, confirmed, refused, took: Duration::ZERO }, self.now);
            }
        }
    }

    /// Starts a message, unless it cannot be decoded.
    fn start(&mut self, course: &mut Course<'_>, rest: Range<usize>) -> Option<Running> {
        let (scenario, at) = (self.scenario, rest.start);
        let record = course.record(at);
        let (message, attempt) = (self.history.number(record.id()), record.attempt());
        if scenario.messages[message].malformed {
            let outcome = Outcome::Failed(Failure::malformed("not JSON").reduce(None));
            course.note(vec![course.worked(at, outcome, None)], self.now);
            return None;
        }
        self.current().runs.push(Run::alone(message, attempt));
        let run = self.current().runs.len() - 1;
        let turn = scenario.messages[message].turn(attempt);
        let limit = scenario.time_limit.unwrap_or(Duration::MAX);
        let in_time = turn.says != Says::Hang && turn.takes <= limit;
        let ends = self.now.saturating_add(if in_time { turn.takes } else { limit });
        Some(Running { ends, what: What::One { run, says: in_time.then_some(turn.says), rest } })
    }

    /// A handler ends, or its time does; what is left of its lane may be next.
    fn end(
        &mut self,
        course: &mut Course<'_>,
        ends: Duration,
        run: usize,
        says: Option<Says>,
        rest: Range<usize>,
    ) -> Option<Range<usize>> {
        let now = self.now;
        let invocation = self.current();
        let ran = Ran { took: Duration::ZERO, ended: now - invocation.began, is_shared: false };
        (invocation.runs[run].said, invocation.runs[run].ended) = (says, ends.min(now));
        let outcome = says.map_or(Outcome::TimedOut, outcome);
        let goes_on = outcome.lets_the_lane_go_on();
        course.note(vec![course.worked(rest.start, outcome, Some(ran))], now);
        Some(rest.start + 1..rest.end).filter(|rest| goes_on && !rest.is_empty())
    }

    /// Time is up: most handlers are cancelled, some end just then, and some hold on to their threads.
    fn cut_off(
        &mut self,
        course: &mut Course<'_>,
        stuck: &mut Vec<Worked>,
        (ends, run, says, rest): (Duration, usize, Option<Says>, Range<usize>),
    ) {
        let at = rest.start;
        match self.rng.u8(..20) {
            0 if says.is_some() => {
                ENDED_AFTER_THE_DEADLINE.fetch_add(1, Relaxed);
                self.end(course, ends, run, says, rest);
            }
            1 => {
                STUCK.fetch_add(1, Relaxed);
                self.current().disturbed = true;
                stuck.push(course.worked(at, Outcome::Stuck, None));
            }
            _ => course.note(vec![course.worked(at, Outcome::TimedOut, None)], self.now),
        }
    }

    fn call(&mut self, course: &Course<'_>, call: Call, until: Duration) -> UnderWay {
        let mut confirmed = Vec::new();
        for &(key, after) in &call.messages {
            let Message { facts: record, settled, .. } = course.engine.message(key).unwrap();
            let is_confirmed = match call.kind {
                Kind::Letters => {
                    let failed_at = self.epoch + self.now;
                    let letter = crate::letter::attributes(record, settled, course.invocation, failed_at);
                    letter.is_some_and(|(attributes, _)| self.write_letter(record, &attributes))
                }
                Kind::Deletes => self.settle(record, None),
                Kind::Changes => self.settle(record, Some(after)),
            };
            confirmed.extend(is_confirmed.then_some(key));
        }
        let longest = if self.rng.u8(..8) == 0 { 4_000 } else { 40 };
        let took = Duration::from_millis(self.rng.u64(1..longest));
        UnderWay { answered: (self.now + took).min(until.max(self.now)), call, confirmed }
    }
}

pub(super) fn outcome(says: Says) -> Outcome {
    match says {
        Says::Panic => Outcome::panicked("boom"),
        says => {
            says.result().map_or_else(|failure| Outcome::Failed(failure.reduce(None)), |()| Outcome::Done)
        }
    }
}
