//! One invocation, on a clock that is a number: handlers that take so long, and calls that take so long, side by side.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

use super::super::progress::{Progress, Step};
use super::bulk::Chunk;
use super::history::Run;
use super::scenario::Says;
use super::{
    ENDED_AFTER_THE_DEADLINE, FOR_THE_RESPONSE, GRACE, KILLED_BEHIND_A_LETTER, LOST_WHILE_OTHERS_RAN,
    Relaxed, STUCK, Simulation,
};
use crate::Failure;
use crate::batch::outbox::{Call, Outbox};
use crate::batch::plan::Plan;
use crate::batch::work::Worked;
use crate::batch::{Outcome, Ran};
use crate::settings::Settings;

const NO_TIME: Ran = Ran { took: Duration::ZERO, ended: Duration::ZERO, is_shared: false };

pub(super) type ReadyLanes = VecDeque<Range<usize>>;

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
    confirmed: Vec<usize>,
}

impl UnderWay {
    fn asked(&self) -> usize {
        let (Call::Letters(places) | Call::Deletes(places) | Call::Changes(places)) = &self.call;
        places.len()
    }
}

impl Simulation<'_> {
    /// As in the flow, but for the waiting. Whether the process is alive at the end.
    pub(super) fn follow(&mut self, batch: &mut Progress<'_>, plan: &Plan) -> bool {
        let began = self.now;
        let left = self.scenario.left;
        let until = began + left - Settings::default().reserve_of(left);
        self.until = until;
        let mut outbox = Outbox::default();
        let mut lanes = VecDeque::from(plan.lanes.clone());
        let (mut running, mut calls): (Vec<Running>, Vec<UnderWay>) = (Vec::new(), Vec::new());
        let mut closed = false;
        loop {
            while !closed && self.now < until && running.len() < self.scenario.concurrency {
                running.extend(match (self.scenario.bulk, lanes.pop_front()) {
                    (_, None) => break,
                    (None, Some(lane)) => self.start(batch, plan, lane),
                    (Some(bulk), Some(lane)) => {
                        lanes.push_front(lane);
                        self.start_chunk(batch, plan, &mut lanes, bulk)
                    }
                });
            }
            let mut go_on = Vec::new();
            for step in std::mem::take(&mut batch.steps) {
                match step {
                    Step::Letter { at, lane } => outbox.letter(at, lane, self.now - began),
                    Step::Change(at) => outbox.change(at, self.now - began),
                    Step::Delete(_) => unreachable!("Lambda deletes"),
                    Step::GoOn(rest) => go_on.push(rest),
                }
            }
            if !go_on.is_empty() {
                lanes.extend(go_on);
                continue;
            }
            let quiet = running.is_empty() && (closed || lanes.is_empty());
            while let Some(call) = outbox.next_call(self.now - began, quiet) {
                let call = self.call(batch, call, began + left - FOR_THE_RESPONSE);
                let is_lost = call.confirmed.len() < call.asked();
                LOST_WHILE_OTHERS_RAN.fetch_add(usize::from(is_lost && !running.is_empty()), Relaxed);
                calls.push(call);
            }
            let is_behind_a_letter = calls.iter().any(|it| matches!(it.call, Call::Letters(_)));
            if self.entries_left == Some(0) {
                KILLED_BEHIND_A_LETTER.fetch_add(usize::from(is_behind_a_letter), Relaxed);
                return false;
            }
            if quiet && calls.is_empty() && outbox.is_empty() {
                if closed {
                    return true;
                }
                closed = true;
                batch.close();
                continue;
            }
            let due = outbox.due_at().map(|due| began + due);
            let ends = running.iter().map(|it| it.ends).chain(calls.iter().map(|it| it.answered));
            let next = ends.chain(due).chain((!closed).then_some(until)).min().expect("something is to come");
            if self.dies_at.is_some_and(|at| at <= next) {
                KILLED_BEHIND_A_LETTER.fetch_add(usize::from(is_behind_a_letter), Relaxed);
                return false;
            }
            self.now = self.now.max(next);
            while let Some(at) = running.iter().position(|it| it.ends <= self.now) {
                let Running { ends, what } = running.remove(at);
                match what {
                    What::One { run, says, rest } => lanes.extend(self.end(batch, ends, run, says, rest)),
                    What::Chunk(chunk) => {
                        running.extend(self.end_call(batch, plan, &mut lanes, (ends, chunk)));
                    }
                }
            }
            while let Some(at) = calls.iter().position(|it| it.answered <= self.now) {
                answer(batch, &mut outbox, calls.remove(at));
            }
            if !closed && self.now >= until {
                closed = true;
                batch.close();
                for Running { ends, what } in running.drain(..) {
                    match what {
                        What::One { run, says, rest } => self.cut_off(batch, ends, run, says, rest),
                        What::Chunk(chunk) => self.cut_off_call(batch, plan, (ends, chunk)),
                    }
                }
                lanes.drain(..).for_each(|rest| batch.release(rest));
            }
        }
    }

    /// Starts a message, unless it cannot be decoded.
    fn start(&mut self, batch: &mut Progress<'_>, plan: &Plan, rest: Range<usize>) -> Option<Running> {
        let (scenario, at) = (self.scenario, rest.start);
        let record = &batch.records[plan.order[at]];
        let (message, attempt) = (self.history.number(record.id()), record.attempt());
        if scenario.messages[message].malformed {
            let outcome = Outcome::Failed(Failure::malformed("not JSON").reduce(None));
            batch.note(vec![Worked { at, outcome, ran: None }]);
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
        batch: &mut Progress<'_>,
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
        batch.note(vec![Worked { at: rest.start, outcome, ran: Some(ran) }]);
        Some(rest.start + 1..rest.end).filter(|rest| goes_on && !rest.is_empty())
    }

    /// Time is up: most handlers are cancelled, some end just then, and some hold on to their threads.
    fn cut_off(
        &mut self,
        batch: &mut Progress<'_>,
        ends: Duration,
        run: usize,
        says: Option<Says>,
        rest: Range<usize>,
    ) {
        let at = rest.start;
        match self.rng.u8(..20) {
            0 if says.is_some() => {
                ENDED_AFTER_THE_DEADLINE.fetch_add(1, Relaxed);
                let rest = self.end(batch, ends, run, says, rest);
                rest.into_iter().for_each(|rest| batch.release(rest));
            }
            1 => {
                STUCK.fetch_add(1, Relaxed);
                self.now += GRACE;
                self.current().disturbed = true;
                batch.note(vec![Worked { at, outcome: Outcome::Stuck, ran: None }]);
            }
            _ => batch.note(vec![Worked { at, outcome: Outcome::TimedOut, ran: None }]),
        }
    }

    fn call(&mut self, batch: &Progress<'_>, call: Call, until: Duration) -> UnderWay {
        let mut confirmed = Vec::new();
        let (Call::Letters(places) | Call::Deletes(places) | Call::Changes(places)) = &call;
        for &at in places {
            let is_confirmed = match &call {
                Call::Letters(_) => batch.letter(at).is_some_and(|letter| self.write_letter(&letter)),
                Call::Deletes(_) => unreachable!("Lambda deletes"),
                Call::Changes(_) => batch.change(at).is_some_and(|change| self.change_visibility(&change)),
            };
            confirmed.extend(is_confirmed.then_some(at));
        }
        let longest = if self.rng.u8(..8) == 0 { 4_000 } else { 40 };
        let took = Duration::from_millis(self.rng.u64(1..longest));
        UnderWay { answered: (self.now + took).min(until.max(self.now)), call, confirmed }
    }
}

fn answer(batch: &mut Progress<'_>, outbox: &mut Outbox, it: UnderWay) {
    match it.call {
        Call::Letters(places) => {
            let lanes: Vec<_> = places.iter().map(|&at| batch.lane_of(at)).collect();
            outbox.answered(&lanes);
            places.into_iter().for_each(|at| batch.letter_answered(at, it.confirmed.contains(&at), NO_TIME));
        }
        Call::Deletes(_) => unreachable!("Lambda deletes"),
        Call::Changes(places) => {
            outbox.answered(&[]);
            places.into_iter().for_each(|at| batch.change_answered(at, it.confirmed.contains(&at), NO_TIME));
        }
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
