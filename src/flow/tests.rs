//! Generated runs of the pure steps: plan, decide, what follows from what, which calls leave when, and report are real;
//! what handlers and SQS do is given.
//!
//! Scenarios and checks are those of `tests/it/simulation.rs`, which goes through the whole consumer and the SDK; here
//! there are twenty times as many runs. When one fails, it says its seed; this runs it alone:
//!
//! ```text
//! REDRIVE_SEED=123 cargo test --lib simulation
//! ```

#[path = "../../tests/it/simulation/checks.rs"]
mod checks;
#[path = "../../tests/it/simulation/history.rs"]
mod history;
#[path = "../../tests/it/simulation/life.rs"]
mod life;
#[path = "../../tests/it/simulation/queues.rs"]
mod queues;
#[path = "../../tests/it/simulation/scenario.rs"]
mod scenario;
mod work;

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use bytes::Bytes;
use fastrand::Rng;
use http::Request;
use redrive_local::{Account, AttributeValue, Delivery, MessageAttribute, NewMessage};
use serde_json::{Value, json};

use self::checks::check;
use self::history::{Ending, History};
use self::scenario::Scenario;
use super::*;
use crate::batch::settle::{Change, Letter};
use crate::settings::{LastDelivery, OnFailure};
use crate::{Backoff, Jitter};

const RUNS: u64 = 10_000;

/// How often what can go wrong in the middle of a batch did, over all runs.
static LOST_WHILE_OTHERS_RAN: AtomicUsize = AtomicUsize::new(0);
static KILLED_BEHIND_A_LETTER: AtomicUsize = AtomicUsize::new(0);
static ENDED_AFTER_THE_DEADLINE: AtomicUsize = AtomicUsize::new(0);
static STUCK: AtomicUsize = AtomicUsize::new(0);

const LONGEST_RUN: Duration = Duration::from_secs(10 * 86_400);
const MOST_INVOCATIONS: usize = 80;

#[test]
fn in_the_simulation_nothing_is_lost_and_nothing_comes_too_often_or_out_of_order() {
    let seed = std::env::var("REDRIVE_SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    let run = |seed| {
        fastrand::seed(seed);
        let mut rng = Rng::with_seed(seed);
        let scenario = Scenario::generate(&mut rng);
        let history = Simulation::new(&scenario, rng).run();
        if let Err(problem) = check(&scenario, &history) {
            panic!("REDRIVE_SEED={seed}: {problem}\n{scenario:#?}\n{history:#?}");
        }
    };
    if let Some(seed) = seed {
        return run(seed);
    }
    let threads = std::thread::available_parallelism().map_or(2, |threads| threads.get() as u64);
    std::thread::scope(|scope| {
        for first in 0..threads {
            scope.spawn(move || (first..RUNS).step_by(threads as usize).for_each(run));
        }
    });
    for seen in [&LOST_WHILE_OTHERS_RAN, &KILLED_BEHIND_A_LETTER, &ENDED_AFTER_THE_DEADLINE, &STUCK] {
        assert!(seen.load(Relaxed) > 50, "the runs hardly meet what they are to withstand");
    }
}

struct Simulation<'a> {
    scenario: &'a Scenario,
    rng: Rng,
    account: Account,
    epoch: SystemTime,
    now: Duration,
    /// How many more entries of calls reach SQS before the invocation is killed.
    entries_left: Option<u32>,
    /// When it is killed anyway.
    dies_at: Option<Duration>,
    /// Of the process, which a kill ends.
    streak: Streak,
    history: History,
}

/// What comes of one entry of a call.
#[derive(Debug, Clone, Copy)]
struct Luck {
    times: u32,
    confirmed: bool,
}

impl<'a> Simulation<'a> {
    fn new(scenario: &'a Scenario, rng: Rng) -> Self {
        let epoch = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let mut account = Account::new();
        scenario.create_queues(&mut account, epoch);
        let (now, history) = (Duration::ZERO, History::default());
        let streak = Streak::default();
        Self { scenario, rng, account, epoch, now, entries_left: None, dies_at: None, streak, history }
    }

    /// Until no message is left, or too long.
    fn run(mut self) -> History {
        let queue = self.scenario.queue();
        while self.history.invocations.len() < MOST_INVOCATIONS && self.now < LONGEST_RUN {
            let at = self.epoch + self.now;
            let sent = self.history.ids.len();
            for (number, message) in self.scenario.messages.iter().enumerate().skip(sent) {
                if message.sent_after <= self.now {
                    let message = message.message(number, self.scenario.fifo);
                    self.history.ids.push(self.account.send(queue, message, at).unwrap());
                }
            }
            let delivery = self.account.deliver(queue, self.scenario.batch_size, at).unwrap();
            self.history.note_moved(&self.account.take_events());
            if let Some(delivery) = delivery {
                self.invoke(&delivery);
                continue;
            }
            let visible =
                self.account.next_change(queue, at).map(|at| at.duration_since(self.epoch).unwrap());
            let due = self.scenario.messages.get(self.history.ids.len()).map(|message| message.sent_after);
            let Some(next) = visible.into_iter().chain(due).min() else { break };
            self.now = next;
        }
        let at = self.epoch + self.now;
        let left =
            |queue| self.account.counts(queue, at).map_or(0, |it| it.visible + it.in_flight + it.delayed);
        self.history.left_in_source = left(queue);
        self.history.left_in_dead = left(self.scenario.dead());
        self.history.cut_short = self.history.left_in_source > 0;
        self.history
    }

