//! The rates at which messages start, in virtual time.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redrive::tokens::{Bucket, Lease, Tokens};
use redrive::{Attribute, BoxError, Consumer, Failure, Handler, Message, Rate, Record};
use redrive_local::NewMessage;
use redrive_local::kit::{Queue, TestAws};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

const MINUTE: Duration = Duration::from_secs(60);

/// When handlers began, since the start of the test.
#[derive(Clone)]
struct Starts(Arc<Mutex<Vec<Duration>>>, Instant);

impl Starts {
    fn new() -> Self {
        Self(Arc::default(), Instant::now())
    }

    fn handler(&self) -> impl Handler<Value> + Clone {
        let Self(starts, began) = self.clone();
        move |_: Value| {
            starts.lock().unwrap().push(began.elapsed());
            async {
                sleep(Duration::from_millis(50)).await;
                Ok::<_, Failure>(())
            }
        }
    }

    fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// How many began in the second with the most.
    fn most_in_a_second(&self) -> usize {
        let mut starts = self.0.lock().unwrap();
        starts.sort_unstable();
        let until = |end: Duration| starts.partition_point(|at| *at < end);
        let counts = starts.iter().map(|from| until(*from + Duration::from_secs(1)) - until(*from));
        counts.max().unwrap_or_default()
    }
}

fn filled(aws: &TestAws, messages: usize) -> Queue {
    let queue = aws.queue("orders").dead_letter_queue("orders-dead", 3).create();
    (0..messages).for_each(|number| drop(queue.send(json!(number))));
    queue
}

/// Runs so many workers for a minute, each with this rate, and says how many messages began.
async fn a_minute(workers: usize, rate: Rate, messages: usize) -> Starts {
    let (aws, starts) = (TestAws::new(), Starts::new());
    aws.latency(Duration::from_millis(20));
    let queue = filled(&aws, messages);
    let consumer = Consumer::new(starts.handler()).sqs(aws.sqs()).rate(rate).concurrency(20);
    queue.worked_by(|url, stop| consumer.work_until(url, stop)).workers(workers).run_for(MINUTE).await;
    assert_eq!(queue.counts().in_flight, 0, "what was received has ended");
    starts
}

fn holds(starts: &Starts, wanted: usize) {
    let count = starts.count();
    println!("{count} started, wanted {wanted}, at most {} in a second", starts.most_in_a_second());
    assert!(count.abs_diff(wanted) * 20 <= wanted, "{count} started, wanted {wanted}");
}

#[tokio::test(start_paused = true)]
async fn a_worker_starts_fifty_messages_a_second() {
    let starts = a_minute(1, Rate::per_second(50), 4_000).await;
    holds(&starts, 3_000);
    assert!(starts.most_in_a_second() <= 26 + 50, "the burst and a second's worth");
}

#[tokio::test(start_paused = true)]
async fn a_worker_starts_as_many_a_minute_as_it_may_also_if_they_are_few() {
    holds(&a_minute(1, Rate::per_second(1), 200).await, 60);
    holds(&a_minute(1, Rate::per_minute(20).burst(1), 100).await, 20);
    holds(&a_minute(1, Rate::per_second(2), 200).await, 120);
}

#[tokio::test(start_paused = true)]
async fn the_rates_of_several_workers_add_up() {
    holds(&a_minute(8, Rate::per_second(2), 1_200).await, 960);
}

#[tokio::test(start_paused = true)]
async fn messages_wait_in_the_queue_and_use_up_no_deliveries() {
    let (aws, starts) = (TestAws::new(), Starts::new());
    let queue = aws.queue("orders").dead_letter_queue("orders-dead", 1).create();
    let orders: Vec<_> = (0..300).map(|number| queue.send(json!(number))).collect();
    let consumer = Consumer::new(starts.handler()).sqs(aws.sqs()).rate(Rate::per_minute(300));
    queue.worked_by(|url, stop| consumer.work_until(url, stop)).until_idle().await;
    assert!(orders.iter().all(|order| order.done().attempts == 1));
    let receives = aws.calls()["ReceiveMessage"];
    println!("{receives} receives");
    assert!(receives <= 330, "{receives} receives");
}

