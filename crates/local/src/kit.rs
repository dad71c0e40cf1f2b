//! A test kit: queues, mappings, workers and alarms for the tests of a consumer, on tokio's paused clock.
//!
//! A [`TestAws`] is a separate account in the memory of the test. Code under test reaches it through real SDK clients,
//! [`TestAws::sqs`] and [`TestAws::cloudwatch`]. [`Queue::invokes`] is the event source mapping between a queue and a
//! function. Days of retries pass in milliseconds, and each wait is as long as SQS would make it.
//!
//! ```
//! use std::time::Duration;
//!
//! use redrive_local::kit::{MessageState, TestAws};
//! use serde_json::{Value, json};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(async {
//! let aws = TestAws::new();
//! let queue = aws.queue("orders").dead_letter_queue("orders-dead", 3).create();
//! let order = queue.send(json!({ "cents": 0 }));
//!
//! // Any function from an event to a batch response. This one fails all the time.
//! let function = async |_: Value, _| Err::<Value, _>("down");
//! queue.invokes(function).until_idle().await;
//!
//! let letter = order.dead_letter();
//! assert_eq!((letter.attempts, letter.reason.as_str()), (3, "redrive policy"));
//! assert_eq!(letter.after, Duration::from_secs(90), "three visibility timeouts of 30 s");
//! # });
//! ```
//!
//! If the kit cannot do something, the test ends with a panic that names the queue and the message. With
//! `#[tokio::test(start_paused = true)]`, time stands still while code runs and jumps when everything waits, so only tokio's
//! time counts, and handlers wait with `tokio::time::sleep`. To let time pass at other points, for an alarm for example,
//! sleep in the test.
//!
//! Waiting for a socket, a database or another thread counts as waiting: a paused clock jumps, to a time limit for example.
//! For such handlers use `#[tokio::test]` alone. Then the clock runs while a function, or a worker that has received messages
//! and neither deleted nor delayed them, is at work. The kit pauses it in between, so that it jumps.
//!
//! A consumer of redrive is a function too:
//!
//! ```text
//! let consumer = redrive_local::configure!(Consumer::new(place), queue);
//! queue.invokes(|event, deadline| consumer.handle(event, deadline)).until_idle().await;
//! ```
//!
//! A worker polls the queue itself, and runs until the kit stops it ([`Queue::worked_by`]):
//!
//! ```text
//! queue.worked_by(|url, stop| consumer.work_until(url, stop)).until_idle().await;
//! ```

mod alarm;
mod clients;
mod clock;
mod state;
mod fault;
mod mapping;
mod message;
mod queue;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod tests;
mod workers;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;
use tokio::time::Instant;

use crate::account::Account;
use crate::cloudwatch::AlarmState;
use crate::run::InvocationOutcome;
use crate::sqs::QueueEvent;

pub use alarm::Alarm;
pub use fault::Fault;
pub use mapping::{Invocation, Mapping};
pub use message::Message;
pub use queue::{NewQueue, Queue};
pub use state::{DeadLetter, Done, MessageState};
pub use workers::{Stop, Workers};

/// The SQS and CloudWatch of one account in one region, for one test. Clones are the same account.
///
/// The wall clock starts at the beginning of the present minute, and continues with tokio's clock.
#[derive(Clone)]
pub struct TestAws {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<KitState>,
    /// The rule for faults, with its own lock because a rule can use the state.
    faults: Mutex<Box<Decide>>,
    /// Signals that a message may have become receivable.
    changes: watch::Sender<()>,
    began: (Instant, SystemTime),
}

struct KitState {
    account: Account,
    latency: Duration,
    calls: BTreeMap<String, usize>,
    events: Vec<(Duration, QueueEvent)>,
    alarms: Vec<(Duration, String, AlarmState)>,
    /// Messages whose latest invocation failed as a whole, with its outcome.
    failed_invocations: BTreeMap<String, InvocationOutcome>,
}

type Decide = dyn FnMut(&str, usize) -> Option<Fault> + Send;

impl Default for TestAws {
    fn default() -> Self {
        Self::new()
    }
}

