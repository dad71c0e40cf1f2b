//! How many messages start in a time, in virtual time.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redrive::tokens::{Bucket, Lease, Tokens};
use redrive::{Attribute, BoxError, Consumer, Failure, Handler, Message, Rate, Record};
use redrive_local::NewMessage;
use redrive_local::kit::{Queue, TestAws};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::support::at_a_time;

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
        let starts = self.0.lock().unwrap();
        let within = |from: Duration| {
            starts.iter().filter(move |at| (from..from + Duration::from_secs(1)).contains(*at))
        };
        starts.iter().map(|from| within(*from).count()).max().unwrap_or_default()
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
    let consumer = Consumer::new(starts.handler()).sqs(aws.sqs()).rate(rate).concurrency(at_a_time(20));
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
    holds(&a_minute(4, Rate::per_second(10), 3_000).await, 2_400);
    holds(&a_minute(16, Rate::per_second(5), 6_000).await, 4_800);
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
    let consumer = Consumer::new(starts.handler()).sqs(aws.sqs()).rate(rate).concurrency(at_a_time(20));
    let consumer = consumer.share_rate(bucket.clone());
    queue.worked_by(|url, stop| consumer.work_until(url, stop)).workers(workers).run_for(MINUTE).await;
    assert_eq!(queue.counts().in_flight, 0, "what was received has ended");
    let (calls, receives) = (bucket.calls.load(Ordering::Relaxed), aws.calls()["ReceiveMessage"]);
    println!("{workers} workers, {rate:?}: {calls} leases, {receives} receives");
    (starts, calls)
}

#[tokio::test(start_paused = true)]
async fn workers_share_a_rate() {
    for workers in [1, 4, 16] {
        let (starts, calls) = a_shared_minute(workers, Rate::per_second(50), 4_000).await;
        holds(&starts, 3_000);
        assert!(starts.most_in_a_second() <= 26 + 3 * 50, "the burst and three seconds' worth");
        assert!(calls <= 2 * 60 * workers.max(4), "{calls} leases");
    }
}

