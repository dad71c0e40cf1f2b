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
mod history;
mod life;
mod queues;
mod scenario;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use redrive::{Backoff, BatchReport, Consumer, Failure, Handler, Jitter, LastDelivery, Message, OnFailure};
use redrive_local::kit::Fault;
use redrive_local::{Delivery, QueueEvent};
use tokio::time::{Instant, advance, sleep, timeout};

use crate::support::Aws;
use checks::check;
use history::{Ending, History, Invocation, Run};
use scenario::{Says, Scenario, choose};

const RUNS: u64 = 500;
const LONGEST_RUN: Duration = Duration::from_secs(10 * 86_400);
const MOST_INVOCATIONS: usize = 80;

#[test]
fn whatever_happens_nothing_is_lost_and_nothing_comes_too_often_or_out_of_order() {
    let seed = std::env::var("REDRIVE_SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    for seed in seed.map_or(0..RUNS, |seed| seed..seed + 1) {
        fastrand::seed(seed);
        let mut rng = Rng::with_seed(seed);
        let scenario = Arc::new(Scenario::generate(&mut rng));
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let history = runtime.block_on(async { Simulation::new(Arc::clone(&scenario), rng).run().await });
        if let Err(problem) = check(&scenario, &history) {
            panic!("REDRIVE_SEED={seed}: {problem}\n{scenario:#?}\n{history:#?}");
        }
    }
}

/// The function: does what the scenario says, and keeps a diary.
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
            Says::Ok | Says::Hang => Ok(()),
            Says::Error => Err("down".into()),
            Says::RetryAfter(seconds) => Err(Failure::retry_after(Duration::from_secs(seconds), "busy")),
            Says::Reject => Err(Failure::reject("refused")),
            Says::Defer(seconds) => Err(Failure::defer(Duration::from_secs(seconds))),
            Says::Discard => Err(Failure::discard("late")),
            // Like a panic, but it says nothing on standard error.
            Says::Panic => std::panic::resume_unwind(Box::new("boom")),
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

struct Simulation {
    scenario: Arc<Scenario>,
    rng: Rng,
    aws: Aws,
    began: Instant,
    trouble: Arc<Mutex<Trouble>>,
    runs: Arc<Mutex<Vec<Run>>>,
    history: History,
    /// So many events are in the history already.
    seen: usize,
}

impl Simulation {
    fn new(scenario: Arc<Scenario>, mut rng: Rng) -> Self {
        let odds = scenario.odds.calls;
        let trouble = Trouble { rng: rng.fork(), odds, disturbed: false, doubtful: false };
        let trouble = Arc::new(Mutex::new(trouble));
        let troubled = Arc::clone(&trouble);
        let aws = Aws::new();
        aws.faults(move |operation, _| troubled.lock().unwrap().fault(operation));
        aws.with(|account, now| scenario.create_queues(account, now));
        let (began, runs, history) = (Instant::now(), Arc::default(), History::default());
        Self { scenario, rng, aws, began, trouble, runs, history, seen: 0 }
    }

    /// Until no message is left, or too long.
    async fn run(mut self) -> History {
        let report = Arc::new(Mutex::new(None));
        let mut consumer = self.consumer(&report);
        let queue = self.scenario.queue();
        while self.history.invocations.len() < MOST_INVOCATIONS && self.began.elapsed() < LONGEST_RUN {
            self.send_what_is_due();
            let size = self.scenario.batch_size;
            let delivery = self.aws.with(|account, now| account.deliver(queue, size, now)).unwrap();
            let events = self.take_events();
            self.history.note_moved(&events);
            if let Some(delivery) = delivery {
                self.invoke(&consumer, &delivery, &report).await;
                if self.history.invocations.last().is_some_and(|it| it.ending == Ending::Killed) {
                    // The next one has a process of its own.
                    consumer = self.consumer(&report);
                }
                continue;
            }
            let visible = self.aws.with(|account, now| account.next_change(queue, now));
            let visible = visible.map(|at| at.duration_since(self.aws.now()).unwrap());
            let due = self.scenario.messages.get(self.history.ids.len());
            let due = due.map(|message| message.sent_after.saturating_sub(self.began.elapsed()));
            let Some(next) = visible.into_iter().chain(due).min() else { break };
            advance(next).await;
        }
        let left = |queue| {
            let counts = self.aws.open(queue).counts();
            counts.visible + counts.in_flight + counts.delayed
        };
        self.history.left_in_source = left(queue);
        self.history.left_in_dead = left(self.scenario.dead());
        self.history.cut_short = self.history.left_in_source > 0;
        self.history
    }

