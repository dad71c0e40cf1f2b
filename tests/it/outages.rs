//! A dependency is down for hours, and no message is lost: as a function and as a worker, in virtual time.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use lambda_runtime::tower::Service;
use lambda_runtime::{Context, LambdaEvent};
use redrive::{Attribute, Consumer, Failure, Handler, OnOutage, Outage, Record};
use redrive_local::kit::{Queue, TestAws};
use redrive_local::{Counts, NewMessage};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::support::{at_a_time, event};

const MINUTE: Duration = Duration::from_secs(60);
const DOWN: Duration = Duration::from_secs(4 * 3_600);
/// `make explore` sends as many as docs/outages.md says.
const MESSAGES: usize = if option_env!("REDRIVE_EXPLORE").is_some() { 10_000 } else { 2_000 };

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
    let consumer = Consumer::new(notify).sqs(aws.sqs()).max_receive_count(10).concurrency(at_a_time(1));
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

const FUNCTION: &str = "arn:aws:lambda:eu-central-1:123456789012:function:orders:live";

/// What redrive has told of outages.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<Outage>>>);

impl OnOutage for Told {
    async fn on_outage(&self, outage: Outage) {
        self.0.lock().unwrap().push(outage);
    }
}

/// Hands over messages that Lambda invokes a function with, which has 30 s.
async fn invoke_once<H: Handler<Value>>(consumer: &Consumer<H, Value>, numbers: &[u32]) -> SqsBatchResponse {
    let messages: SqsEvent = serde_json::from_value(event(numbers)).unwrap();
    let mut context = Context::default();
    let deadline = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + Duration::from_secs(30);
    context.deadline = deadline.as_millis() as u64;
    FUNCTION.clone_into(&mut context.invoked_function_arn);
    consumer.clone().call(LambdaEvent::new(messages, context)).await.unwrap()
}

/// 503 for odd numbers.
async fn odd_is_down(number: Value) -> Result<(), Failure> {
    sleep(Duration::from_millis(1)).await;
    if number.as_u64().unwrap() % 2 == 1 { Err(Failure::outage("503")) } else { Ok(()) }
}

#[tokio::test(start_paused = true)]
async fn a_function_is_told_of_an_outage_after_batches_that_stay_in_the_queue() {
    let told = Told::default();
    let consumer = Consumer::new(odd_is_down).max_receive_count(10).on_outage(told.clone());
    invoke_once(&consumer, &[1, 3]).await;
    assert!(told.0.lock().unwrap().is_empty(), "two outages do not open the breaker");
    let until = Instant::now() + Duration::from_millis(29_900);
    let began = SystemTime::now();
    invoke_once(&consumer, &[5]).await;
    let lag = began.elapsed().unwrap();
    invoke_once(&consumer, &[7]).await;
    let outages = told.0.lock().unwrap().clone();
    let [first, second] = &outages[..] else { panic!("{outages:?}") };
    let arns = (first.queue_arn.as_str(), first.function_arn.as_str());
    assert_eq!(arns, ("arn:aws:sqs:eu-west-1:123456789012:orders", FUNCTION));
    assert!(first.began <= first.now && second.began <= second.now, "{outages:?}");
    let apart =
        |one: SystemTime, other: SystemTime| other.duration_since(one).unwrap_or_else(|it| it.duration());
    assert!(apart(first.began, second.began) < Duration::from_secs(1), "{outages:?}");
    let early = until.into_std().duration_since(first.until);
    assert!(early < Duration::from_millis(100) + lag, "{early:?} with {lag:?} of real time");
    let deadline = Instant::now() + Duration::from_secs(30);
    consumer.handle(serde_json::from_value(event([9])).unwrap(), deadline).await.unwrap();
    assert_eq!(told.0.lock().unwrap().len(), 2, "nobody knows the function");
    // The wall clock runs as well, and may have been ahead when the breaker opened.
    sleep(2 * MINUTE).await;
    invoke_once(&consumer, &[2]).await;
    invoke_once(&consumer, &[11]).await;
    assert_eq!(told.0.lock().unwrap().len(), 2, "it works again");
}

#[tokio::test(start_paused = true)]
async fn a_function_is_not_told_of_an_outage_of_a_named_dependency_or_of_a_batch_with_a_message_that_is_done()
{
    fn of_even(record: &Record<'_>) -> Option<&'static str> {
        record.body().ends_with('2').then_some("even")
    }
    let told = Told::default();
    let consumer =
        Consumer::new(odd_is_down).max_receive_count(10).depends_on(of_even).on_outage(told.clone());
    invoke_once(&consumer, &[1, 3, 5, 2]).await;
    assert!(told.0.lock().unwrap().is_empty(), "Lambda deletes a message after the response");
    invoke_once(&consumer, &[7]).await;
    assert_eq!(told.0.lock().unwrap().len(), 1);

    let named = |number: Value| async move { odd_is_down(number).await.map_err(|failure| failure.of("odd")) };
    let consumer = Consumer::new(named).depends_on(|_: &Record<'_>| Some("odd")).max_receive_count(10);
    let consumer = consumer.on_outage(told.clone());
    invoke_once(&consumer, &[1, 3, 5]).await;
    invoke_once(&consumer, &[7]).await;
    assert_eq!(told.0.lock().unwrap().len(), 1);
}

struct Stuck;

impl OnOutage for Stuck {
    async fn on_outage(&self, _: Outage) {
        std::future::pending().await
    }
}

struct Panics;

impl OnOutage for Panics {
    async fn on_outage(&self, _: Outage) {
        panic!("on purpose");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_told_of_an_outage_neither_changes_the_response_nor_outlives_the_deadline() {
    let without = Consumer::new(odd_is_down).max_receive_count(10);
    for consumer in [without.clone().on_outage(Stuck), without.clone().on_outage(Panics)] {
        let began = Instant::now();
        let response = invoke_once(&consumer, &[1, 3, 5]).await;
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
        assert_eq!(response, invoke_once(&without, &[1, 3, 5]).await);
    }
}