/// Ten places with handlers of 50 ms start up to 200 messages a second.
#[tokio::test(start_paused = true)]
async fn a_shared_rate_above_ten_times_the_concurrency_does_not_slow_a_worker_down() {
    let mut counts = Vec::new();
    for is_shared in [false, true] {
        let (aws, starts) = (TestAws::new(), Starts::new());
        let queue = filled(&aws, 3_000);
        let consumer = Consumer::new(starts.handler()).sqs(aws.sqs()).rate(Rate::per_second(1_000));
        let consumer = consumer.concurrency(at_a_time(10));
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
    beside_idle_workers(Rate::per_second(50), 3_000, MINUTE).await;
    beside_idle_workers(Rate::per_minute(20).burst(1), 100, 5 * MINUTE).await;
    beside_idle_workers(Rate::per_hour(10).burst(1), 100, 600 * MINUTE).await;
}

async fn beside_idle_workers(rate: Rate, wanted: usize, time: Duration) {
    let (aws, starts, bucket) = (TestAws::new(), Starts::new(), Elsewhere::new());
    let (busy, idle) = (filled(&aws, 4_000), aws.queue("idle").dead_letter_queue("idle-dead", 3).create());
    let consumer = Consumer::new(starts.handler()).sqs(aws.sqs()).rate(rate);
    let consumer = consumer.share_rate(bucket.clone()).concurrency(at_a_time(20));
    let mut idle = idle.worked_by(|url, stop| consumer.work_until(url, stop)).workers(4);
    idle.run_for(MINUTE).await;
    let calls = bucket.calls.swap(0, Ordering::Relaxed);
    println!("{rate}: {calls} leases of 4 idle workers");
    if rate == Rate::per_second(50) {
        assert_eq!(calls, 4, "one lease of each idle worker");
    }
    let mut busy = busy.worked_by(|url, stop| consumer.work_until(url, stop));
    tokio::join!(idle.run_for(time), busy.run_for(time));
    let count = starts.count();
    println!("{count} started beside idle workers, wanted {wanted}");
    assert!(count * 10 >= wanted * 9 && count <= wanted + 26, "{count} started, wanted {wanted}");
}

#[tokio::test(start_paused = true)]
async fn a_worker_starts_nothing_while_the_shared_rate_cannot_be_reached() {
    let (aws, starts, bucket) = (TestAws::new(), Starts::new(), Elsewhere::new());
    let queue = filled(&aws, 4_000);
    let consumer = Consumer::new(starts.handler()).sqs(aws.sqs()).rate(Rate::per_second(50));
    let consumer = consumer.share_rate(bucket.clone()).concurrency(at_a_time(20));
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
    let consumer = Consumer::new(handler).sqs(aws.sqs()).concurrency(at_a_time(concurrency));
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
        let Noise { longest, noisy, deliveries } = noise(60, 10, is_fifo).await;
        println!(
            "FIFO {is_fifo}: others began within {longest:?}; {noisy} noisy ones began, in {deliveries} deliveries"
        );
        assert!(longest <= Duration::from_secs(2), "{longest:?}");
        assert!(noisy.abs_diff(630) * 20 <= 630, "{noisy} of the noisy key began in 63 s");
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

/// Runs a function in five sandboxes for a minute, of which each has its own consumer and handles one batch at a time.
async fn a_minute_in_sandboxes<H: Handler<Value>>(
    queue: &Queue,
    batch: usize,
    sending: impl Future<Output = ()>,
    consumer: impl Fn() -> Consumer<H, Value>,
) {
    let free = RefCell::new((0..5).map(|_| consumer()).collect::<Vec<_>>());
    let mut mapping = queue
        .invokes(async |event, deadline| {
            let sandbox = free.borrow_mut().pop().expect("at most five at a time");
            let response = sandbox.handle(event, deadline).await;
            free.borrow_mut().push(sandbox);
            response
        })
        .maximum_concurrency(5)
        .batch_size(batch)
        .batching_window(Duration::from_secs(1));
    tokio::join!(sending, mapping.run_for(MINUTE));
}

/// Of a backlog, so many begin, and are received so many times in all.
async fn a_minute_of_backlog(messages: usize, batch: usize, rate: Rate) -> (Starts, usize) {
    let (aws, starts) = (TestAws::new(), Starts::new());
    aws.latency(Duration::from_millis(20));
    let queue = aws.queue("orders").dead_letter_queue("orders-dead", 10).create();
    let sent: Vec<_> = (0..messages).map(|number| queue.send(json!(number))).collect();
    a_minute_in_sandboxes(&queue, batch, std::future::ready(()), || {
        Consumer::new(starts.handler()).sqs(aws.sqs()).max_receive_count(10).rate(rate)
    })
    .await;
    assert!(queue.dead_letter_queue().messages().is_empty());
    (starts, sent.iter().map(|sent| sent.received().len()).sum())
}

#[tokio::test(start_paused = true)]
async fn messages_wait_in_a_function_for_their_turn_and_go_back_if_it_comes_too_late() {
    let (tens, ones) = (Rate::per_second(10), Rate::per_second(1));
    for (batch, rate, wanted, at_most) in
        [(10, tens, 3_000, 3_000), (50, tens, 3_000, 3_000), (100, tens, 2_000, 6_000), (5, ones, 290, 400)]
    {
        let (starts, received) = a_minute_of_backlog(3_000, batch, rate).await;
        // Batches that have begun end after the minute.
        starts.0.lock().unwrap().retain(|at| *at < MINUTE);
        let (count, most) = (starts.count(), starts.most_in_a_second());
        println!("batches of {batch}, {rate}: {count} started, {most} in a second, {received} deliveries");
        let burst = 5 * (1 + rate_in_a_second(rate) / 2);
        assert!(most <= burst + 5 * rate_in_a_second(rate));
        assert!((wanted..=5 * 60 * rate_in_a_second(rate) + burst).contains(&count), "{count} started");
        assert!(received <= at_most, "{received} deliveries");
    }
}

fn rate_in_a_second(rate: Rate) -> usize {
    if rate == Rate::per_second(1) { 1 } else { 10 }
}

/// A hundred messages a second arrive, nine of ten of one customer. In a sandbox each may have two a second.
#[tokio::test(start_paused = true)]
async fn a_noisy_key_does_not_take_the_sandboxes_of_others() {
    let (aws, began) = (TestAws::new(), Instant::now());
    let queue = aws.queue("orders").dead_letter_queue("orders-dead", 10).create();
    let starts = Arc::new(Mutex::new(Vec::new()));
    let consumer = || {
        let starts = Arc::clone(&starts);
        let handler = move |message: Value| {
            starts.lock().unwrap().push((message.as_u64().unwrap(), began.elapsed()));
            async { Ok::<_, Failure>(()) }
        };
        let customer = |record: &Record<'_>| record.body().ends_with('0').then(|| record.id().to_owned());
        let noisy = move |record: &Record<'_>| customer(record).unwrap_or_else(|| "noisy".to_owned());
        Consumer::new(handler).sqs(aws.sqs()).max_receive_count(10).rate_by(noisy, Rate::per_second(2))
    };
    let sent = RefCell::new(Vec::new());
    let sending = async {
        for number in 0..5_500_u64 {
            sent.borrow_mut().push((queue.send(json!(number)), began.elapsed()));
            sleep(Duration::from_millis(10)).await;
        }
    };
    a_minute_in_sandboxes(&queue, 10, sending, consumer).await;
    let (sent, starts) = (sent.into_inner(), starts.lock().unwrap());
    let (others, noisy): (Vec<_>, Vec<_>) = starts.iter().partition(|(number, _)| number % 10 == 0);
    let waits = others.iter().map(|(number, at)| *at - sent[usize::try_from(*number).unwrap()].1);
    let (longest, count) = (waits.max().unwrap(), others.len());
    let deliveries: usize =
        noisy.iter().map(|(number, _)| sent[usize::try_from(*number).unwrap()].0.received().len()).sum();
    println!("others began within {longest:?}; {} noisy ones began, in {deliveries} deliveries", noisy.len());
    assert_eq!(count, 550, "all others began");
    assert!(longest <= Duration::from_secs(5), "{longest:?}");
    assert!((450..=620).contains(&noisy.len()), "{} of the noisy key began in 60 s", noisy.len());
}
