//! What handlers do, on a clock that is a number.

use std::ops::Range;
use std::time::Duration;

use super::Simulation;
use super::history::Run;
use super::scenario::Says;
use crate::Failure;
use crate::batch::work::Worked;
use crate::batch::{Outcome, Ran};
use crate::record::Record;
use crate::settings::Settings;

impl Simulation<'_> {
    /// Lanes and a scenario to outcomes: so many at a time, until time is up.
    pub(super) fn work(
        &mut self,
        records: &[Record<'_>],
        order: &[usize],
        lanes: &[Range<usize>],
        at_least_one: bool,
    ) -> Vec<Worked> {
        let scenario = self.scenario;
        let began = self.current().began;
        let until = began + scenario.left - Settings::default().reserve_of(scenario.left);
        let (mut worked, mut running) = (Vec::new(), Vec::new());
        let mut waiting = lanes.iter().cloned();
        let (mut started, mut rest) = (!at_least_one, None);
        loop {
            while running.len() < scenario.concurrency && (!started || self.now < until) {
                let Some(lane) = rest.take().or_else(|| waiting.next()) else { break };
                started = true;
                let index = order[lane.start];
                let message = self.history.number(records[index].id());
                if scenario.messages[message].malformed {
                    worked.push((index, Outcome::Failed(Failure::malformed("not JSON").reduce(None)), None));
                    continue;
                }
                let attempt = records[index].attempt();
                self.current().runs.push(Run { message, attempt, said: None, ended: Duration::ZERO });
                let run = self.current().runs.len() - 1;
                let turn = scenario.messages[message].turn(attempt);
                let limit = scenario.time_limit.unwrap_or(Duration::MAX);
                let in_time = turn.says != Says::Hang && turn.takes <= limit;
                let ends = self.now.saturating_add(if in_time { turn.takes } else { limit });
                running.push((ends, run, in_time.then_some(turn.says), lane));
            }
            let first = (0..running.len()).min_by_key(|&at| running[at].0);
            let Some(first) = first.filter(|&at| running[at].0 <= until.max(self.now)) else { break };
            let (ends, run, says, lane) = running.remove(first);
            self.now = ends;
            let run = &mut self.current().runs[run];
            (run.said, run.ended) = (says, ends);
            let outcome = says.map_or(Outcome::TimedOut, outcome);
            let goes_on = outcome.lets_the_lane_go_on();
            let ran = Ran { took: Duration::ZERO, ended: ends - began };
            worked.push((order[lane.start], outcome, Some(ran)));
            rest = Some(lane.start + 1..lane.end).filter(|rest| goes_on && !rest.is_empty());
        }
        if !running.is_empty() {
            self.now = self.now.max(until);
        }
        worked.extend(running.into_iter().map(|(.., lane)| (order[lane.start], Outcome::TimedOut, None)));
        worked
    }
}

fn outcome(says: Says) -> Outcome {
    let failure = match says {
        Says::Ok | Says::Hang => return Outcome::Done,
        Says::Panic => return Outcome::Panicked("boom".to_owned()),
        Says::Error => Failure::from("down"),
        Says::RetryAfter(seconds) => Failure::retry_after(Duration::from_secs(seconds), "busy"),
        Says::Reject => Failure::reject("refused"),
        Says::Defer(seconds) => Failure::defer(Duration::from_secs(seconds)),
        Says::Discard => Failure::discard("late"),
    };
    Outcome::Failed(failure.reduce(None))
}