    fn invoke(&mut self, delivery: &Delivery) {
        let (began, odds) = (self.now, self.scenario.odds);
        let dies = self.rng.u32(..100) < odds.kills;
        self.entries_left = (dies && self.rng.bool()).then(|| self.rng.u32(..6));
        let longest = if self.rng.bool() { 80 } else { self.scenario.left.as_millis() as u64 };
        self.dies_at = dies.then(|| began + Duration::from_millis(self.rng.u64(..longest)));
        let received = delivery.ids().map(|id| self.history.number(id));
        let received = received.map(|message| (message, self.history.deliveries(message).count() as u32 + 1));
        self.history.invocations.push(history::Invocation::new(began, received.collect()));

        let limits = Limits { max_receive_count: self.scenario.told, deadline: std::time::Instant::now() };
        let shared = Records::read(Bytes::copy_from_slice(delivery.event()), limits).unwrap();
        let records = shared.list();
        let invocation = Invocation { deadline: Instant::now(), request_id: "", function: "" };
        let backoff = self.scenario.backoff.clone().unwrap_or_default();
        let plan = plan(records);
        let streak = std::mem::take(&mut self.streak);
        let mut batch = Progress::new(records, &plan, self.policy(&backoff), &invocation, &streak);
        let survives = self.follow(&mut batch, &plan);
        let report = report(records, &batch.settled, self.epoch + began, true);
        let response = response(records, &batch.settled);
        if survives {
            self.streak = streak;
        }

        let ending = if !survives {
            Ending::Killed
        } else if self.rng.u32(..100) < odds.losses {
            Ending::Lost
        } else {
            let json = serde_json::to_vec(&response).unwrap();
            match self.account.settle(delivery, &json, self.epoch + self.now) {
                Ok(_) => Ending::Settled {
                    failed: response.batch_item_failures.into_iter().map(|it| it.item_identifier).collect(),
                },
                Err(problem) => Ending::BadResponse(problem),
            }
        };
        let took = self.now - began;
        let invocation = self.current();
        (invocation.took, invocation.report) = (took, (ending != Ending::Killed).then_some(report));
        invocation.ending = ending;
        self.history.note(&self.account.take_events());
    }

    fn policy<'p>(&self, backoff: &'p Backoff) -> Policy<'p> {
        let choice = |retries| if retries { OnFailure::Retry } else { OnFailure::DeadLetter };
        let scenario = self.scenario;
        let last = if scenario.fifo { LastDelivery::DeadLetter } else { LastDelivery::RedrivePolicy };
        Policy {
            backoff,
            longest: Duration::from_secs(scenario.longest()),
            max_receive_count: scenario.told,
            last_delivery: scenario.last_delivery.unwrap_or(last),
            on_panic: choice(scenario.retries_panics),
            on_malformed: choice(scenario.retries_malformed),
            has_dead_letter_queue: scenario.has_dead_letter_queue,
            ends: false,
        }
    }

    fn current(&mut self) -> &mut history::Invocation {
        self.history.invocations.last_mut().unwrap()
    }

    fn luck(&mut self, is_letter: bool) -> Luck {
        if self.entries_left == Some(0) {
            return Luck { times: 0, confirmed: false };
        }
        self.entries_left = self.entries_left.map(|left| left - 1);
        if self.rng.u32(..100) >= self.scenario.odds.calls {
            return Luck { times: 1, confirmed: true };
        }
        let luck = [(0, false), (1, false), (2, false), (2, true)];
        let (times, confirmed) = scenario::choose(&mut self.rng, &luck);
        let invocation = self.current();
        invocation.disturbed = true;
        invocation.doubtful |= is_letter && times > 0;
        Luck { times, confirmed }
    }

    /// Whether SQS confirms it.
    fn write_letter(&mut self, letter: &Letter<'_>) -> bool {
        let luck = self.luck(true);
        for _ in 0..luck.times {
            let text = |text: &str| AttributeValue::Text(text.to_owned());
            let attributes = letter.attributes.iter().map(|(name, attribute)| {
                let value = text(attribute.as_str().unwrap());
                (name.clone(), MessageAttribute { data_type: attribute.data_type().to_owned(), value })
            });
            let message = NewMessage {
                body: letter.record.body().to_owned(),
                attributes: attributes.collect(),
                group_id: letter.record.group().map(str::to_owned),
                deduplication_id: self.scenario.fifo.then(|| letter.record.id().to_owned()),
                ..NewMessage::default()
            };
            self.account.send(self.scenario.dead(), message, self.epoch + self.now).unwrap();
        }
        luck.confirmed
    }

    fn change_visibility(&mut self, change: &Change<'_>) -> bool {
        let luck = self.luck(false);
        for time in 0..luck.times {
            let (handle, seconds) = (change.record.receipt_handle(), change.after.as_secs());
            let entry = json!({ "Id": "0", "ReceiptHandle": handle, "VisibilityTimeout": seconds });
            let url = self.account.queue_url(self.scenario.queue());
            let body = json!({ "QueueUrl": url, "Entries": [entry] });
            let request = Request::post("/").header("x-amz-target", "AmazonSQS.ChangeMessageVisibilityBatch");
            let request = request.body(Bytes::from(body.to_string())).unwrap();
            let answer = self.account.answer(&request, self.epoch + self.now);
            let answer: Value = serde_json::from_slice(answer.body()).unwrap();
            // A FIFO queue refuses to hide again what the first call has made visible.
            let failed = answer["Failed"].as_array().is_some_and(|failed| !failed.is_empty());
            assert!(time > 0 || !failed, "{answer}");
        }
        luck.confirmed
    }
}