#[tokio::test(start_paused = true)]
async fn a_rate_of_none_is_refused() {
    let consumer = Consumer::new(Starts::new().handler()).sqs(TestAws::new().sqs()).rate(Rate::per_second(0));
    let error = consumer.connect().await.unwrap_err();
    assert_eq!(error.to_string(), "rate is 0/s, allowed: 1 to 1000000 messages a second, minute or hour");
}

/// A bucket elsewhere: a call takes 20 ms, unless it is down.
#[derive(Clone)]
struct Elsewhere {
    began: Instant,
    bucket: Arc<Mutex<Option<Bucket>>>,
    calls: Arc<AtomicUsize>,
    is_down: Arc<AtomicBool>,
}

impl Elsewhere {
    fn new() -> Self {
        Self { began: Instant::now(), bucket: Arc::default(), calls: Arc::default(), is_down: Arc::default() }
    }
}

impl Tokens for Elsewhere {
    async fn lease(&self, most: u32, rate: &Rate) -> Result<Lease, BoxError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        sleep(Duration::from_millis(10)).await;
        if self.is_down.load(Ordering::Relaxed) {
            return Err("it is down".into());
        }
        let lease = {
            let mut bucket = self.bucket.lock().unwrap();
            bucket.get_or_insert_with(|| Bucket::full(rate)).lease(most, rate, self.began.elapsed())
        };
        sleep(Duration::from_millis(10)).await;
        Ok(lease)
    }
}

/// Runs so many workers for a minute that share a rate.
async fn a_shared_minute(workers: usize, rate: Rate, messages: usize) -> (Starts, usize) {
    let (aws, starts, bucket) = (TestAws::new(), Starts::new(), Elsewhere::new());
    aws.latency(Duration::from_millis(20));
    let queue = filled(&aws, messages);
    let consumer = Consumer::new(starts.handler()).sqs(aws.sqs()).rate(rate).concurrency(20);
    let consumer = consumer.share_rate(bucket.clone());
    queue.worked_by(|url, stop| consumer.work_until(url, stop)).workers(workers).run_for(MINUTE).await;
    assert_eq!(queue.counts().in_flight, 0, "what was received has ended");
    let (calls, receives) = (bucket.calls.load(Ordering::Relaxed), aws.calls()["ReceiveMessage"]);
    println!("{workers} workers, {rate:?}: {calls} leases, {receives} receives");
    (starts, calls)
}

#[tokio::test(start_paused = true)]
async fn workers_share_a_rate() {
    for workers in [1, 8] {
        let (starts, calls) = a_shared_minute(workers, Rate::per_second(20), 1_500).await;
        holds(&starts, 1_200);
        assert!(starts.most_in_a_second() <= 11 + 3 * 20, "the burst and three seconds' worth");
        assert!(calls <= 2 * 60 * workers.max(4), "{calls} leases");
    }
}

/// Ten places with handlers of 50 ms start up to 200 messages a second.
#[tokio::test(start_paused = true)]
async fn a_shared_rate_above_10_times_the_concurrency_slows_no_worker() {
    let mut counts = Vec::new();
    for is_shared in [false, true] {
        let (aws, starts) = (TestAws::new(), Starts::new());
        let queue = filled(&aws, 3_000);
        let consumer = Consumer::new(starts.handler()).sqs(aws.sqs()).rate(Rate::per_second(1_000));
        let consumer = consumer.concurrency(10);
        let consumer = if is_shared { consumer.share_rate(Elsewhere::new()) } else { consumer };
        let mut worker = queue.worked_by(|url, stop| consumer.work_until(url, stop));
        worker.run_for(Duration::from_secs(10)).await;
        counts.push(starts.count());
    }
    println!("{} by its own bucket, {} by a shared one", counts[0], counts[1]);
    assert!(counts[1] * 10 >= counts[0] * 8, "{counts:?}");
}

