//! The expected results of a bulk handler's calls, computed independently of redrive.

use std::time::Duration;

use super::history::Run;
use super::scenario::{Says, Scenario};

/// A call takes these messages; such as failed in an earlier call of their chunk are tried again.
pub(crate) fn begin(runs: &mut Vec<Run>, scenario: &Scenario, call: u32, messages: &[(usize, u32)]) {
    let halves = scenario.bulk.is_some_and(|bulk| bulk.halves);
    for &(message, attempt) in messages {
        let known = runs.iter_mut().find(|run| run.message == message);
        match known.filter(|run| halves && !run.is_ruled && !run.said.is_some_and(Says::is_done)) {
            Some(run) => (run.last_call, run.said) = (call, None),
            None => runs.push(Run {
                message,
                attempt,
                said: None,
                ended: Duration::ZERO,
                first_call: call,
                last_call: call,
                is_ruled: false,
            }),
        }
    }
}

/// The handler rules on one message.
pub(crate) fn rule(runs: &mut [Run], message: usize, says: Says, at: Duration) {
    let run = runs.iter_mut().rev().find(|run| run.message == message).expect("its call has begun");
    (run.said, run.ended, run.is_ruled) = (Some(says), at, true);
}

/// A call ends: with what the function says, or without a word.
pub(crate) fn end(runs: &mut Vec<Run>, scenario: &Scenario, call: u32, whole: Option<Says>, at: Duration) {
    let is_open = |run: &Run| run.last_call == call && !run.is_ruled;
    let open = runs.iter().filter(|run| is_open(run)).count();
    let halves = scenario.bulk.is_some_and(|bulk| bulk.halves);
    let whole = whole.map(|says| match says {
        Says::Panic if open > 1 => Says::PanicTogether,
        // What there is no time to try again is retried.
        Says::Reject if halves && open > 1 => Says::Error,
        says => says,
    });
    // An open message behind one that was ruled failed was not started, and neither was one that waited for another try.
    let stopped = |run: &Run, by: &Run| {
        let is_behind = scenario.fifo
            && by.message < run.message
            && scenario.messages[by.message].group == scenario.messages[run.message].group;
        let has_failed =
            if by.is_ruled { !by.said.is_some_and(Says::is_done) } else { !whole.is_some_and(Says::is_done) };
        let waits = !run.is_ruled && !run.said.is_some_and(Says::is_done);
        is_behind && by.last_call == call && has_failed && waits && (by.is_ruled || run.last_call != call)
    };
    let dropped: Vec<_> = runs.iter().map(|run| runs.iter().any(|by| stopped(run, by))).collect();
    for run in runs.iter_mut().filter(|run| is_open(run)) {
        (run.said, run.ended) = (whole, at);
    }
    let mut dropped = dropped.into_iter();
    runs.retain(|_| !dropped.next().unwrap_or_default());
}
