//! Each message once: real consumers and workers on the kit's queues, with a store in the test's memory whose calls a test can
//! slow down, lose, or fail.

mod simulation;

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
        let aws = TestAws::new();
        let dead = queue.replace("orders", "orders-dead");
        let queue = aws.queue(queue).dead_letter_queue(&dead, 4).visibility_timeout(secs(30)).create();
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
async fn a_second_message_with_the_key_of_one_that_is_done_is_deleted_without_running() {
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
async fn without_a_function_the_key_is_that_of_the_message_which_a_retry_from_the_dead_letters_keeps() {
    let shop = Shop::new("orders");
    let store = Arc::new(Memory::new());
    let first = shop.queue.send("a");
    let consumer = shop.consumer_with(Arc::clone(&store));
    shop.invoke_until_idle(&consumer).await;
    assert_eq!(store.record(first.id()).unwrap().end, Some(End::Done));
    let origin = format!(r#"{{"message_id":"{}","redrives":1}}"#, first.id());
    let again = shop.queue.send(NewMessage::from("a").attribute("redrive.origin", &origin));
    shop.invoke_until_idle(&consumer).await;
    let _ = again.done();
    assert_eq!((shop.runs.bodies().len(), shop.sums.counts()), (1, [1, 1, 0, 0, 0]));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_failed_runs_again_at_once_when_it_comes_back() {
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
    let consumer = shop.consumer_with(Arc::clone(&store));
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
async fn a_key_of_no_bytes_or_too_many_is_that_of_a_malformed_message() {
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
    let shop = Shop::new("orders");
    let store = Scripted::new(|name, before| match name {
        "claim" if before < 2 => Call::Refused,
        "claim" if before == 2 => Call::After(secs(60)),
        _ => Call::Answered,
    });
    let message = shop.queue.send("a");
    shop.invoke_until_idle(&shop.consumer(Arc::clone(&store))).await;
    let _ = message.done();
    // After 2 and 4 s, and after 8 s and the 5 s that the store may take.
    assert_eq!(shop.runs.seconds(), [2 + 4 + 5 + 8]);
    assert_eq!(shop.sums.counts(), [1, 0, 0, 3, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_claim_whose_answer_was_lost_is_released_for_the_next_delivery() {
    let shop = Shop::new("orders");
    let store = Scripted::new(|name, before| match (name, before) {
        ("claim", 0) => Call::Unanswered,
        _ => Call::Answered,
    });
    let message = shop.queue.send("a");
    shop.invoke_until_idle(&shop.consumer(Arc::clone(&store))).await;
    let _ = message.done();
    assert_eq!((shop.runs.seconds(), shop.sums.counts()), (vec![2], [1, 0, 0, 1, 0]));
}

#[tokio::test(start_paused = true)]
async fn an_effect_is_not_repeated_because_its_end_could_not_be_recorded() {
    for call in [Call::Refused, Call::Unanswered] {
        let shop = Shop::new("orders");
        let store = Scripted::new(move |name, _| if name == "end" { call } else { Call::Answered });
        let message = shop.queue.send("a");
        shop.invoke_until_idle(&shop.consumer(Arc::clone(&store))).await;
        let _ = message.done();
        assert_eq!(store.calls(), ["claim", "end", "end", "end"]);
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
async fn a_group_goes_on_behind_a_message_that_was_handled_before_and_waits_behind_one_that_is_deferred() {
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
async fn on_its_last_delivery_a_message_waits_in_the_process_for_the_lease_of_another() {
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
async fn a_worker_that_cannot_renew_its_lease_cancels_the_handler_while_the_lease_still_holds() {
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
async fn the_message_of_a_worker_that_was_killed_runs_again_when_its_lease_has_ended() {
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
    Consumer::bulk(handler)
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
async fn what_fails_in_a_bulk_is_released_and_what_waits_behind_it_in_its_group_too() {
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
async fn a_store_that_panics_is_one_that_does_not_answer() {
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
    assert_eq!((shop.runs.bodies().len(), shop.sums.counts()), (1, [1, 0, 0, 1, 0]));
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
