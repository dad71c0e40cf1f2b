//! Messages that a store lets run only once: real consumers and workers on the kit's queues, with a store in memory whose calls
//! a test can slow down, lose, or fail.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redrive::once::{Change, Claim, Claimed, End, Memory, Once, Record, Store};
use redrive::{BatchReport, BoxError, Bulk, Consumer, Failure, Handler, Message, Text};
use redrive_local::NewMessage;
use redrive_local::kit::{Queue, TestAws};
use serde_json::json;
use tokio::time::{Instant, sleep};

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The sender of all messages of the test kit.
const ACCOUNT: &str = "123456789012";

/// How one call to a store goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Answered,
    /// It takes this long, and acts at its end.
    After(Duration),
    /// It does not reach the store.
    Refused,
    /// It acts, and its answer is lost.
    Unanswered,
}

type Script = Box<dyn FnMut(&str, usize) -> Call + Send>;

/// A store whose calls go as a script says, which gets the name of each call and how many of that name came before.
struct Scripted {
    records: Arc<Memory>,
    calls: Mutex<(Script, Vec<String>)>,
}

impl Scripted {
    fn new(script: impl FnMut(&str, usize) -> Call + Send + 'static) -> Arc<Self> {
        Arc::new(Self { records: Arc::default(), calls: Mutex::new((Box::new(script), Vec::new())) })
    }

    fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap().1.clone()
    }

    async fn call<T>(&self, name: &str, act: impl AsyncFnOnce(&Memory) -> T) -> Result<T, BoxError> {
        let call = {
            let (script, names) = &mut *self.calls.lock().unwrap();
            let before = names.iter().filter(|it| *it == name).count();
            names.push(name.to_owned());
            script(name, before)
        };
        match call {
            Call::Answered => Ok(act(&self.records).await),
            Call::After(time) => {
                sleep(time).await;
                Ok(act(&self.records).await)
            }
            Call::Refused => Err("no route to the table".into()),
            Call::Unanswered => {
                act(&self.records).await;
                Err("the connection was reset".into())
            }
        }
    }
}

/// A store whose calls go like this from one time on until another, counted from now. Each takes 50 ms otherwise.
fn away(from: Duration, until: Duration, how: Call) -> Arc<Scripted> {
    let began = Instant::now();
    Scripted::new(move |_, _| {
        if (from..until).contains(&began.elapsed()) { how } else { Call::After(Duration::from_millis(50)) }
    })
}

impl Store for Scripted {
    async fn claim(&self, claim: &Claim) -> Result<Claimed, BoxError> {
        self.call("claim", async |records| records.claim(claim).await).await?
    }

    async fn change(&self, key: &str, token: &str, change: &Change) -> Result<bool, BoxError> {
        let name = match change {
            Change::Renew(_) => "renew",
            Change::Release => "release",
            Change::End { .. } => "end",
        };
        self.call(name, async |records| records.change(key, token, change).await).await?
    }
}

/// The bodies whose handlers ran, with the time at which each began.
#[derive(Clone, Default)]
struct Runs(Arc<Mutex<Vec<(String, Duration)>>>);

impl Runs {
    fn bodies(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().map(|(body, _)| body.clone()).collect()
    }

    fn seconds(&self) -> Vec<u64> {
        self.0.lock().unwrap().iter().map(|(_, at)| at.as_secs()).collect()
    }

    /// A handler that does what the words of its message say: `take-N` s, then `fail`, `reject`, `discard`, `panic`, `hang`.
    /// After `once:`, they count for the first run only.
    fn handler(&self) -> impl Fn(Message<Text>) -> BoxFuture + Clone + use<> {
        let (runs, began) = (self.clone(), Instant::now());
        move |message| {
            let runs = runs.clone();
            Box::pin(async move {
                let body = message.body.0;
                let again = runs.bodies().contains(&body);
                runs.0.lock().unwrap().push((body.clone(), began.elapsed()));
                let words = match body.split_once("once:") {
                    Some((before, _)) if again => before,
                    _ => &body,
                };
                for word in words.split([' ', ':']) {
                    match word {
                        "fail" => Err("down")?,
                        "reject" => Err(Failure::reject("refused").with_reason("no-stock"))?,
                        "discard" => Err(Failure::discard("late"))?,
                        "panic" => panic!("oops"),
                        "hang" => std::future::pending().await,
                        _ => {}
                    }
                    if let Some(seconds) = word.strip_prefix("take-") {
                        sleep(secs(seconds.parse().unwrap())).await;
                    }
                }
                Ok(())
            })
        }
    }
}

type BoxFuture = std::pin::Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>>;

