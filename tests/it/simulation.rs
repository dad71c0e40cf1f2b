//! Generated runs, from the queue to the end of every message, with everything going wrong that can.
//!
//! The real [`Consumer`] and the real SDK client, redrive-local's queues and mapping, on tokio's paused clock. A run
//! follows from its seed. When one fails, it says its seed and its history; this runs it alone:
//!
//! ```text
//! REDRIVE_SEED=123 cargo test --test it simulation
//! ```
//!
//! `src/flow/tests.rs` runs twenty times as many without the SDK, with the same scenarios and checks.

mod checks;
mod course;
mod history;
mod life;
mod queues;
mod scenario;

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use aws_lambda_events::sqs::SqsBatchResponse;
use fastrand::Rng;
use redrive::{Backoff, BatchReport, Consumer, Failure, Handler, Jitter, LastDelivery, Message, OnFailure};
use redrive_local::kit::Fault;
use redrive_local::{Account, Delivery, QueueEvent};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, advance, sleep, timeout};

use crate::support::{Aws, at_a_time};
use course::{Tier, each_seed, run};
use history::{History, Run};
use scenario::{Says, Scenario, choose};

#[test]
fn whatever_happens_nothing_is_lost_and_nothing_comes_too_often_or_out_of_order() {
    each_seed(500, |scenario, rng| {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let _entered = runtime.enter();
        run(Simulation::new(&runtime, Arc::clone(scenario), rng), scenario)
    });
}

/// The handler: does what the scenario says, and records its runs.
#[derive(Clone)]
struct Actor {
    scenario: Arc<Scenario>,
    began: Instant,
    runs: Arc<Mutex<Vec<Run>>>,
}

impl Handler<Message<usize>> for Actor {
    async fn call(&self, message: Message<usize>) -> Result<(), Failure> {
        let (number, attempt) = (message.body, message.attempt);
        let turn = self.scenario.messages[number].turn(attempt);
        let at = {
            let mut runs = self.runs.lock().unwrap();
            runs.push(Run { message: number, attempt, said: None, ended: Duration::ZERO });
            runs.len() - 1
        };
        sleep(turn.takes).await;
        if turn.says == Says::Hang {
            std::future::pending::<()>().await;
        }
        {
            let run = &mut self.runs.lock().unwrap()[at];
            (run.said, run.ended) = (Some(turn.says), self.began.elapsed());
        }
        match turn.says {
            // Like a panic, but it says nothing on standard error.
            Says::Panic => std::panic::resume_unwind(Box::new("boom")),
            says => says.result(),
        }
    }
}

/// Decides on every call, and notes what that explains.
#[derive(Debug)]
struct Trouble {
    rng: Rng,
    odds: u32,
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
        if operation == "PutMetricData" && fault == Fault::HalfFails {
            return None;
        }
        self.disturbed = true;
        self.doubtful |= operation == "SendMessageBatch" && matches!(fault, Fault::AnswerLost | Fault::Twice);
        Some(fault)
    }
}

type Report = Arc<Mutex<Option<BatchReport>>>;

struct Simulation<'a> {
    runtime: &'a Runtime,
    rng: Rng,
    aws: Aws,
    actor: Actor,
    /// Of the process, which a kill ends.
    consumer: Consumer<Actor, Message<usize>>,
    trouble: Arc<Mutex<Trouble>>,
    report: Report,
    history: History,
    /// So many events are in the history already.
    seen: usize,
}

impl<'a> Simulation<'a> {
    fn new(runtime: &'a Runtime, scenario: Arc<Scenario>, mut rng: Rng) -> Self {
        let odds = scenario.odds.calls;
        let trouble = Trouble { rng: rng.fork(), odds, disturbed: false, doubtful: false };
        let trouble = Arc::new(Mutex::new(trouble));
        let troubled = Arc::clone(&trouble);
        let aws = Aws::new();
        aws.faults(move |operation, _| troubled.lock().unwrap().fault(operation));
        aws.with(|account, now| scenario.create_queues(account, now));
        let actor = Actor { scenario, began: Instant::now(), runs: Arc::default() };
        let (report, history) = (Report::default(), History::default());
        let consumer = consumer(&actor, &aws, &report);
        Self { runtime, rng, aws, actor, consumer, trouble, report, history, seen: 0 }
    }
}

impl Tier for Simulation<'_> {
    fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    fn history(&mut self) -> &mut History {
        &mut self.history
    }

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
            let handled = self.consumer.handle(event, Instant::now() + left);
            let handled = timeout(dies_after.unwrap_or(left * 2), handled).await;
            // An observer for whom no time was left has its turn now, and what was cancelled ends.
            tokio::task::yield_now().await;
            handled
        });
        let report = self.report.lock().unwrap().take().filter(|_| handled.is_ok());
        if handled.is_err() {
            self.consumer = consumer(&self.actor, &self.aws, &self.report);
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

fn consumer(actor: &Actor, aws: &Aws, report: &Report) -> Consumer<Actor, Message<usize>> {
    let (scenario, report) = (&*actor.scenario, Arc::clone(report));
    let mut consumer = Consumer::new(actor.clone())
        .sqs(aws.sqs())
        .visibility_timeout(Duration::from_secs(scenario.visibility))
        .concurrency(at_a_time(scenario.concurrency))
        .observe(move |it| *report.lock().unwrap() = Some(it.clone()));
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
