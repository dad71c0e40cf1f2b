//! How often what the simulation is for has happened.

use std::collections::BTreeMap;

use super::checks::History;
use super::log::{Log, Run};
use crate::simulation::scenario::Says;

/// What all runs together must have seen.
const SEEN: [&str; 24] = [
    "Change: AnswerLost",
    "Change: AnswerLate",
    "Change: HalfFails",
    "Change: Slow",
    "Delete: AnswerLost",
    "Delete: HalfFails",
    "Delete: Hangs",
    "Delete: Slow",
    "Delete: Throttled",
    "Receive: AnswerLost",
    "Receive: AnswerLate",
    "Receive: Slow",
    "Send: AnswerLost",
    "Send: Refused",
    "a FIFO group goes on",
    "a handler is canceled",
    "a handler outlives its first lease",
    "a lease is lost",
    "a letter",
    "a message is done twice",
    "a message is taken away",
    "killed with messages in hand",
    "told to end with messages in hand",
    "an end that was not confirmed",
];

pub(super) type Tally = BTreeMap<String, usize>;

pub(super) fn count(history: &History<'_>, tally: &mut Tally) {
    let (plan, log) = (history.plan, history.log);
    let mut add = |name: &str, times: usize| *tally.entry(name.to_owned()).or_default() += times;
    for call in &log.calls {
        if let Some(fault) = call.fault {
            let fault = format!("{fault:?}");
            let operation =
                call.operation.replace("Message", "").replace("Batch", "").replace("Visibility", "");
            add(&format!("{operation}: {}", fault.split('(').next().unwrap_or_default()), 1);
        }
    }
    let runs = |holds: &dyn Fn(&Run) -> bool| log.runs.iter().filter(|run| holds(run)).count();
    let until = |run: &Run| {
        let handle = log.handle(run.life, run.message, run.began)?;
        Some(log.until(&handle.handle, history.visibility(), run.ended?))
    };
    let took = |run: &Run| run.ended.unwrap_or_default().saturating_sub(run.began);
    add("runs", log.runs.len());
    add("a handler is canceled", runs(&|run| run.said.is_none()));
    add(
        "a handler outlives its first lease",
        runs(&|run| run.said.is_some() && took(run) > history.visibility()),
    );
    add("a lease is lost", runs(&|run| run.said.is_none() && until(run) <= run.ended));
    add("a letter", (0..log.ids.len()).map(|message| history.letters(message).count()).sum());
    add("a message is taken away", log.taken_away.len());
    let is_done = |run: &Run| run.said.is_some_and(Says::is_done);
    let again = |run: &Run| {
        log.runs.iter().any(|it| it.message == run.message && it.began < run.began && is_done(it))
    };
    add("a message is done twice", runs(&|run| is_done(run) && again(run)));
    add("a FIFO group goes on", if plan.fifo { runs(&|run| follows(log, run)) } else { 0 });
    for (life, end) in &log.ends {
        let in_hand = runs(&|run| run.life == *life && run.began <= end.told && run.ended >= Some(end.told));
        match &end.result {
            None => add("killed with messages in hand", usize::from(in_hand > 0)),
            Some(result) => {
                add("told to end with messages in hand", usize::from(in_hand > 0));
                add("an end that was not confirmed", usize::from(result.is_err()));
            }
        }
    }
}

/// The same worker ran another message shortly before.
fn follows(log: &Log, run: &Run) -> bool {
    log.runs
        .iter()
        .any(|it| it.life == run.life && it.message + 1 == run.message && it.ended <= Some(run.began))
}

pub(super) fn expect_all(tally: &Tally) {
    let unseen: Vec<_> =
        SEEN.into_iter().filter(|name| tally.get(*name).is_none_or(|times| *times == 0)).collect();
    assert!(unseen.is_empty(), "the simulation never saw {unseen:?}: {tally:#?}");
}