/// The sums of all reports.
#[derive(Clone, Default)]
struct Sums(Arc<Mutex<BatchReport>>);

impl Sums {
    fn observe(&self) -> impl Fn(&BatchReport) + Send + Sync + 'static {
        let sums = self.clone();
        move |report| {
            let mut sums = sums.0.lock().unwrap();
            sums.succeeded += report.succeeded;
            sums.replayed += report.replayed;
            sums.deferred += report.deferred;
            sums.worker_errors += report.worker_errors;
            sums.dead_lettered += report.dead_lettered;
            sums.discarded += report.discarded;
            sums.lease_lost += report.lease_lost;
            sums.outages += report.outages;
        }
    }

    /// Succeeded, replayed, deferred, errors, dead-lettered.
    fn counts(&self) -> [u64; 5] {
        let sums = self.0.lock().unwrap();
        [sums.succeeded, sums.replayed, sums.deferred, sums.worker_errors, sums.dead_lettered]
    }
}

struct Shop {
    aws: TestAws,
    queue: Queue,
    runs: Runs,
    sums: Sums,
}

impl Shop {
    fn new(queue: &str) -> Self {
        Self::with(queue, 4)
    }

    fn with(queue: &str, max_receive_count: u32) -> Self {
        let aws = TestAws::new();
        let dead = queue.replace("orders", "orders-dead");
        let queue = aws.queue(queue).dead_letter_queue(&dead, max_receive_count);
        let queue = queue.visibility_timeout(secs(30)).create();
        Self { aws, queue, runs: Runs::default(), sums: Sums::default() }
    }

    /// Its key is the first word of the body.
    fn consumer(&self, store: impl Store) -> Consumer<impl Handler<Message<Text>>, Message<Text>> {
        let key = |message: &Message<Text>| message.body.0.split(' ').next().unwrap_or_default().to_owned();
        self.consumer_with(Once::new(store).key(key))
    }

    fn consumer_with(
        &self,
        once: impl Into<Once<Message<Text>>>,
    ) -> Consumer<impl Handler<Message<Text>>, Message<Text>> {
        Consumer::new(self.runs.handler())
            .once(once)
            .sqs(self.aws.sqs())
            .dead_letter_queue_url(self.queue.dead_letter_queue().url())
            .max_receive_count(4)
            .observe(self.sums.observe())
    }