impl TestAws {
    /// Creates an account without queues.
    #[must_use]
    pub fn new() -> Self {
        let minutes = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / 60;
        let wall = UNIX_EPOCH + Duration::from_secs(minutes * 60);
        let state = KitState {
            account: Account::new(),
            latency: Duration::ZERO,
            calls: BTreeMap::new(),
            events: Vec::new(),
            alarms: Vec::new(),
            failed_invocations: BTreeMap::new(),
        };
        let shared = Shared {
            state: Mutex::new(state),
            faults: Mutex::new(Box::new(|_, _| None)),
            changes: watch::Sender::new(()),
            began: (Instant::now(), wall),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Sets the duration of each later call to AWS. By default calls take no time.
    pub fn latency(&self, latency: Duration) {
        self.state().latency = latency;
    }

    /// Makes later calls fail. The rule gets the operation of each call, such as `SendMessageBatch`, and the number of
    /// earlier calls of that operation. A later rule replaces this one.
    ///
    /// ```
    /// use redrive_local::kit::{Fault, TestAws};
    ///
    /// let aws = TestAws::new();
    /// aws.faults(|operation, number| (operation == "SendMessageBatch" && number == 0).then_some(Fault::Throttled));
    /// ```
    pub fn faults(&self, rule: impl FnMut(&str, usize) -> Option<Fault> + Send + 'static) {
        *lock(&self.shared.faults) = Box::new(rule);
    }

    /// Returns the number of calls that the clients made, failed ones included, by operation, such as `SendMessageBatch`.
    #[must_use]
    pub fn calls(&self) -> BTreeMap<String, usize> {
        self.state().calls.clone()
    }

    /// Returns the sum of all values of a metric, over all its dimensions.
    #[must_use]
    pub fn metric_sum(&self, namespace: &str, name: &str) -> f64 {
        self.state().account.metric_sum(namespace, name)
    }

    /// Returns everything that happened to messages so far, each with the time since the account was created.
    #[must_use]
    pub fn events(&self) -> Vec<(Duration, QueueEvent)> {
        self.state().events.clone()
    }

    /// Returns the wall-clock time of AWS, which follows tokio's clock.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        self.shared.began.1 + self.elapsed()
    }

    /// Returns the time since the account was created.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.shared.began.0.elapsed()
    }

    /// Runs an action on the account itself at the present moment, for actions without a method in the kit. Meanwhile,
    /// nothing else can use the account.
    pub fn with<T>(&self, action: impl FnOnce(&mut Account, SystemTime) -> T) -> T {
        let mut state = self.state();
        let now = self.now();
        let since_began = |at: SystemTime| at.duration_since(self.shared.began.1).unwrap_or_default();
        let heard = state.events.len();
        while let Some(due) = state.account.step(now) {
            state.note(since_began(due));
        }
        let result = action(&mut state.account, now);
        state.note(since_began(now));
        if state.events.len() > heard {
            self.shared.changes.send_replace(());
        }
        result
    }

    /// Returns the events for which a question has an answer.
    fn find<T>(&self, question: impl Fn(Duration, &QueueEvent) -> Option<T>) -> Vec<T> {
        self.state().events.iter().filter_map(|(at, event)| question(*at, event)).collect()
    }

    fn alarm_changes(&self, alarm: &str) -> Vec<(Duration, AlarmState)> {
        self.with(|_, _| ());
        let state = self.state();
        let changes = state.alarms.iter().filter(|(_, name, _)| name == alarm);
        changes.map(|&(at, _, state)| (at, state)).collect()
    }

    fn state(&self) -> MutexGuard<'_, KitState> {
        lock(&self.shared.state)
    }
}

/// Locks a mutex, also after a panic, because the test has failed then anyway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl KitState {
    /// Records the new events with their time since the account was created.
    fn note(&mut self, at: Duration) {
        self.events.extend(self.account.take_events().into_iter().map(|event| (at, event)));
        let changes = self.account.take_alarm_changes().into_iter();
        self.alarms.extend(changes.map(|change| (at, change.name, change.state)));
    }
}

impl fmt::Debug for TestAws {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TestAws")
    }
}
