//! Calls of a bulk handler on the clock that is a number. Chunks and their outcomes are real.

use std::collections::VecDeque;
use std::ops::Range;

use super::scenario::Says;
use super::work::{Course, ReadyLanes, Running, What, outcome};
use super::{Duration, ENDED_AFTER_THE_DEADLINE, HALVED, Relaxed, STUCK, Simulation, calls};
use crate::Failure;
use crate::engine::{Outcome, Ran, Worked};
use crate::work::{Chunk as Results, Chunks, cut};

/// A chunk, and the call under way.
pub(super) struct Chunk {
    results: Results,
    /// The places of its messages in the order of the batch.
    places: Vec<usize>,
    again: Vec<Range<usize>>,
    number: u32,
    began: Duration,
    /// What the handler will rule on which message, and when.
    script: VecDeque<(Duration, usize, usize, Says)>,
    /// What the function will say, unless it is canceled first.
    says: Option<Says>,
}

impl Simulation<'_> {
    /// Starts a chunk, unless none of its messages can be decoded.
    pub(super) fn start_chunk(
        &mut self,
        course: &mut Course<'_>,
        lanes: &mut ReadyLanes,
        bulk: super::scenario::Bulk,
    ) -> Option<Running> {
        let messages = bulk.chunk.try_into().unwrap();
        let limits = Chunks { messages, halves: bulk.halves, ..Chunks::default() };
        let results = Results::new(course.batch, cut(lanes, limits, |_| 0));
        let places: Vec<_> = results.places().collect();
        let again = std::iter::once(0..places.len()).collect();
        let (number, began, script) = (0, self.now, VecDeque::new());
        let chunk = Chunk { results, places, again, number, began, script, says: None };
        self.next_call(course, lanes, chunk, Duration::ZERO)
    }

    fn next_call(
        &mut self,
        course: &mut Course<'_>,
        lanes: &mut ReadyLanes,
        mut chunk: Chunk,
        took: Duration,
    ) -> Option<Running> {
        while let Some(items) = chunk.again.pop() {
            if self.now + took >= self.until {
                break;
            }
            if chunk.results.begin(&items).is_empty() {
                continue;
            }
            if let Some(running) = self.call_handler(course, &mut chunk) {
                return Some(Running { ends: running, what: What::Chunk(chunk) });
            }
            chunk.results.end_call(Ok(Vec::new()), None, false);
        }
        self.finish(course, lanes, &mut chunk, &Outcome::NotStarted);
        None
    }

    /// Calls the handler if there is anything for it, and says when it ends.
    fn call_handler(&mut self, course: &Course<'_>, chunk: &mut Chunk) -> Option<Duration> {
        let scenario = self.scenario;
        let record = |item: usize| course.record(chunk.places[item]);
        let number = |item| self.history.number(record(item).id());
        let mut next = 0;
        for item in chunk.results.open() {
            if scenario.messages[number(item)].malformed && item >= next {
                let outcome = Outcome::Failed(Failure::malformed("not JSON").reduce(None));
                next = chunk.results.unread(item, outcome);
            }
        }
        let items: Vec<_> = chunk
            .results
            .open()
            .into_iter()
            .map(|item| (item, number(item), record(item).attempt()))
            .collect();
        if items.is_empty() {
            return None;
        }
        self.calls += 1;
        let limit = scenario.time_limit.unwrap_or(Duration::MAX);
        let mut ends = Duration::ZERO;
        let (mut script, mut says) = (VecDeque::new(), Some(Says::Ok));
        for &(item, message, attempt) in &items {
            let turn = scenario.messages[message].turn(attempt);
            ends += turn.takes;
            match turn.says {
                Says::Hang => says = None,
                Says::Panic => says = Some(Says::Panic),
                ruled if turn.rules => {
                    script.push_back((self.now + ends, item, message, ruled));
                    continue;
                }
                whole if says == Some(Says::Ok) => {
                    says = Some(whole);
                    continue;
                }
                _ => continue,
            }
            break;
        }
        says = says.filter(|_| ends <= limit);
        let ends = if says.is_some() { ends } else { limit };
        script.retain(|(at, ..)| at.saturating_sub(self.now) <= limit);
        let taken: Vec<_> = items.iter().map(|&(_, message, attempt)| (message, attempt)).collect();
        let (call, now) = (self.calls, self.now);
        calls::begin(&mut self.current().runs, scenario, call, &taken);
        (chunk.number, chunk.began) = (call, now);
        (chunk.script, chunk.says) = (script, says);
        Some(now.saturating_add(ends))
    }

    /// The handler rules on what it has reached by now.
    fn rule(&mut self, chunk: &mut Chunk) {
        while let Some((at, item, message, says)) = chunk.script.pop_front_if(|(at, ..)| *at <= self.now) {
            calls::rule(&mut self.current().runs, message, says, at);
            chunk.results.rule(chunk.results.call(), item, outcome(says));
        }
    }

    /// A call ends, or its time does; another may be next.
    pub(super) fn end_call(
        &mut self,
        course: &mut Course<'_>,
        lanes: &mut ReadyLanes,
        (ends, mut chunk): (Duration, Chunk),
    ) -> Option<Running> {
        self.rule(&mut chunk);
        let (scenario, now) = (self.scenario, self.now);
        calls::end(&mut self.current().runs, scenario, chunk.number, chunk.says, ends.min(now));
        let open = chunk.results.open();
        let ended = match chunk.says {
            None => Err(Outcome::TimedOut),
            Some(Says::Panic) => Err(Outcome::panicked("boom")),
            Some(says) => Ok(open.into_iter().map(|item| (item, outcome(says))).collect()),
        };
        let took = now - chunk.began;
        let ran = Ran { took, ended: now - self.current().began, is_shared: false };
        let halves = scenario.bulk.is_some_and(|bulk| bulk.halves);
        if let Some(failed) = chunk.results.end_call(ended, Some(ran), halves) {
            HALVED.fetch_add(1, Relaxed);
            let middle = usize::midpoint(failed.start, failed.end);
            chunk.again.extend([middle..failed.end, failed.start..middle]);
        }
        self.next_call(course, lanes, chunk, took)
    }

    /// Time is up: most calls are canceled, some end just then, and some hold on to their threads.
    pub(super) fn cut_off_call(
        &mut self,
        course: &mut Course<'_>,
        stuck: &mut Vec<Worked>,
        (ends, mut chunk): (Duration, Chunk),
    ) {
        let mut lanes = VecDeque::new();
        self.rule(&mut chunk);
        match self.rng.u8(..20) {
            0 if chunk.says.is_some() => {
                ENDED_AFTER_THE_DEADLINE.fetch_add(1, Relaxed);
                chunk.script.iter_mut().for_each(|(at, ..)| *at = self.now);
                self.until = Duration::ZERO;
                let next = self.end_call(course, &mut lanes, (ends, chunk));
                assert!(next.is_none(), "no half is started any more");
            }
            chance => {
                let (scenario, now) = (self.scenario, self.now);
                calls::end(&mut self.current().runs, scenario, chunk.number, None, now);
                if chance == 1 {
                    STUCK.fetch_add(1, Relaxed);
                    self.current().disturbed = true;
                    stuck.extend(chunk.results.end(&Outcome::Stuck, None).0);
                } else {
                    self.finish(course, &mut lanes, &mut chunk, &Outcome::TimedOut);
                }
            }
        }
    }

    fn finish(&self, course: &mut Course<'_>, lanes: &mut ReadyLanes, chunk: &mut Chunk, whole: &Outcome) {
        let (worked, rests) = chunk.results.end(whole, None);
        course.note(worked, self.now);
        rests.into_iter().rev().for_each(|rest| lanes.push_front(rest));
    }
}
