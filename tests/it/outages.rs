//! A dependency is down for hours, and no message is lost, in a function and in a worker, in virtual time.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redrive::{Attribute, Consumer, Failure, Handler, Record};
use redrive_local::kit::{Queue, TestAws};
use redrive_local::{Counts, NewMessage};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

const MINUTE: Duration = Duration::from_secs(60);
const DOWN: Duration = Duration::from_secs(4 * 3_600);
/// `make explore` sends as many as docs/outages.md says.
const MESSAGES: usize = if option_env!("REDRIVE_EXPLORE").is_some() { 10_000 } else { 500 };

/// It is down from the start on.
#[derive(Clone)]
struct Bank(Arc<Mutex<Ledger>>);

struct Ledger {
    back_at: Instant,
    calls_while_down: usize,
    last_payment: Instant,
}

impl Bank {
    fn down_for(time: Duration) -> Self {
        let back_at = Instant::now() + time;
        Self(Arc::new(Mutex::new(Ledger { back_at, calls_while_down: 0, last_payment: back_at })))
    }

    async fn pay(self) -> Result<(), &'static str> {
        sleep(Duration::from_millis(20)).await;
        let (now, mut ledger) = (Instant::now(), self.0.lock().unwrap());
        if now < ledger.back_at {
            ledger.calls_while_down += 1;
            return Err("503 Service Unavailable");
        }
        ledger.last_payment = now;
        Ok(())
    }

    /// How often it was called while it was down, and how long after its return the last payment was made.
    fn told(&self) -> (usize, Duration) {
        let ledger = self.0.lock().unwrap();
        (ledger.calls_while_down, ledger.last_payment - ledger.back_at)
    }
}

impl Handler<Value> for Bank {
    type Error = Failure;

    async fn call(&self, _: Value) -> Result<(), Failure> {
        self.clone().pay().await.map_err(Failure::outage)
    }
}

fn queue(aws: &TestAws) -> Queue {
    aws.queue("orders").dead_letter_queue("orders-dead", 10).create()
}

/// Sends ten messages a second.
async fn send(queue: &Queue, messages: usize) {
    for number in 0..messages {
        queue.send(json!(number));
        if number % 10 == 9 {
            sleep(Duration::from_secs(1)).await;
        }
    }
}

/// Five sandboxes, each of which handles one batch at a time, until the queue is empty.
async fn invoke<H: Handler<Value>>(queue: &Queue, messages: usize, new: impl Fn() -> Consumer<H, Value>) {
    let idle = RefCell::new(vec![new(), new(), new(), new(), new()]);
    let mut mapping = queue.invokes(|event, deadline| {
        let (sandbox, idle) = (idle.borrow_mut().pop().expect("one is idle"), &idle);
        async move {
            let response = sandbox.handle(event, deadline).await;
            idle.borrow_mut().push(sandbox);
            response
        }
    });
    let is_sent = Cell::new(false);
    let sending = async {
        send(queue, messages).await;
        is_sent.set(true);
    };
    let running = async {
        while !is_sent.get() || queue.counts() != Counts::default() {
            mapping.run_for(MINUTE).await;
        }
    };
    tokio::join!(sending, running);
}

fn dead(queue: &Queue) -> usize {
    queue.dead_letter_queue().counts().visible
}

#[tokio::test(start_paused = true)]
async fn a_function_loses_no_message_in_four_hours() {
    let (aws, bank) = (TestAws::new(), Bank::down_for(DOWN));
    let queue = queue(&aws);
    invoke(&queue, MESSAGES, || Consumer::new(bank.clone()).sqs(aws.sqs()).max_receive_count(10)).await;
    let (calls, recovery) = bank.told();
    println!("a function: {calls} calls while the bank was down, done {recovery:?} after");
    assert_eq!(dead(&queue), 0);
    // A sandbox opens its breaker with three calls and the others of their batch, and then tries once a minute.
    assert!(calls <= 5 * (10 + 240), "{calls} calls");
    assert!(recovery <= 65 * MINUTE, "{recovery:?}");
}

#[tokio::test(start_paused = true)]
async fn without_outages_the_same_messages_are_dead_letters() {
    let (aws, bank) = (TestAws::new(), Bank::down_for(DOWN));
    let queue = queue(&aws);
    let charge = {
        let bank = bank.clone();
        move |_: Value| bank.clone().pay()
    };
    invoke(&queue, 200, || Consumer::new(charge.clone()).sqs(aws.sqs()).max_receive_count(10)).await;
    assert_eq!((dead(&queue), bank.told().0), (200, 2_000));
}