#[tokio::test(start_paused = true)]
async fn many_workers_share_a_rate_of_few_messages() {
    holds(&a_shared_minute(16, Rate::per_second(5), 500).await.0, 300);
    holds(&a_shared_minute(4, Rate::per_minute(20).burst(1), 100).await.0, 20);
}

/// Four workers have nothing to do, as their queue is empty.
#[tokio::test(start_paused = true)]
async fn idle_workers_leave_the_rate_to_others() {
    beside_idle_workers(Rate::per_second(20), 1_000..=1_226, MINUTE).await;
    beside_idle_workers(Rate::per_minute(20).burst(1), 83..=126, 5 * MINUTE).await;
    // A token in two minutes: more than the longest pause between two leases. Each idle worker keeps one.
    beside_idle_workers(Rate::per_hour(30).burst(1), 18..=26, 50 * MINUTE).await;
}

async fn beside_idle_workers(rate: Rate, wanted: RangeInclusive<usize>, time: Duration) {
    let (aws, starts, bucket) = (TestAws::new(), Starts::new(), Elsewhere::new());
    let (busy, idle) =
        (filled(&aws, wanted.end() + 20), aws.queue("idle").dead_letter_queue("idle-dead", 3).create());
    let consumer = Consumer::new(starts.handler()).sqs(aws.sqs()).rate(rate);
    let consumer = consumer.share_rate(bucket.clone()).concurrency(20);
    let mut idle = idle.worked_by(|url, stop| consumer.work_until(url, stop)).workers(4);
    idle.run_for(MINUTE).await;
    let calls = bucket.calls.swap(0, Ordering::Relaxed);
    println!("{rate}: {calls} leases of 4 idle workers");
    if rate == Rate::per_second(20) {
        assert_eq!(calls, 4, "one lease of each idle worker");
    }
    let mut busy = busy.worked_by(|url, stop| consumer.work_until(url, stop));
    tokio::join!(idle.run_for(time), busy.run_for(time));
    let count = starts.count();
    println!("{count} started beside idle workers, wanted {wanted:?}");
    assert!(wanted.contains(&count), "{count} started, wanted {wanted:?}");
}

#[tokio::test(start_paused = true)]
async fn a_worker_starts_nothing_while_the_shared_rate_cannot_be_reached() {
    let (aws, starts, bucket) = (TestAws::new(), Starts::new(), Elsewhere::new());
    let queue = filled(&aws, 4_000);
    let consumer = Consumer::new(starts.handler()).sqs(aws.sqs()).rate(Rate::per_second(50));
    let consumer = consumer.share_rate(bucket.clone()).concurrency(20);
    let mut workers = queue.worked_by(|url, stop| consumer.work_until(url, stop));
    workers.run_for(Duration::from_secs(10)).await;
    let before = starts.count();
    bucket.calls.store(0, Ordering::Relaxed);
    bucket.is_down.store(true, Ordering::Relaxed);
    workers.run_for(MINUTE).await;
    assert!(starts.count() - before <= 3 * 50, "those of tokens that were leased");
    let (during, calls) = (starts.count(), bucket.calls.swap(0, Ordering::Relaxed));
    assert_eq!(queue.counts().in_flight, 0);
    bucket.is_down.store(false, Ordering::Relaxed);
    workers.run_for(Duration::from_secs(10)).await;
    println!("{before} before, {during} during, {calls} leases, {} after", starts.count());
    assert!((50..=75).contains(&calls), "{calls} leases, one each second");
    assert!(starts.count() - during > 400);
}

/// The first lease panics, the second is never answered, and the third goes well.
struct Clumsy(AtomicUsize, Elsewhere);

