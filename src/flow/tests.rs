//! Generated runs of the engine, with real reports; what handlers and SQS do is given.
//!
//! Scenarios and checks are those of `tests/it/simulation.rs`, which goes through the whole consumer and the SDK; here
//! there are twenty times as many runs. When one fails, it says its seed; this runs it alone:
//!
//! ```text
//! REDRIVE_SEED=123 cargo test --lib simulation
//! ```

mod bulk;
#[path = "../../tests/it/simulation/calls.rs"]
mod calls;
#[path = "../../tests/it/simulation/checks.rs"]
mod checks;
#[path = "../../tests/it/simulation/course.rs"]
mod course;
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
use redrive_local::{Account, AttributeValue, Delivery, MessageAttribute, NewMessage, QueueEvent};
use serde_json::{Value, json};

use self::course::{Tier, each_seed, run};
use self::history::History;
use self::scenario::Scenario;
use self::work::Course;
use super::*;
use crate::engine::{BatchLimits, Engine, Shared};
use crate::record::Record;
use crate::settings::{LastDelivery, OnFailure};
use crate::{Backoff, Failure, Jitter};

/// How often what can go wrong in the middle of a batch did, over all runs.
static LOST_WHILE_OTHERS_RAN: AtomicUsize = AtomicUsize::new(0);
static KILLED_BEHIND_A_LETTER: AtomicUsize = AtomicUsize::new(0);
static ENDED_AFTER_THE_DEADLINE: AtomicUsize = AtomicUsize::new(0);
static STUCK: AtomicUsize = AtomicUsize::new(0);
static HALVED: AtomicUsize = AtomicUsize::new(0);

#[test]
fn in_the_simulation_nothing_is_lost_and_nothing_comes_too_often_or_out_of_order() {
    each_seed(10_000, |scenario, rng| run(Simulation::new(scenario, rng), scenario));
    let is_one = std::env::var_os("REDRIVE_SEED").is_some();
    for seen in [&LOST_WHILE_OTHERS_RAN, &KILLED_BEHIND_A_LETTER, &ENDED_AFTER_THE_DEADLINE, &STUCK, &HALVED]
    {
        assert!(is_one || seen.load(Relaxed) > 50, "the runs hardly meet what they are to withstand");
    }
}

struct Simulation<'a> {
    scenario: &'a Scenario,
    rng: Rng,
    account: Account,
    epoch: SystemTime,
    now: Duration,
    /// When no more is started.
    until: Duration,
    /// Of a bulk handler, so far.
    calls: u32,
    /// How many more entries of calls reach SQS before the invocation is killed.
    entries_left: Option<u32>,
    /// When it is killed anyway.
    dies_at: Option<Duration>,
    /// Of the process, which a kill ends.
    shared: Shared,
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
        let shared = Shared::default();
        let (until, calls) = (Duration::ZERO, 0);
        let (entries_left, dies_at) = (None, None);
        Self { scenario, rng, account, epoch, now, until, calls, entries_left, dies_at, shared, history }
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
        self.now
    }

    fn advance(&mut self, by: Duration) {
        self.now += by;
    }

    fn account<T>(&mut self, act: impl FnOnce(&mut Account, SystemTime) -> T) -> T {
        act(&mut self.account, self.epoch + self.now)
    }

    fn events(&mut self) -> Vec<QueueEvent> {
        self.account.take_events()
    }

    fn invoke(&mut self, delivery: &Delivery, dies_after: Option<Duration>) -> Option<SqsBatchResponse> {
        let began = self.now;
        let by_entries = dies_after.is_some() && self.rng.bool();
        self.entries_left = by_entries.then(|| self.rng.u32(..6));
        self.dies_at = dies_after.map(|after| began + after);
        let limits = Limits { max_receive_count: self.scenario.told, ..Limits::for_tests() };
        let shared = Records::read(Bytes::copy_from_slice(delivery.event()), &limits).unwrap();
        let records = shared.list();
        let invocation = Invocation::until(Instant::now().into_std());
        let settings = self.settings();
        let policy = Policy::of(&settings, self.scenario.queue(), self.scenario.has_dead_letter_queue);
        let left = self.scenario.left;
        let limits = BatchLimits {
            epoch: (self.epoch + began).duration_since(SystemTime::UNIX_EPOCH).unwrap(),
            until: left - settings.reserve_of(left),
            settle_until: left - FOR_THE_RESPONSE,
            has_client: true,
            places: Some(10),
            ends_process: true,
        };
        let is_fifo = redrive_sqs::is_fifo(shared.source());
        let seed = self.rng.u64(..);
        let mut engine = Engine::of_batch(records.iter(), is_fifo, policy, limits, &mut self.shared, seed);
        std::mem::swap(&mut engine.rules.shared, &mut self.shared);
        let mut course = Course::new(engine, &invocation, records, began);
        let settled = self.follow(&mut course)?;
        self.current().report = Some(report(records, &settled, self.epoch + began, true));
        let response = response(records, &settled);
        self.shared = course.engine.rules.shared;
        Some(response)
    }
}

impl Simulation<'_> {
    fn settings(&self) -> Settings {
        let choice = |retries| Some(if retries { OnFailure::Retry } else { OnFailure::DeadLetter });
        let mut settings = Settings {
            backoff: self.scenario.backoff.clone(),
            last_delivery: self.scenario.last_delivery,
            on_panic: choice(self.scenario.retries_panics),
            on_malformed: choice(self.scenario.retries_malformed),
            ..Settings::default()
        };
        settings.visibility_timeout = settings.keep(Duration::from_secs(self.scenario.visibility));
        settings.max_receive_count = self.scenario.told.and_then(|told| settings.keep(told));
        settings
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
    fn write_letter(&mut self, record: &Record<'_>, attributes: &redrive_sqs::Attributes) -> bool {
        let luck = self.luck(true);
        for _ in 0..luck.times {
            let text = |text: &str| AttributeValue::Text(text.to_owned());
            let attributes = attributes.iter().map(|(name, attribute)| {
                let value = text(attribute.as_str().unwrap());
                (name.clone(), MessageAttribute { data_type: attribute.data_type().to_owned(), value })
            });
            let message = NewMessage {
                body: record.body().to_owned(),
                attributes: attributes.collect(),
                group_id: record.group().map(str::to_owned),
                deduplication_id: self.scenario.fifo.then(|| record.id().to_owned()),
                ..NewMessage::default()
            };
            self.account.send(self.scenario.dead(), message, self.epoch + self.now).unwrap();
        }
        luck.confirmed
    }

    /// Sets the visibility timeout of a message, or deletes it.
    fn settle(&mut self, record: &Record<'_>, after: Option<Duration>) -> bool {
        let luck = self.luck(false);
        for time in 0..luck.times {
            let mut entry = json!({ "Id": "0", "ReceiptHandle": record.receipt_handle() });
            let mut operation = "AmazonSQS.DeleteMessageBatch";
            if let Some(after) = after {
                entry["VisibilityTimeout"] = after.as_secs().into();
                operation = "AmazonSQS.ChangeMessageVisibilityBatch";
            }
            let url = self.account.queue_url(self.scenario.queue());
            let body = json!({ "QueueUrl": url, "Entries": [entry] });
            let request = Request::post("/").header("x-amz-target", operation);
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
