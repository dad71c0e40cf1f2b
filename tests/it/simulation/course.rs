//! The course of a run.

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use redrive_local::Delivery;

use super::Simulation;
use super::checks::check;
use super::history::{Ending, History, Invocation};
use super::scenario::{Scenario, choose};
use super::swarm::Swarm;

const LONGEST_RUN: Duration = Duration::from_secs(10 * 86_400);
const MOST_INVOCATIONS: usize = 80;

/// What a run can do without, beside the faults of calls.
const FEATURES: [&str; 15] = [
    "kills",
    "losses",
    "bulk",
    "time-limit",
    "backoff",
    "overrides",
    "drift",
    "malformed",
    "Refused",
    "Throttled",
    "Denied",
    "Hangs",
    "AnswerLost",
    "Twice",
    "HalfFails",
];

/// Simulates and checks so many scenarios, or the one that `REDRIVE_SEED` names.
pub(crate) fn each_seed(runs: u64, simulate: impl Fn(&Arc<Scenario>, Rng, &Swarm) -> History + Sync) {
    let run = |seed| drop(by_seed(seed, &simulate));
    if let Ok(seed) = std::env::var("REDRIVE_SEED") {
        return run(seed.parse().unwrap());
    }
    let threads = std::thread::available_parallelism().map_or(2, |threads| threads.get() as u64);
    std::thread::scope(|scope| {
        for first in 0..threads {
            scope.spawn(move || (first..runs).step_by(threads as usize).for_each(run));
        }
    });
}

/// Simulates and checks the scenario of a seed.
pub(crate) fn by_seed(seed: u64, simulate: &impl Fn(&Arc<Scenario>, Rng, &Swarm) -> History) -> History {
    fastrand::seed(seed);
    let (mut rng, swarm) = (Rng::with_seed(seed), Swarm::new(seed, &FEATURES));
    let scenario = Arc::new(Scenario::generate(&mut rng).without(&swarm));
    let history = simulate(&scenario, rng, &swarm);
    if let Err(problem) = check(&scenario, &history) {
        panic!("{swarm}: {problem}\n{scenario:#?}\n{history:#?}");
    }
    history
}

/// Runs until no message is left, or too long.
pub(crate) fn run(mut simulation: Simulation<'_>, scenario: &Scenario) -> History {
    let queue = scenario.queue();
    while simulation.history.invocations.len() < MOST_INVOCATIONS && simulation.elapsed() < LONGEST_RUN {
        let (elapsed, sent) = (simulation.elapsed(), simulation.history.ids.len());
        let due = scenario.messages.iter().enumerate().skip(sent);
        for (number, message) in due.take_while(|(_, message)| message.sent_after <= elapsed) {
            let message = message.message(number, scenario.fifo);
            let id = simulation.account(|account, now| account.send(queue, message, now)).unwrap();
            simulation.history.ids.push(id);
        }
        let delivery = simulation.account(|account, now| account.deliver(queue, scenario.batch_size, now));
        let events = simulation.events();
        simulation.history.note_moved(&events);
        if let Some(delivery) = delivery.unwrap() {
            invoke(&mut simulation, scenario, &delivery);
            continue;
        }
        let visible = simulation.account(|account, now| {
            account.next_change(queue, now).map(|at| at.duration_since(now).unwrap_or_default())
        });
        let unsent = scenario.messages.get(simulation.history.ids.len());
        let due = unsent.map(|message| message.sent_after.saturating_sub(elapsed));
        let Some(next) = visible.into_iter().chain(due).min() else { break };
        simulation.advance(next);
    }
    let mut left = |queue| {
        let counts = simulation.account(|account, now| account.counts(queue, now));
        counts.map_or(0, |it| it.visible + it.in_flight + it.delayed)
    };
    let (left_in_source, left_in_dead) = (left(queue), left(scenario.dead()));
    let history = std::mem::take(&mut simulation.history);
    History { left_in_source, left_in_dead, cut_short: left_in_source > 0, ..history }
}

fn invoke(simulation: &mut Simulation<'_>, scenario: &Scenario, delivery: &Delivery) {
    let (began, odds, rng) = (simulation.elapsed(), scenario.odds, &mut simulation.rng);
    let longest = choose(rng, &[60, 60, 250, scenario.left.as_millis() as u64]);
    let dies_after = (rng.u32(..100) < odds.kills).then(|| Duration::from_millis(rng.u64(..longest)));
    let is_lost = rng.u32(..100) < odds.losses;
    let history = &mut simulation.history;
    let received = delivery.ids().map(|id| history.number(id));
    let received = received.map(|message| (message, history.deliveries(message).count() as u32 + 1));
    let invocation = Invocation::new(began, received.collect());
    history.invocations.push(invocation);
    let ending = match simulation.invoke(delivery, dies_after) {
        None => Ending::Killed,
        Some(_) if is_lost => Ending::Lost,
        Some(response) => {
            let json = serde_json::to_vec(&response).unwrap();
            let failed = response.batch_item_failures.into_iter().map(|it| it.item_identifier).collect();
            match simulation.account(|account, now| account.settle(delivery, &json, now)) {
                Ok(_) => Ending::Settled { failed },
                Err(problem) => Ending::BadResponse(problem),
            }
        }
    };
    let (took, events) = (simulation.elapsed() - began, simulation.events());
    let history = &mut simulation.history;
    if let Some(invocation) = history.invocations.last_mut() {
        (invocation.took, invocation.ending) = (took, ending);
    }
    history.note(&events);
}