impl Tokens for Clumsy {
    async fn lease(&self, most: u32, rate: &Rate) -> Result<Lease, BoxError> {
        match self.0.fetch_add(1, Ordering::Relaxed) {
            0 => panic!("a bug of the bucket's"),
            1 => std::future::pending().await,
            _ => self.1.lease(most, rate).await,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_panics_or_hangs_has_failed() {
    let (aws, starts) = (TestAws::new(), Starts::new());
    let queue = filled(&aws, 10);
    let bucket = Clumsy(AtomicUsize::new(0), Elsewhere::new());
    let consumer =
        Consumer::new(starts.handler()).sqs(aws.sqs()).rate(Rate::per_second(50)).share_rate(bucket);
    queue.worked_by(|url, stop| consumer.work_until(url, stop)).until_idle().await;
    let first = starts.0.lock().unwrap()[0];
    let seconds = Duration::from_secs;
    assert_eq!(starts.count(), 10);
    // A second after each failure, and 3 s for the answer.
    assert!((seconds(5)..seconds(6)).contains(&first), "{first:?}");
}

#[tokio::test(start_paused = true)]
async fn a_shared_rate_needs_a_rate() {
    let aws = TestAws::new();
    let queue = filled(&aws, 1);
    let consumer = Consumer::new(Starts::new().handler()).sqs(aws.sqs()).share_rate(Elsewhere::new());
    let error = consumer.work_until(queue.url(), std::future::pending()).await.unwrap_err();
    assert_eq!(error.to_string(), "rate is not set, allowed: a rate, because Consumer::share_rate is set");
}

/// What happened to the messages of a noisy key and to those of others.
struct Noise {
    /// How long after its send the last of the others began.
    longest: Duration,
    /// How many of the noisy key began, and how often these were received.
    noisy: usize,
    deliveries: usize,
}

/// Sends a hundred messages a second for so long, nine of ten of one customer, who may have ten a second.
async fn noise(seconds: u64, concurrency: usize, is_fifo: bool) -> Noise {
    fn customer(record: &Record<'_>) -> Option<String> {
        record.attributes().get("customer").and_then(Attribute::as_str).map(str::to_owned)
    }
    let (aws, began) = (TestAws::new(), Instant::now());
    aws.latency(Duration::from_millis(20));
    let (name, dead) = if is_fifo { ("orders.fifo", "dead.fifo") } else { ("orders", "dead") };
    let queue = aws.queue(name).dead_letter_queue(dead, 5).create();
    let starts = Arc::new(Mutex::new(Vec::new()));
    let handler = {
        let starts = Arc::clone(&starts);
        move |message: Message<usize>| {
            starts.lock().unwrap().push((message.body, began.elapsed()));
            async {
                sleep(Duration::from_millis(50)).await;
                Ok::<_, Failure>(())
            }
        }
    };
    let consumer = Consumer::new(handler).sqs(aws.sqs()).concurrency(concurrency);
    let consumer = consumer.rate_by(customer, Rate::per_second(10));
    let mut workers = queue.worked_by(|url, stop| consumer.work_until(url, stop));
    let sent = RefCell::new(Vec::new());
    let sending = async {
        for number in 0..100 * seconds {
            let customer = if number % 10 == 0 { format!("c{}", number % 70) } else { "noisy".to_owned() };
            let message = NewMessage::from(json!(number)).attribute("customer", &customer);
            let message = if is_fifo { message.group(&format!("{}", number % 50)) } else { message };
            sent.borrow_mut().push((queue.send(message), began.elapsed()));
            sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::join!(sending, workers.run_for(Duration::from_secs(seconds + 3)));
    let (sent, starts) = (sent.into_inner(), starts.lock().unwrap());
    let is_noisy = |number: &usize| !number.is_multiple_of(10);
    let others = starts.iter().filter(|(number, _)| !is_noisy(number));
    let longest = others.clone().map(|(number, at)| *at - sent[*number].1).max().unwrap();
    assert_eq!(others.count(), usize::try_from(10 * seconds).unwrap(), "all others began, once");
    let noisy = starts.iter().map(|(number, _)| number).filter(|number| is_noisy(number));
    let deliveries = noisy.clone().map(|number| sent[*number].0.received().len()).sum();
    let noisy = noisy.count();
    assert_eq!(queue.dead_letter_queue().counts().visible, 0);
    Noise { longest, noisy, deliveries }
}

#[tokio::test(start_paused = true)]
async fn a_noisy_key_does_not_delay_others() {
    for is_fifo in [false, true] {
        let Noise { longest, noisy, deliveries } = noise(10, 10, is_fifo).await;
        println!(
            "FIFO {is_fifo}: others began within {longest:?}; {noisy} noisy ones began, in {deliveries} deliveries"
        );
        assert!(longest <= Duration::from_secs(2), "{longest:?}");
        assert!(noisy.abs_diff(130) * 20 <= 130, "{noisy} of the noisy key began in 13 s");
        assert!(deliveries <= 3 * noisy, "{deliveries} deliveries of {noisy} messages");
    }
}

#[tokio::test(start_paused = true)]
async fn messages_that_wait_for_their_turn_go_back_when_the_worker_ends() {
    let (aws, starts) = (TestAws::new(), Starts::new());
    let queue = filled(&aws, 30);
    let consumer = Consumer::new(starts.handler()).sqs(aws.sqs());
    let consumer = consumer.rate_by(|_| "all".to_owned(), Rate::per_minute(6).burst(1));
    queue.worked_by(|url, stop| consumer.work_until(url, stop)).run_for(Duration::from_secs(25)).await;
    assert_eq!(starts.count(), 3);
    assert_eq!(queue.counts().visible, 1, "the one whose turn would come at 30 s");
}

#[tokio::test(start_paused = true)]
async fn a_function_with_a_rate_is_refused_with_the_settings_that_limit_it() {
    let aws = TestAws::new();
    let consumer = Consumer::new(Starts::new().handler()).sqs(aws.sqs());
    for (consumer, what) in [
        (consumer.clone().rate(Rate::per_second(50)), "the rate (REDRIVE_RATE) is 50/s"),
        (consumer.rate_by(|_| None, Rate::per_hour(9)), "the rate of a key is 9/h"),
    ] {
        let queue = filled(&aws, 1);
        let mut mapping = queue.invokes(|event, deadline| consumer.handle(event, deadline));
        let invocations = mapping.run_for(Duration::from_secs(1)).await;
        let outcome = format!("{:?}", invocations[0]);
        let limits = "set MaximumConcurrency and BatchSize of the event source mapping";
        assert!(outcome.contains(what) && outcome.contains(limits), "{outcome}");
    }
}

/// A message as it was seen: its attempt, its key, how many attempts it has, and whether this is the last.
type Seen = (u32, String, Option<u32>, bool);

fn seen(record: &Record<'_>) -> Seen {
    (record.attempt(), record.key().into_owned(), record.max_attempts(), record.is_last_attempt())
}

#[tokio::test(start_paused = true)]
async fn keys_and_dependencies_are_those_of_the_record_that_a_handler_gets() {
    let aws = TestAws::new();
    let queue = aws.queue("orders").dead_letter_queue("orders-dead", 2).create();
    let forged =
        NewMessage::from(json!(1)).attribute("redrive.origin", r#"{"message_id":"a1","redrives":1}"#);
    let order = queue.send(forged);
    let [keys, names, handled] = [(); 3].map(|()| Arc::new(Mutex::new(BTreeSet::<Seen>::new())));
    let into = |seens: &Arc<Mutex<BTreeSet<Seen>>>| {
        let seens = Arc::clone(seens);
        move |record: &Record<'_>| {
            seens.lock().unwrap().insert(seen(record));
            None::<String>
        }
    };
    let begun = Arc::clone(&handled);
    let handler = move |order: Message<Value>| {
        let key = order.key().to_owned();
        begun.lock().unwrap().insert((order.attempt, key, order.max_attempts, order.is_last_attempt()));
        async { Err(Failure::outage("503")) }
    };
    let consumer = Consumer::new(handler)
        .sqs(aws.sqs())
        .origin_senders(["AIDAOPERATOR"])
        .rate_by(into(&keys), Rate::per_second(10))
        .depends_on(into(&names));
    queue.worked_by(|url, stop| consumer.work_until(url, stop)).until_idle().await;
    let handled = handled.lock().unwrap();
    let id = order.id().to_owned();
    assert_eq!(*handled, BTreeSet::from([(1, id.clone(), Some(2), false), (2, id, Some(2), true)]));
    assert_eq!((&*keys.lock().unwrap(), &*names.lock().unwrap()), (&*handled, &*handled));
}