#[tokio::test(start_paused = true)]
async fn a_worker_spends_no_deliveries_while_the_bank_is_down() {
    let (aws, bank) = (TestAws::new(), Bank::down_for(DOWN));
    let queue = queue(&aws);
    let consumer = Consumer::new(bank.clone()).sqs(aws.sqs());
    let mut workers = queue.worked_by(|url, stop| consumer.work_until(url, stop));
    let sent = RefCell::new(Vec::new());
    let sending = async {
        for number in 0..MESSAGES {
            sent.borrow_mut().push(queue.send(json!(number)));
            if number % 10 == 9 {
                sleep(Duration::from_secs(1)).await;
            }
        }
    };
    tokio::join!(sending, workers.until_idle());
    let (calls, recovery) = bank.told();
    println!("a worker: {calls} calls while the bank was down, done {recovery:?} after");
    let receives = sent.borrow().iter().map(|message| message.received().len()).max();
    assert_eq!((dead(&queue), queue.counts()), (0, Counts::default()));
    assert!(receives <= Some(3), "a message was received {receives:?} times");
    assert!(calls <= 10 + 240, "{calls} calls");
    assert!(recovery <= 2 * MINUTE, "{recovery:?}");
}

#[tokio::test(start_paused = true)]
async fn a_tenant_that_is_down_does_not_stop_the_others() {
    fn tenant(record: &Record<'_>) -> Option<String> {
        record.attributes().get("tenant").and_then(Attribute::as_str).map(str::to_owned)
    }
    let (aws, calls) = (TestAws::new(), Arc::new(Mutex::new(Vec::new())));
    let queue = queue(&aws);
    let notify = {
        let calls = Arc::clone(&calls);
        move |tenant: String| {
            calls.lock().unwrap().push(tenant.clone());
            async move {
                sleep(Duration::from_millis(1)).await;
                if tenant == "a" { Err(Failure::outage("503")) } else { Ok(()) }
            }
        }
    };
    let consumer = Consumer::new(notify).sqs(aws.sqs()).max_receive_count(10).concurrency(1);
    let consumer = consumer.depends_on(tenant);
    let mut mapping = queue.invokes(|event, deadline| consumer.handle(event, deadline));
    for tenant in ["a", "a", "a", "a", "a", "b", "b"] {
        queue.send(NewMessage::from(json!(tenant).to_string().as_str()).attribute("tenant", tenant));
    }
    mapping.run_for(MINUTE / 2).await;
    assert_eq!(
        calls.lock().unwrap().join(""),
        "aaaabb",
        "after three outages, none of a runs but the one that had begun"
    );
    assert_eq!(queue.counts().in_flight, 5);
    queue.send(NewMessage::from("\"a\"").attribute("tenant", "a"));
    queue.send(NewMessage::from("\"b\"").attribute("tenant", "b"));
    mapping.run_for(MINUTE / 4).await;
    assert_eq!(calls.lock().unwrap().join(""), "aaaabbb");
    mapping.run_for(MINUTE).await;
    assert_eq!(calls.lock().unwrap().join(""), "aaaabbba", "one tries after a minute");
}

#[tokio::test(start_paused = true)]
async fn a_message_on_its_last_delivery_runs_although_the_dependency_is_down() {
    let (aws, bank) = (TestAws::new(), Bank::down_for(DOWN));
    let queue = aws.queue("orders").dead_letter_queue("orders-dead", 2).create();
    let consumer =
        Consumer::new(bank.clone()).sqs(aws.sqs()).max_receive_count(2).outage_horizon(5 * DOWN / 4);
    let mut mapping = queue.invokes(|event, deadline| consumer.handle(event, deadline));
    let orders: Vec<_> = (0..3).map(|number| queue.send(json!(number))).collect();
    mapping.run_for(MINUTE).await;
    assert_eq!(bank.told().0, 3, "they open the breaker");
    let held = queue.send(json!(3));
    mapping.run_for(MINUTE / 2).await;
    assert_eq!((bank.told().0, held.received().len()), (3, 1), "one that is held is not run");
    mapping.until_idle().await;
    assert!(orders.iter().chain([&held]).all(|order| order.done().attempts == 2));
    assert_eq!(dead(&queue), 0);
}