    fn send_what_is_due(&mut self) {
        let elapsed = self.began.elapsed();
        let sent = self.history.ids.len();
        for (at, message) in self.scenario.messages.iter().enumerate().skip(sent) {
            if message.sent_after > elapsed {
                break;
            }
            self.history
                .ids
                .push(self.aws.send(self.scenario.queue(), message.message(at, self.scenario.fifo)));
        }
        self.take_events();
    }

    fn take_events(&mut self) -> Vec<QueueEvent> {
        let events = self.aws.events().split_off(self.seen);
        self.seen += events.len();
        events.into_iter().map(|(_, event)| event).collect()
    }

    async fn invoke(
        &mut self,
        consumer: &Consumer<Actor, Message<usize>>,
        delivery: &Delivery,
        report: &Mutex<Option<BatchReport>>,
    ) {
        let began = Instant::now();
        let left = self.scenario.left;
        let odds = self.scenario.odds;
        let longest = if self.rng.bool() { 80 } else { left.as_millis() as u64 };
        let dies = (self.rng.u32(..100) < odds.kills).then(|| Duration::from_millis(self.rng.u64(..longest)));
        let event = serde_json::from_slice(delivery.event()).unwrap();
        let handled = timeout(dies.unwrap_or(left * 2), consumer.handle(event, began + left)).await;
        let took = began.elapsed();
        // An observer for whom no time was left has its turn now, and what was cancelled ends.
        tokio::task::yield_now().await;
        let ending = match handled {
            Err(_elapsed) => Ending::Killed,
            Ok(_) if self.rng.u32(..100) < odds.losses => Ending::Lost,
            Ok(response) => {
                let response = response.unwrap();
                let json = serde_json::to_vec(&response).unwrap();
                match self.aws.with(|account, now| account.settle(delivery, &json, now)) {
                    Ok(_) => Ending::Settled {
                        failed: response
                            .batch_item_failures
                            .into_iter()
                            .map(|it| it.item_identifier)
                            .collect(),
                    },
                    Err(problem) => Ending::BadResponse(problem),
                }
            }
        };
        let mut trouble = self.trouble.lock().unwrap();
        let received = delivery.ids().map(|id| self.history.number(id));
        let attempt = |message| self.history.deliveries(message).count() as u32 + 1;
        let received = received.map(|message| (message, attempt(message))).collect();
        self.history.invocations.push(Invocation {
            took,
            runs: std::mem::take(&mut *self.runs.lock().unwrap()),
            report: report.lock().unwrap().take().filter(|_| ending != Ending::Killed),
            ending,
            disturbed: std::mem::take(&mut trouble.disturbed),
            doubtful: std::mem::take(&mut trouble.doubtful),
            ..Invocation::new(began - self.began, received)
        });
        drop(trouble);
        let events = self.take_events();
        self.history.note(&events);
    }

    fn consumer(&self, report: &Arc<Mutex<Option<BatchReport>>>) -> Consumer<Actor, Message<usize>> {
        let Self { scenario, aws, began, runs, .. } = self;
        let actor = Actor { scenario: Arc::clone(scenario), began: *began, runs: Arc::clone(runs) };
        let report = Arc::clone(report);
        let mut consumer = Consumer::new(actor)
            .sqs(aws.sqs())
            .visibility_timeout(Duration::from_secs(scenario.visibility))
            .concurrency(scenario.concurrency)
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
}
