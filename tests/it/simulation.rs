//! Generated runs with every kind of fault, from the queue to the end of every message.
//!
//! They use the real [`Consumer`], the real SDK client, and redrive-local's queues and mapping, on tokio's paused clock. A seed
//! determines a run, and half of the faults are muted in it. A run that fails prints its seed, the muted faults, and its
//! history. These variables repeat it, also with more muted:
//!
//! ```text
//! REDRIVE_SEED=123 REDRIVE_MUTED=kills,Hangs cargo test --workspace --test it simulation
//! ```

mod actor;
mod calls;
mod checks;
mod course;
mod history;
mod life;
mod queues;
mod scenario;
mod swarm;

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use aws_lambda_events::sqs::SqsBatchResponse;
use fastrand::Rng;
use redrive::{
    Backoff, BatchReport, Bulk, Chunks, Consumer, Failure, Handler, Input, Jitter, LastDelivery, Message,
    OnFailure,
};
use redrive_local::kit::Fault;
use redrive_local::{Account, Delivery, QueueEvent};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, advance, timeout};

use crate::support::Aws;
use actor::Actor;
use course::{by_seed, each_seed, run};
use history::{Ending, History, Invocation};
use scenario::{Scenario, choose};
use swarm::{Swarm, runs, without_ids};

#[test]
fn no_message_is_lost_repeated_too_often_or_out_of_order() {
    let seen: [AtomicUsize; 5] = Default::default();
    each_seed(runs(300), |scenario, rng, swarm| {
        let history = simulate(scenario, rng, swarm);
        for invocation in &history.invocations {
            for (seen, is_so) in seen.iter().zip(troubles(invocation)) {
                seen.fetch_add(usize::from(is_so), Relaxed);
            }
        }
        history
    });
    let is_one = std::env::var_os("REDRIVE_SEED").is_some();
    assert!(
        is_one || seen.iter().all(|seen| seen.load(Relaxed) > 3),
        "the runs hardly meet what they are to withstand: {seen:?}"
    );
}

#[test]
fn a_seed_has_one_history() {
    for seed in 0..5 {
        let [first, second] = [(); 2].map(|()| {
            let mut history = by_seed(seed, &simulate);
            // By the real clock.
            let reports = history.invocations.iter_mut().filter_map(|it| it.report.as_mut());
            reports.for_each(|report| report.response_times.clear());
            without_ids(&format!("{history:#?}"))
        });
        assert_eq!(first, second, "seed {seed}");
    }
}

fn simulate(scenario: &Arc<Scenario>, rng: Rng, swarm: &Swarm) -> History {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let _entered = runtime.enter();
    run(Simulation::new(&runtime, Arc::clone(scenario), rng, swarm.clone()), scenario)
}

/// A kill behind a letter, a response that is lost, a letter that may or may not exist, calls that fail and a handler that is
/// canceled, and a bulk call that is halved.
fn troubles(it: &Invocation) -> [bool; 5] {
    [
        it.ending == Ending::Killed && !it.letters.is_empty(),
        it.ending == Ending::Lost,
        it.doubtful,
        it.disturbed && it.runs.iter().any(|run| run.said.is_none()),
        it.runs.iter().any(|run| run.last_call > run.first_call),
    ]
}

/// Decides on every call, and notes what that explains.
#[derive(Debug)]
struct Trouble {
    rng: Rng,
    odds: u32,
    swarm: Swarm,
    disturbed: bool,
    doubtful: bool,
}

impl Trouble {
    fn fault(&mut self, operation: &str) -> Option<Fault> {
        if self.rng.u32(..100) >= self.odds {
            return None;
        }
        let fault = choose(
            &mut self.rng,
            &[
                Fault::Refused,
                Fault::Throttled,
                Fault::Denied,
                Fault::Hangs,
                Fault::AnswerLost,
                Fault::Twice,
                Fault::HalfFails,
            ],
        );
        // CloudWatch's requests have no entries of which half could fail.
        if operation == "PutMetricData" && fault == Fault::HalfFails || !self.swarm.has(fault) {
            return None;
        }
        self.disturbed = true;
        self.doubtful |= operation == "SendMessageBatch" && matches!(fault, Fault::AnswerLost | Fault::Twice);
        Some(fault)
    }
}

enum Function {
    One(Consumer<Actor, Message<usize>>),
    Many(Consumer<Actor, Bulk<Message<usize>>>),
}

type Report = Arc<Mutex<Option<BatchReport>>>;

struct Simulation<'a> {
    runtime: &'a Runtime,
    rng: Rng,
    aws: Aws,
    actor: Actor,
    /// Of the process, which a kill ends.
    consumer: Function,
    trouble: Arc<Mutex<Trouble>>,
    report: Report,
    history: History,
    /// So many events are in the history already.
    seen: usize,
}

