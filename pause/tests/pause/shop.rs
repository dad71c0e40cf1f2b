//! A function that calls a bank, its queue, and the clients with which it pauses its mapping.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lambda_runtime::tower::Service;
use lambda_runtime::{Context, LambdaEvent};
use redrive::{Consumer, Failure, Handler};
use redrive_local::Counts;
use redrive_local::kit::{Queue, TestAws};
use redrive_pause::{Pause, aws_sdk_lambda, aws_sdk_scheduler};
use redrive_sqs::pause_schedules;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

pub(crate) const MINUTE: Duration = Duration::from_secs(60);
pub(crate) const ARN: &str = "arn:aws:lambda:eu-central-1:123456789012:function:orders";

pub(crate) struct Shop {
    pub(crate) aws: TestAws,
    pub(crate) queue: Queue,
    /// How long Lambda keeps a process that does nothing.
    pub(crate) processes_last: Duration,
    pub(crate) bank: Bank,
}

/// It is down from the start on.
#[derive(Clone)]
pub(crate) struct Bank(Arc<Mutex<Ledger>>);

struct Ledger {
    back_at: Instant,
    calls_while_down: usize,
    last_payment: Instant,
}

impl Handler<Value> for Bank {
    async fn call(&self, _: Value) -> Result<(), Failure> {
        sleep(Duration::from_millis(20)).await;
        let (now, mut ledger) = (Instant::now(), self.0.lock().unwrap());
        if now < ledger.back_at {
            ledger.calls_while_down += 1;
            return Err(Failure::outage("503 Service Unavailable"));
        }
        ledger.last_payment = now;
        Ok(())
    }
}

impl Bank {
    /// How often it was called while it was down, and how long after its return the last payment was made.
    pub(crate) fn report(&self) -> (usize, Duration) {
        let ledger = self.0.lock().unwrap();
        (ledger.calls_while_down, ledger.last_payment - ledger.back_at)
    }
}

impl Shop {
    pub(crate) fn with_bank_down_for(time: Duration) -> Self {
        let aws = TestAws::new();
        let back_at = Instant::now() + time;
        let ledger = Ledger { back_at, calls_while_down: 0, last_payment: back_at };
        Self {
            queue: aws.queue("orders").dead_letter_queue("orders-dead", 10).create(),
            processes_last: Duration::MAX,
            bank: Bank(Arc::new(Mutex::new(ledger))),
            aws,
        }
    }

    pub(crate) fn lambda(&self) -> aws_sdk_lambda::Client {
        use aws_sdk_lambda::config::{BehaviorVersion, Config, Credentials, Region};
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("eu-central-1"))
            .credentials_provider(Credentials::new("test", "test", None, None, "test"))
            .http_client(self.aws.clone());
        aws_sdk_lambda::Client::from_conf(config.build())
    }

    pub(crate) fn scheduler(&self) -> aws_sdk_scheduler::Client {
        use aws_sdk_scheduler::config::{BehaviorVersion, Config, Credentials, Region};
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("eu-central-1"))
            .credentials_provider(Credentials::new("test", "test", None, None, "test"))
            .http_client(self.aws.clone());
        aws_sdk_scheduler::Client::from_conf(config.build())
    }

    /// A process of the function.
    pub(crate) fn process(&self) -> Consumer<Bank, Value> {
        let pause = Pause::new(&self.lambda(), &self.scheduler(), "arn:aws:iam::123456789012:role/resume");
        let consumer = Consumer::new(self.bank.clone()).sqs(self.aws.sqs()).max_receive_count(10);
        let aws = self.aws.clone();
        redrive::tools::simulated(consumer, |_| None, move || aws.now()).unwrap().on_outage(pause)
    }

    /// Sends ten messages a second, and handles them in processes that each have one batch at a time, until the
    /// queue is empty and the mapping is restored.
    pub(crate) async fn run(&self, messages: usize, disabling_takes: Duration) {
        let idle = RefCell::new(Vec::new());
        let mapping = self.queue.invokes(|event, _| {
            idle.borrow_mut().retain(|(since, _): &(Instant, _)| since.elapsed() < self.processes_last);
            let process = idle.borrow_mut().pop().map(|(_, process)| process);
            let (mut process, idle) = (process.unwrap_or_else(|| self.process()), &idle);
            async move {
                let response = process.call(LambdaEvent::new(event, context())).await;
                idle.borrow_mut().push((Instant::now(), process));
                response
            }
        });
        let mut mapping = mapping.disabling_takes(disabling_takes);
        let is_sent = Cell::new(false);
        let sending = async {
            for number in 0..messages {
                self.queue.send(json!(number));
                if number % 10 == 9 {
                    sleep(Duration::from_secs(1)).await;
                }
            }
            is_sent.set(true);
        };
        let running = async {
            while !is_sent.get() || self.queue.counts() != Counts::default() {
                mapping.run_for(MINUTE).await;
            }
            // Until the last schedule has run.
            mapping.run_for(10 * MINUTE).await;
        };
        tokio::join!(sending, running);
    }

    /// The state of the mapping, and its maximum concurrency.
    pub(crate) async fn mapping(&self) -> (String, Option<i32>) {
        let found = self.lambda().list_event_source_mappings().send().await.unwrap();
        let mapping = &found.event_source_mappings()[0];
        let limit = mapping.scaling_config().and_then(|scaling| scaling.maximum_concurrency());
        (mapping.state().unwrap().to_owned(), limit)
    }

    /// The schedules of the mapping that exist.
    pub(crate) async fn schedules(&self) -> Vec<String> {
        let queue_arn = self.aws.with(|account, _| account.queue_arn("orders"));
        let mut existing = Vec::new();
        for name in pause_schedules(&queue_arn, ARN) {
            if self.scheduler().get_schedule().name(&name).send().await.is_ok() {
                existing.push(name);
            }
        }
        existing
    }

    pub(crate) fn dead(&self) -> usize {
        self.queue.dead_letter_queue().counts().visible
    }

    /// How many calls the services had, as in `lambda.UpdateEventSourceMapping`.
    pub(crate) fn calls(&self) -> BTreeMap<String, usize> {
        self.aws.with(|account, _| account.calls().clone())
    }
}

/// Of an invocation that may last for 30 s.
fn context() -> Context {
    let mut context = Context::default();
    let deadline = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + Duration::from_secs(30);
    context.deadline = deadline.as_millis() as u64;
    ARN.clone_into(&mut context.invoked_function_arn);
    context
}