    async fn invoke_until_idle<H: Handler<Message<Text>>>(&self, consumer: &Consumer<H, Message<Text>>) {
        let invoke = |event, deadline| consumer.handle(event, deadline);
        self.queue.invokes(invoke).timeout(secs(20)).until_idle().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_of_a_done_message_is_deleted_without_running() {
    let shop = Shop::new("orders");
    let store = Arc::new(Memory::new());
    let consumer = shop.consumer(Arc::clone(&store));
    for body in ["a", "b", "a again"] {
        let message = shop.queue.send(body);
        shop.invoke_until_idle(&consumer).await;
        let _ = message.done();
    }
    assert_eq!(shop.runs.bodies(), ["a", "b"]);
    assert_eq!(shop.sums.counts(), [2, 1, 0, 0, 0]);
    assert_eq!(store.record("a").unwrap().end, Some(End::Done));
    assert_eq!(shop.aws.metric_sum("Redrive", "Replayed"), 0.0, "without a client nothing is published");
}

#[tokio::test(start_paused = true)]
async fn the_default_key_survives_a_retry_from_the_dead_letters() {
    let shop = Shop::new("orders");
    let store = Arc::new(Memory::new());
    let first = shop.queue.send("a");
    let consumer = shop.consumer_with(Arc::clone(&store));
    shop.invoke_until_idle(&consumer).await;
    assert_eq!(store.record(first.id()).unwrap().end, Some(End::Done));
    let origin = format!(r#"{{"message_id":"{}","redrives":1}}"#, first.id());
    let again = shop.queue.send(NewMessage::from("a").attribute("redrive.origin", &origin));
    shop.invoke_until_idle(&consumer.clone().origin_senders([ACCOUNT])).await;
    let _ = again.done();
    assert_eq!((shop.runs.bodies().len(), shop.sums.counts()), (1, [1, 1, 0, 0, 0]));
}

#[tokio::test(start_paused = true)]
async fn no_sender_takes_the_key_of_another_message_unless_its_origins_count() {
    let shop = Shop::new("orders");
    let store = Arc::new(Memory::new());
    let consumer = shop.consumer_with(Arc::clone(&store));
    let forged =
        NewMessage::from("forged").attribute("redrive.origin", r#"{"message_id":"a-payment","redrives":1}"#);
    let letter = shop.queue.send(forged.clone());
    shop.invoke_until_idle(&consumer).await;
    let note = letter.dead_letter();
    assert_eq!((note.reason.as_str(), shop.runs.bodies().len()), ("origin-sender", 0));
    let error = note.error.unwrap_or_default();
    assert!(error.contains(ACCOUNT) && error.contains("REDRIVE_ORIGIN_SENDERS"), "{error}");
    assert_eq!(store.record("a-payment"), None);
    // The origin of a sender that others are trusted before is as if it were not there.
    let other = shop.queue.send(forged.clone());
    shop.invoke_until_idle(&consumer.clone().origin_senders(["AROAOPERATORS"])).await;
    let _ = other.done();
    assert_eq!((store.record("a-payment"), store.record(other.id()).unwrap().end), (None, Some(End::Done)));
    // A key from the body is no other message's.
    let own = shop.queue.send(forged);
    shop.invoke_until_idle(&shop.consumer(Arc::clone(&store))).await;
    let _ = own.done();
    assert_eq!(store.record("forged").unwrap().end, Some(End::Done));
}

#[tokio::test(start_paused = true)]
async fn a_failed_message_runs_again_as_soon_as_it_returns() {
    for (how, seconds) in [("fail", 2), ("panic", 2), ("hang", 6)] {
        let shop = Shop::new("orders");
        let store = Arc::new(Memory::new());
        let consumer =
            shop.consumer(Arc::clone(&store)).time_limit(secs(4)).on_panic(redrive::OnFailure::Retry);
        let message = shop.queue.send(format!("a once:{how}"));
        shop.invoke_until_idle(&consumer).await;
        let _ = message.done();
        assert_eq!(shop.runs.seconds(), [0, seconds], "{how}");
        assert_eq!(shop.sums.counts(), [1, 0, 0, 1, 0], "{how}: it was not deferred");
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_is_released_after_a_timeout_also_by_a_slow_store() {
    let shop = Shop::new("orders");
    let store = Scripted::new(|name, _| match name {
        "release" => Call::After(Duration::from_millis(700)),
        _ => Call::Answered,
    });
    let message = shop.queue.send("a once:hang");
    shop.invoke_until_idle(&shop.consumer(Arc::clone(&store)).time_limit(secs(4))).await;
    let _ = message.done();
    assert_eq!((shop.runs.seconds().len(), shop.sums.counts()), (2, [1, 0, 0, 1, 0]));
}

#[tokio::test(start_paused = true)]
async fn a_slow_record_of_a_success_counts_toward_no_time_limit() {
    let shop = Shop::new("orders");
    let store = Scripted::new(|name, before| match (name, before) {
        ("end", 0) => Call::Refused,
        ("end", _) => Call::After(secs(3)),
        _ => Call::Answered,
    });
    let message = shop.queue.send("a take-3");
    shop.invoke_until_idle(&shop.consumer(Arc::clone(&store)).time_limit(secs(4))).await;
    let _ = message.done();
    assert_eq!((shop.sums.counts(), shop.sums.0.lock().unwrap().lease_lost), ([1, 0, 0, 0, 0], 0));
    assert_eq!(store.records.record("a").unwrap().end, Some(End::Done));
}

#[tokio::test(start_paused = true)]
async fn a_success_that_is_recorded_only_after_the_deadline_is_not_retried() {
    let shop = Shop::new("orders");
    let store = Scripted::new(|name, _| if name == "end" { Call::After(secs(4)) } else { Call::Answered });
    let message = shop.queue.send("a take-17");
    shop.invoke_until_idle(&shop.consumer(Arc::clone(&store))).await;
    let _ = message.done();
    assert_eq!((shop.runs.bodies().len(), shop.sums.counts()), (1, [1, 0, 0, 0, 0]));
}

#[tokio::test(start_paused = true)]
async fn a_rejection_is_final_until_the_letter_is_retried() {
    let shop = Shop::new("orders");
    let store = Arc::new(Memory::new());
    let consumer = shop.consumer_with(Arc::clone(&store)).origin_senders([ACCOUNT]);
    let first = shop.queue.send("once:reject");
    shop.invoke_until_idle(&consumer).await;
    assert_eq!(first.dead_letter().reason, "no-stock");
    // The producer's duplicate, with the same key and without a letter so far.
    let origin = |redrives| format!(r#"{{"message_id":"{}","redrives":{redrives}}}"#, first.id());
    let twin = |redrives| NewMessage::from("once:reject").attribute("redrive.origin", &origin(redrives));
    let again = shop.queue.send(twin(0));
    shop.invoke_until_idle(&consumer).await;
    assert_eq!((again.dead_letter().reason.as_str(), shop.runs.bodies().len()), ("no-stock", 1));
    let retried = shop.queue.send(twin(1));
    shop.invoke_until_idle(&consumer).await;
    let _ = retried.done();
    assert_eq!(shop.runs.bodies().len(), 2);
    assert_eq!(store.record(first.id()).unwrap().end, Some(End::Done));
}

#[tokio::test(start_paused = true)]
async fn another_body_under_the_same_key_is_dead_lettered() {
    let shop = Shop::new("orders");
    let key = |message: &Message<Text>| message.body.0[..1].to_owned();
    let consumer = shop.consumer_with(Once::new(Memory::new()).key(key).check_payload());
    for (body, reason) in [("a 1", None), ("a 1", None), ("a 2", Some("key-reused"))] {
        let message = shop.queue.send(body);
        shop.invoke_until_idle(&consumer).await;
        match reason {
            Some(reason) => assert_eq!(message.dead_letter().reason, reason),
            None => drop(message.done()),
        }
    }
    assert_eq!(shop.runs.bodies(), ["a 1"]);
    assert_eq!(shop.sums.counts(), [1, 1, 0, 1, 1]);
}

#[tokio::test(start_paused = true)]
async fn an_empty_or_too_long_key_makes_a_message_malformed() {
    for length in [0, 1_025] {
        let shop = Shop::new("orders");
        let once = Once::new(Memory::new()).key(move |_: &Message<Text>| "k".repeat(length));
        let message = shop.queue.send("a");
        shop.invoke_until_idle(&shop.consumer_with(once)).await;
        assert_eq!((message.dead_letter().reason.as_str(), shop.runs.bodies().len()), ("malformed", 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_does_not_run_while_the_store_cannot_be_reached() {
    for how in [Call::Refused, Call::Unanswered] {
        let shop = Shop::new("orders");
        let store = away(secs(0), secs(3), how);
        let message = shop.queue.send("a");
        shop.invoke_until_idle(&shop.consumer(Arc::clone(&store))).await;
        assert_eq!((message.done().attempts, shop.sums.counts()), (1, [1, 0, 0, 0, 0]), "{how:?}");
        let seconds = shop.runs.seconds();
        assert!(seconds.len() == 1 && (3..=5).contains(&seconds[0]), "{how:?}: {seconds:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_whose_claim_is_not_answered_waits_as_in_an_outage() {
    let shop = Shop::new("orders");
    let message = shop.queue.send("a");
    let store = away(secs(0), secs(16), Call::Unanswered);
    shop.invoke_until_idle(&shop.consumer(Arc::clone(&store))).await;
    assert_eq!((message.done().attempts, shop.sums.counts()), (2, [1, 0, 0, 0, 0]));
    assert_eq!(shop.sums.0.lock().unwrap().outages, 1);
    assert_eq!(shop.runs.bodies().len(), 1);
    assert!(store.calls().contains(&"release".to_owned()), "the claim may have been granted");
}

/// What happened to 400 messages while the store was away from second 1 on: letters, errors, runs, and the calls to it meanwhile.
async fn outage_in_a_worker(time: Duration, how: Call, has_own_dependencies: bool) -> (Shop, usize) {
    let shop = Shop::with("orders", 3);
    (0..400).for_each(|number| drop(shop.queue.send(format!("key-{number}"))));
    let (began, claims) = (Instant::now(), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&claims);
    let store = Scripted::new(move |_, _| {
        if !(secs(1)..secs(1) + time).contains(&began.elapsed()) {
            return Call::After(Duration::from_millis(50));
        }
        counted.fetch_add(1, SeqCst);
        how
    });
    let consumer = shop.consumer(store).max_receive_count(3);
    let consumer = match has_own_dependencies {
        true => consumer.depends_on(|_| Some("bank".to_owned())),
        false => consumer,
    };
    shop.queue.worked_by(|url, stop| consumer.work_until(url, stop)).until_idle().await;
    (shop, claims.load(SeqCst))
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_the_store_costs_a_worker_no_letters() {
    for has_own_dependencies in [false, true] {
        for (time, how) in [(16, Call::Refused), (16, Call::After(secs(60))), (1_200, Call::Refused)] {
            let (shop, calls) = outage_in_a_worker(secs(time), how, has_own_dependencies).await;
            let dead = shop.queue.dead_letter_queue().counts().visible;
            let case = format!("{time} s, {how:?}, {has_own_dependencies}");
            assert_eq!((dead, shop.sums.counts()), (0, [400, 0, 0, 0, 0]), "{case}");
            assert_eq!(shop.runs.bodies().len(), 400, "{case}");
            // Those in hand try for some seconds, then one message a minute.
            assert!(calls <= 700, "{case}: {calls} calls");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_the_store_costs_a_function_no_letters() {
    for (time, how) in [(16, Call::Refused), (16, Call::After(secs(60))), (1_200, Call::Refused)] {
        let shop = Shop::with("orders", 3);
        (0..400).for_each(|number| drop(shop.queue.send(format!("key-{number}"))));
        let store = away(Duration::from_millis(500), secs(time), how);
        let new = || shop.consumer(Arc::clone(&store)).max_receive_count(3);
        let idle = std::cell::RefCell::new(vec![new(), new(), new(), new(), new()]);
        let mapping = shop.queue.invokes(|event, deadline| {
            let (sandbox, idle) = (idle.borrow_mut().pop().expect("one is idle"), &idle);
            async move {
                let response = sandbox.handle(event, deadline).await;
                idle.borrow_mut().push(sandbox);
                response
            }
        });
        mapping.timeout(secs(20)).until_idle().await;
        let dead = shop.queue.dead_letter_queue().counts().visible;
        assert_eq!((dead, shop.sums.counts()), (0, [400, 0, 0, 0, 0]), "{time} s, {how:?}");
        assert_eq!(shop.runs.bodies().len(), 400);
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_on_its_last_delivery_waits_in_the_process_for_the_store() {
    let shop = Shop::with("orders.fifo", 1);
    let store = away(secs(0), secs(10), Call::Refused);
    let message = shop.queue.send(NewMessage::from("a").group("g"));
    shop.invoke_until_idle(&shop.consumer(store).max_receive_count(1)).await;
    assert_eq!((message.done().attempts, shop.sums.counts()), (1, [1, 0, 0, 0, 0]));
    let shop = Shop::with("orders.fifo", 1);
    let message = shop.queue.send(NewMessage::from("a").group("g"));
    shop.invoke_until_idle(&shop.consumer(away(secs(0), secs(90), Call::Refused)).max_receive_count(1)).await;
    assert_eq!((message.dead_letter().reason.as_str(), shop.runs.bodies().len()), ("idempotency-store", 0));
}

#[tokio::test(start_paused = true)]
async fn an_end_is_recorded_for_as_long_as_a_worker_has_the_message() {
    let shop = Shop::new("orders");
    let began = Instant::now();
    let store = Scripted::new(move |name, _| match name {
        "end" if began.elapsed() < secs(100) => Call::Refused,
        _ => Call::Answered,
    });
    let consumer = shop.consumer(Arc::clone(&store));
    let messages = ["a", "a again"].map(|body| shop.queue.send(body));
    shop.queue.worked_by(|url, stop| consumer.work_until(url, stop)).workers(2).until_idle().await;
    messages.iter().for_each(|message| assert!(message.done().attempts > 0));
    assert_eq!(shop.runs.bodies().len(), 1, "the duplicate does not run");
    assert_eq!((shop.sums.counts()[..2].to_vec(), shop.sums.0.lock().unwrap().lease_lost), (vec![1, 1], 0));
    assert_eq!(store.records.record("a").unwrap().end, Some(End::Done));
    let ends = store.calls().iter().filter(|name| *name == "end").count();
    assert!((15..40).contains(&ends), "{ends} tries");
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_ends_waits_for_the_record_of_an_end() {
    let shop = Shop::new("orders");
    let store = Scripted::new(|name, _| if name == "end" { Call::Refused } else { Call::Answered });
    let consumer = shop.consumer(Arc::clone(&store));
    let message = shop.queue.send("a");
    let began = Instant::now();
    shop.queue.worked_by(|url, stop| consumer.work_until(url, stop)).run_for(secs(60)).await;
    let took = began.elapsed();
    assert!((secs(85)..secs(92)).contains(&took), "25 s after the signal: {took:?}");
    let _ = message.done();
    assert_eq!((shop.sums.counts()[0], shop.sums.0.lock().unwrap().lease_lost), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_is_answered_after_the_signal_begins_no_handler() {
    for is_bulk in [false, true] {
        let shop = Shop::new("orders");
        let slow = |name: &str, _| if name == "claim" { Call::After(secs(3)) } else { Call::Answered };
        let store = Scripted::new(slow);
        let message = shop.queue.send("a");
        let calls = Arc::default();
        let began = Instant::now();
        if is_bulk {
            let consumer = bulk_of(&shop, Arc::clone(&store), Arc::clone(&calls));
            shop.queue.worked_by(|url, stop| consumer.work_until(url, stop)).run_for(secs(2)).await;
        } else {
            let consumer = shop.consumer(Arc::clone(&store));
            shop.queue.worked_by(|url, stop| consumer.work_until(url, stop)).run_for(secs(2)).await;
        }
        assert!(began.elapsed() < secs(7), "the claim takes 3 s: {:?}", began.elapsed());
        assert!(shop.runs.bodies().is_empty() && calls.lock().unwrap().is_empty());
        assert_eq!(store.records.record("a").unwrap().token, "", "it is released");
        shop.invoke_until_idle(&shop.consumer(Arc::clone(&store.records))).await;
        // A poll that was open when the worker was told to end receives it once more.
        assert!(message.done().attempts <= 3);
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_is_lost_ends_the_tries_to_record_an_end() {
    let shop = Shop::new("orders");
    let store = Scripted::new(|name, before| match (name, before) {
        ("end", 0..5) => Call::Refused,
        _ => Call::Answered,
    });
    let consumer = shop.consumer(Arc::clone(&store));
    let message = shop.queue.send("a take-1");
    let mut workers = shop.queue.worked_by(|url, stop| consumer.work_until(url, stop));
    let taken = async {
        sleep(secs(2)).await;
        let other = Claim::new("a", "another");
        store.records.change("a", &store.records.record("a").unwrap().token, &Change::Release).await.unwrap();
        assert_eq!(store.records.claim(&other).await.unwrap(), Claimed::Granted);
    };
    tokio::join!(workers.until_idle(), taken);
    let _ = message.done();
    assert_eq!(store.calls().iter().filter(|name| *name == "end").count(), 6);
    assert_eq!((shop.sums.counts()[0], shop.sums.0.lock().unwrap().lease_lost), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_function_tries_to_record_an_end_until_its_time_ends() {
    for (until, lost) in [(secs(10), 0), (secs(90), 1)] {
        let shop = Shop::new("orders");
        let began = Instant::now();
        let store = Scripted::new(move |name, _| {
            if name == "end" && began.elapsed() < until { Call::Refused } else { Call::Answered }
        });
        let message = shop.queue.send("a");
        shop.invoke_until_idle(&shop.consumer(Arc::clone(&store))).await;
        assert_eq!(message.done().attempts, 1);
        assert_eq!((shop.runs.bodies().len(), shop.sums.counts()), (1, [1, 0, 0, 0, 0]));
        assert_eq!(shop.sums.0.lock().unwrap().lease_lost, lost, "{until:?}");
        assert_eq!(store.records.record("a").unwrap().end.is_some(), lost == 0);
        assert!(began.elapsed() < secs(21), "{:?}", began.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn an_effect_is_not_repeated_because_its_end_could_not_be_recorded() {
    for call in [Call::Refused, Call::Unanswered] {
        let shop = Shop::new("orders");
        let store = Scripted::new(move |name, _| if name == "end" { call } else { Call::Answered });
        let message = shop.queue.send("a");
        shop.invoke_until_idle(&shop.consumer(Arc::clone(&store))).await;
        let _ = message.done();
        assert_eq!((shop.runs.bodies().len(), shop.sums.counts()), (1, [1, 0, 0, 0, 0]));
        assert_eq!(shop.sums.0.lock().unwrap().lease_lost, 1);
        let end = store.records.record("a").unwrap().end;
        assert_eq!(end.is_some(), call == Call::Unanswered, "it says what is known");
    }
}

#[tokio::test(start_paused = true)]
async fn an_end_that_is_recorded_at_the_second_try_is_a_success() {
    for call in [Call::Refused, Call::Unanswered] {
        let shop = Shop::new("orders");
        let is_first = move |name: &str, before| name == "end" && before == 0;
        let store =
            Scripted::new(move |name, before| if is_first(name, before) { call } else { Call::Answered });
        shop.queue.send("a");
        shop.invoke_until_idle(&shop.consumer(Arc::clone(&store))).await;
        assert_eq!((shop.sums.counts()[0], shop.sums.0.lock().unwrap().lease_lost), (1, 0), "{call:?}");
        assert_eq!(store.records.record("a").unwrap().end, Some(End::Done));
    }
}

#[tokio::test(start_paused = true)]
async fn ten_messages_take_two_round_trips_to_the_store() {
    let shop = Shop::new("orders");
    let store = Scripted::new(|_, _| Call::After(Duration::from_millis(5)));
    (0..10).for_each(|number| drop(shop.queue.send(format!("key-{number}"))));
    let consumer = shop.consumer(Arc::clone(&store));
    let began = Instant::now();
    let event = shop.queue.receive(10);
    let event = serde_json::from_value(json!({ "Records": event })).unwrap();
    consumer.handle(event, began + secs(20)).await.unwrap();
    assert_eq!(began.elapsed(), Duration::from_millis(10));
    assert_eq!(store.calls().len(), 20);
}

#[tokio::test(start_paused = true)]
async fn a_group_continues_behind_a_replay_and_waits_behind_a_deferral() {
    let shop = Shop::new("orders.fifo");
    let store = Arc::new(Memory::new());
    let consumer = shop.consumer(Arc::clone(&store));
    let send = |body: &str| shop.queue.send(NewMessage::from(body).group("g"));
    send("a");
    shop.invoke_until_idle(&consumer).await;
    // Another process has the key `b` for 60 s.
    let mut taken = Claim::new("b", "another");
    taken.lease = secs(60);
    assert_eq!(store.claim(&taken).await.unwrap(), Claimed::Granted);
    let after = ["a 2", "b", "c"].map(send);
    shop.invoke_until_idle(&consumer).await;
    assert!(after[0].done().after < secs(1));
    let _ = after[1].done();
    let _ = after[2].done();
    assert_eq!(shop.runs.bodies(), ["a", "b", "c"]);
    assert!(shop.runs.seconds()[1] >= 60, "{:?}", shop.runs.seconds());
    assert_eq!(shop.sums.counts()[1..3], [1, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_message_on_its_last_delivery_waits_for_the_lease_of_another() {
    let shop = Shop::new("orders");
    let store = Arc::new(Memory::new());
    let consumer = shop.consumer(Arc::clone(&store)).backoff(redrive::Backoff::fixed(secs(1)).unwrap());
    let message = shop.queue.send("a");
    let mut taken = Claim::new("a", "another");
    taken.lease = secs(3);
    // Deliveries 1 to 3 are used up by another consumer.
    for _ in 0..3 {
        let _ = shop.queue.receive(1);
        sleep(secs(31)).await;
    }
    assert_eq!(store.claim(&taken).await.unwrap(), Claimed::Granted);
    shop.invoke_until_idle(&consumer).await;
    assert_eq!(message.done().attempts, 4);
    assert_eq!(shop.sums.counts(), [1, 0, 0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_worker_keeps_its_key_for_as_long_as_its_handler_runs() {
    let shop = Shop::new("orders");
    let store = Scripted::new(|_, _| Call::Answered);
    let consumer = shop.consumer(Arc::clone(&store));
    let first = shop.queue.send("a take-200");
    let second = shop.queue.send("a take-1");
    shop.queue.worked_by(|url, stop| consumer.work_until(url, stop)).workers(2).until_idle().await;
    let _ = first.done();
    let _ = second.done();
    assert_eq!(shop.runs.bodies().len(), 1);
    let renewals = store.calls().iter().filter(|name| *name == "renew").count();
    assert!((15..=20).contains(&renewals), "{renewals}");
    assert_eq!(shop.sums.counts()[..2], [1, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_worker_cancels_a_handler_before_its_unrenewed_lease_ends() {
    let shop = Shop::new("orders");
    let (began, released) = (Instant::now(), Arc::new(Mutex::new(None)));
    let told = Arc::clone(&released);
    let store = Scripted::new(move |name, _| match name {
        "renew" => Call::Refused,
        "release" => {
            told.lock().unwrap().get_or_insert(began.elapsed());
            Call::Answered
        }
        _ => Call::Answered,
    });
    let consumer = shop.consumer(Arc::clone(&store));
    let message = shop.queue.send("a once:take-300");
    shop.queue.worked_by(|url, stop| consumer.work_until(url, stop)).until_idle().await;
    let _ = message.done();
    // The others wait for 35 s.
    let released = released.lock().unwrap().unwrap();
    assert!((secs(29)..secs(31)).contains(&released), "{released:?}");
    assert_eq!((shop.runs.bodies().len(), shop.sums.0.lock().unwrap().lease_lost), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_killed_workers_message_runs_again_after_its_lease() {
    let shop = Shop::new("orders");
    let store = Arc::new(Memory::new());
    let consumer = shop.consumer(Arc::clone(&store));
    let message = shop.queue.send("a once:take-300");
    let mut workers = shop.queue.worked_by(|url, stop| consumer.work_until(url, stop));
    workers.killed_after(secs(1)).await;
    workers.until_idle().await;
    let _ = message.done();
    // The message is visible after 30 s, the lease lasts 35 s.
    let seconds = shop.runs.seconds();
    assert!(seconds.len() == 2 && (35..40).contains(&seconds[1]), "{seconds:?}");
    assert_eq!(shop.sums.counts()[..3], [1, 0, 1]);
}

/// The first word of each body is its key.
fn bulk_of(
    shop: &Shop,
    store: impl Store,
    calls: Arc<Mutex<Vec<Vec<String>>>>,
) -> Consumer<impl Handler<Bulk<Text>>, Bulk<Text>> {
    let key = |message: &Text| message.0.split(' ').next().unwrap_or_default().to_owned();
    let handler = move |bulk: Bulk<Text>| {
        calls.lock().unwrap().push(bulk.iter().map(|item| item.0.clone()).collect());
        async move {
            for item in bulk {
                match item.0.split(' ').next_back() {
                    Some("fail") => item.fail("down"),
                    Some("reject") => item.fail(Failure::reject("refused")),
                    _ => {}
                }
            }
            Ok::<_, Failure>(())
        }
    };
    Consumer::new(handler)
        .once(Once::new(store).key(key))
        .sqs(shop.aws.sqs())
        .dead_letter_queue_url(shop.queue.dead_letter_queue().url())
        .max_receive_count(4)
        .observe(shop.sums.observe())
}

#[tokio::test(start_paused = true)]
async fn a_bulk_handler_gets_each_key_once() {
    let shop = Shop::new("orders");
    let (store, calls) = (Arc::new(Memory::new()), Arc::default());
    let consumer = bulk_of(&shop, Arc::clone(&store), Arc::clone(&calls));
    let invoke = |event, deadline| consumer.handle(event, deadline);
    for bodies in [&["a", "b", "c reject"][..], &["a 2", "c 2", "d", "d 2"]] {
        bodies.iter().for_each(|body| drop(shop.queue.send(*body)));
        shop.queue.invokes(invoke).timeout(secs(20)).batching_window(secs(1)).until_idle().await;
    }
    let mut seen = calls.lock().unwrap().concat();
    seen.sort_unstable();
    assert_eq!(seen, ["a", "b", "c reject", "d"]);
    // `d 2` waits for the lease of `d`, and is then replayed.
    assert_eq!(shop.sums.counts(), [3, 2, 1, 2, 2]);
    let ends = ["a", "b", "c", "d"].map(|key| store.record(key).unwrap().end.is_some());
    assert_eq!(ends, [true; 4]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_bulk_message_and_its_followers_release_their_keys() {
    let shop = Shop::new("orders.fifo");
    let (store, calls) = (Arc::new(Memory::new()), Arc::default());
    let consumer = bulk_of(&shop, Arc::clone(&store), Arc::clone(&calls));
    let messages = ["a fail", "b"].map(|body| shop.queue.send(NewMessage::from(body).group("g")));
    let invoke = |event, deadline| consumer.handle(event, deadline);
    shop.queue.invokes(invoke).timeout(secs(20)).until_idle().await;
    let _ = messages[1].done();
    assert_eq!(shop.sums.counts()[1..3], [0, 0], "nothing had to wait for a lease");
    let of = |key: &str| -> Record { store.record(key).unwrap() };
    assert_eq!((of("a").end, of("b").end), (None, Some(End::Done)));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_panics_counts_as_one_that_does_not_answer() {
    struct Panics(AtomicUsize);
    impl Store for Panics {
        async fn claim(&self, _: &Claim) -> Result<Claimed, BoxError> {
            match self.0.fetch_add(1, SeqCst) {
                0 => panic!("no pool"),
                _ => Ok(Claimed::Granted),
            }
        }
        async fn change(&self, _: &str, _: &str, _: &Change) -> Result<bool, BoxError> {
            panic!("no pool")
        }
    }
    let shop = Shop::new("orders");
    let message = shop.queue.send("a");
    shop.invoke_until_idle(&shop.consumer_with(Panics(AtomicUsize::new(0)))).await;
    let _ = message.done();
    assert_eq!((shop.runs.bodies().len(), shop.sums.counts()), (1, [1, 0, 0, 0, 0]));
}

#[tokio::test(start_paused = true)]
async fn a_test_message_of_the_console_needs_no_store() {
    let store = Scripted::new(|_, _| Call::Refused);
    let event = crate::other_events::sample("Ada");
    let shop = Shop::new("orders");
    let consumer = shop.consumer(Arc::clone(&store));
    consumer.handle(serde_json::from_value(event).unwrap(), Instant::now() + secs(9)).await.unwrap();
    assert!(store.calls().is_empty());
}