impl<'a> Simulation<'a> {
    fn new(runtime: &'a Runtime, scenario: Arc<Scenario>, mut rng: Rng, swarm: Swarm) -> Self {
        let odds = scenario.odds.calls;
        let trouble = Trouble { rng: rng.fork(), odds, swarm, disturbed: false, doubtful: false };
        let trouble = Arc::new(Mutex::new(trouble));
        let troubled = Arc::clone(&trouble);
        let aws = Aws::new();
        aws.faults(move |operation, _| troubled.lock().unwrap().fault(operation));
        aws.with(|account, now| scenario.create_queues(account, now));
        let actor = Actor::new(scenario);
        let (report, history) = (Report::default(), History::default());
        let consumer = function(&actor, &aws, &report);
        Self { runtime, rng, aws, actor, consumer, trouble, report, history, seen: 0 }
    }
}

impl Simulation<'_> {
    fn elapsed(&self) -> Duration {
        self.actor.began.elapsed()
    }

    fn advance(&mut self, by: Duration) {
        self.runtime.block_on(advance(by));
    }

    fn account<T>(&mut self, act: impl FnOnce(&mut Account, SystemTime) -> T) -> T {
        self.aws.with(act)
    }

    fn events(&mut self) -> Vec<QueueEvent> {
        let events = self.aws.events().split_off(self.seen);
        self.seen += events.len();
        events.into_iter().map(|(_, event)| event).collect()
    }

    fn invoke(&mut self, delivery: &Delivery, dies_after: Option<Duration>) -> Option<SqsBatchResponse> {
        let left = self.actor.scenario.left;
        let event = serde_json::from_slice(delivery.event()).unwrap();
        let handled = self.runtime.block_on(async {
            let deadline = Instant::now() + left;
            let handled = async {
                match &self.consumer {
                    Function::One(consumer) => consumer.handle(event, deadline).await,
                    Function::Many(consumer) => consumer.handle(event, deadline).await,
                }
            };
            let handled = timeout(dies_after.unwrap_or(left * 2), handled).await;
            // An observer for whom no time was left has its turn now, and what was cancelled ends.
            tokio::task::yield_now().await;
            handled
        });
        let report = self.report.lock().unwrap().take().filter(|_| handled.is_ok());
        if handled.is_err() {
            self.consumer = function(&self.actor, &self.aws, &self.report);
        }
        let mut trouble = self.trouble.lock().unwrap();
        let invocation = self.history.invocations.last_mut().unwrap();
        invocation.runs = std::mem::take(&mut *self.actor.runs.lock().unwrap());
        invocation.report = report;
        invocation.disturbed = std::mem::take(&mut trouble.disturbed);
        invocation.doubtful = std::mem::take(&mut trouble.doubtful);
        handled.ok().map(Result::unwrap)
    }
}

fn function(actor: &Actor, aws: &Aws, report: &Report) -> Function {
    let Some(bulk) = actor.scenario.bulk else {
        return Function::One(set_up(Consumer::new(actor.clone()), actor, aws, report));
    };
    let chunks = Chunks::of(bulk.chunk);
    let chunks = if bulk.halves { chunks.halve_on_failure() } else { chunks };
    let consumer = Consumer::new(actor.clone()).chunks(chunks);
    Function::Many(set_up(consumer, actor, aws, report))
}

fn set_up<M: Input>(
    consumer: Consumer<Actor, M>,
    actor: &Actor,
    aws: &Aws,
    report: &Report,
) -> Consumer<Actor, M>
where
    Actor: Handler<M>,
{
    let (scenario, report) = (&*actor.scenario, Arc::clone(report));
    let mut consumer = consumer
        .sqs(aws.sqs())
        .visibility_timeout(Duration::from_secs(scenario.visibility))
        .concurrency(scenario.concurrency)
        .observe(move |it: &BatchReport| *report.lock().unwrap() = Some(it.clone()));
    if scenario.messages.len().is_multiple_of(3) {
        consumer = consumer.cloudwatch(aws.cloudwatch());
    }
    if scenario.has_dead_letter_queue {
        consumer = consumer.dead_letter_queue_url(aws.open(scenario.dead()).url());
    }
    if scenario.retries_panics {
        consumer = consumer.on_panic(OnFailure::Retry);
    }
    if scenario.retries_malformed {
        consumer = consumer.on_malformed(OnFailure::Retry);
    }
    consumer = scenario.told.into_iter().fold(consumer, Consumer::max_receive_count);
    consumer = scenario.time_limit.into_iter().fold(consumer, Consumer::time_limit);
    consumer = scenario.last_delivery.into_iter().fold(consumer, Consumer::last_delivery);
    scenario.backoff.iter().cloned().fold(consumer, Consumer::backoff)
}
