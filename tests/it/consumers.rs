//! Several consumers in one process, on the kit's queues.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use redrive::{Consumer, Consumers, Failure, Rate, Record};
use redrive_local::kit::{Queue, TestAws};
use serde_json::json;
use tokio::time::{Instant, sleep};

const BACKLOG: usize = if option_env!("REDRIVE_EXPLORE").is_some() { 100_000 } else { 5_000 };
const HANDLER: Duration = Duration::from_millis(20);

/// The calls of the handlers of all queues.
#[derive(Clone, Default)]
struct Calls(Arc<Mutex<Counts>>);

#[derive(Default)]
struct Counts {
    running: usize,
    most: usize,
    /// The handlers that have ended, by queue.
    ended: [usize; 2],
    /// The times from the sending of each message of the first queue until its handler began.
    waited: Vec<Duration>,
}

impl Calls {
    fn consumer(
        &self,
        aws: &TestAws,
        queue: usize,
        began: Instant,
    ) -> Consumer<impl redrive::Handler<u64> + use<>, u64> {
        let calls = self.clone();
        let handle = move |sent: u64| {
            let calls = calls.clone();
            async move {
                let counts = || calls.0.lock().unwrap();
                let running = counts().running + 1;
                (counts().running, counts().most) = (running, counts().most.max(running));
                if queue == 0 {
                    counts().waited.push(began.elapsed().saturating_sub(Duration::from_millis(sent)));
                }
                sleep(HANDLER).await;
                counts().running -= 1;
                counts().ended[queue] += 1;
                Ok::<(), Failure>(())
            }
        };
        Consumer::new(handle).sqs(aws.sqs())
    }

    /// Returns the numbers since the last call.
    fn take(&self) -> Counts {
        let mut counts = self.0.lock().unwrap();
        let running = counts.running;
        std::mem::replace(&mut counts, Counts { running, ..Counts::default() })
    }
}

struct Shop {
    aws: TestAws,
    queues: [Queue; 2],
    calls: Calls,
    began: Instant,
}

fn shop() -> Shop {
    let aws = TestAws::new();
    aws.latency(Duration::from_millis(10));
    let queues = ["payments", "mails"].map(|name| aws.queue(name).create());
    Shop { aws, queues, calls: Calls::default(), began: Instant::now() }
}

impl Shop {
    fn send(&self, queue: usize, messages: usize) {
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap();
        (0..messages).for_each(|_| drop(self.queues[queue].send(json!(now))));
    }

    /// Creates the consumers of both queues, the first one with this weight.
    fn consumers(&self, weight: usize) -> Consumers {
        let [payments, mails] = [0, 1].map(|queue| self.calls.consumer(&self.aws, queue, self.began));
        let [to_payments, to_mails] = self.queues.each_ref().map(Queue::url);
        Consumers::new().add_weighted(weight, to_payments, payments).add(to_mails, mails)
    }
}

async fn work(consumers: Consumers, meanwhile: impl Future<Output = ()>) {
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let working = consumers.work_until(async { drop(stopped.await) });
    let meanwhile = async {
        meanwhile.await;
        stop.send(()).unwrap();
    };
    tokio::join!(async { working.await.unwrap() }, meanwhile);
}

#[tokio::test(start_paused = true)]
async fn a_message_does_not_wait_behind_the_backlog_of_another_queue() {
    for consumers in [|shop: &Shop| shop.consumers(3), |shop: &Shop| shop.consumers(1).strict()] {
        let shop = shop();
        shop.send(1, BACKLOG);
        let sending = async {
            sleep(Duration::from_secs(2)).await;
            let alone = shop.calls.take().ended;
            assert!(alone[1] > 290, "an idle queue keeps one of eight places: {alone:?}");
            for _ in 0..100 {
                shop.send(0, 1);
                sleep(Duration::from_millis(47)).await;
            }
            sleep(Duration::from_millis(100)).await;
        };
        work(consumers(&shop).concurrency(8), sending).await;
        let Counts { mut waited, ended, most, .. } = shop.calls.take();
        waited.sort_unstable();
        println!("p50 {:?}, p99 {:?}, {ended:?}", waited[50], waited[99]);
        assert_eq!((ended[0], most), (100, 8));
        assert!(waited[99] <= Duration::from_millis(100), "{waited:?}");
        assert!(ended[1] > 400, "{ended:?}: the other queue keeps its share");
    }
}

#[tokio::test(start_paused = true)]
async fn queues_with_a_backlog_share_the_handlers_by_weight_or_in_order() {
    let weighted = |shop: &Shop| shop.consumers(3);
    let strict = |shop: &Shop| shop.consumers(1).strict();
    for (consumers, expected) in [(weighted as fn(&Shop) -> Consumers, 3.0), (strict, 6.0)] {
        let shop = shop();
        (0..2).for_each(|queue| shop.send(queue, BACKLOG));
        work(consumers(&shop).concurrency(8), sleep(Duration::from_secs(5))).await;
        let Counts { ended, most, .. } = shop.calls.take();
        let ratio = ended[0] as f64 / ended[1] as f64;
        println!("{ended:?}, {ratio:.1} to 1");
        assert!(most <= 8 && ended[0] + ended[1] > 850, "{ended:?}, {most} at a time");
        assert!((ratio / expected - 1.0).abs() < 0.2, "{ended:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_burst_gets_all_places_and_leaves_them_again() {
    let shop = shop();
    let bursts = async {
        for queue in [0, 1, 0] {
            sleep(Duration::from_secs(60)).await;
            shop.send(queue, 400);
            sleep(Duration::from_millis(2_600)).await;
            let Counts { ended, most, .. } = shop.calls.take();
            assert!(ended[queue] == 400 && (7..=8).contains(&most), "{ended:?}, {most} at a time");
        }
    };
    work(shop.consumers(1).concurrency(8), bursts).await;
}

/// The second message of each of eight keys may begin after five seconds, when the other queue has seven places.
#[tokio::test(start_paused = true)]
async fn messages_that_wait_for_the_rate_of_their_key_begin_only_in_free_places() {
    let shop = shop();
    let keys = Arc::new(Mutex::new(0));
    let rate = Rate::per_minute(12).burst(1);
    let key = move |_: &Record<'_>| {
        let mut number = keys.lock().unwrap();
        *number += 1;
        Some((*number % 8).to_string())
    };
    let [payments, mails] = [0, 1].map(|queue| shop.calls.consumer(&shop.aws, queue, shop.began));
    let [to_payments, to_mails] = shop.queues.each_ref().map(Queue::url);
    let consumers = Consumers::new().add(to_payments, payments.rate_by(key, rate)).add(to_mails, mails);
    shop.send(0, 16);
    let later = async {
        sleep(Duration::from_secs(4)).await;
        shop.send(1, BACKLOG);
        sleep(Duration::from_secs(4)).await;
    };
    work(consumers.concurrency(8), later).await;
    let Counts { ended, most, .. } = shop.calls.take();
    assert!(ended[0] == 16 && most <= 8, "{ended:?}, {most} at a time");
}

/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-short-and-long-polling.html>
#[tokio::test(start_paused = true)]
async fn an_idle_queue_is_polled_every_twenty_seconds() {
    let shop = shop();
    let polls = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&polls);
    shop.aws.faults(move |operation, _| {
        *counted.lock().unwrap() += usize::from(operation == "ReceiveMessage");
        None
    });
    shop.send(0, 100);
    let hour = async {
        sleep(Duration::from_secs(60)).await;
        *polls.lock().unwrap() = 0;
        sleep(Duration::from_secs(3_600)).await;
    };
    work(shop.consumers(3).concurrency(20), hour).await;
    let polls = *polls.lock().unwrap();
    assert!((355..=360).contains(&polls), "{polls} polls of two queues in an hour, 8,640 a day");
}

#[tokio::test(start_paused = true)]
async fn the_error_of_one_consumer_ends_the_others_without_loss() {
    let aws = TestAws::new();
    let [bad, good] = ["bad", "good"].map(|name| aws.queue(name).create());
    (0..20).for_each(|number| drop(bad.send(json!(number))));
    let panics = async |number: u64| -> Result<(), Failure> { panic!("{number}") };
    let ended = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&ended);
    let slow = move |_: u64| {
        let counted = Arc::clone(&counted);
        async move {
            sleep(Duration::from_secs(5)).await;
            *counted.lock().unwrap() += 1;
            Ok::<_, Failure>(())
        }
    };
    let slow = Consumer::new(slow).sqs(aws.sqs());
    let messages: Vec<_> = (0..3).map(|number| good.send(json!(number))).collect();
    let consumers = Consumers::new().add(bad.url(), Consumer::new(panics).sqs(aws.sqs()).concurrency(1));
    let monitor = consumers.monitor();
    assert!(monitor.is_alive() && !monitor.is_ready());
    let error = consumers.add(good.url(), slow).work_until(std::future::pending()).await.unwrap_err();
    assert!(error.to_string().contains("panic"), "{error}");
    assert_eq!(*ended.lock().unwrap(), 3);
    assert!(messages.iter().all(|message| message.done().attempts == 1));
    assert!(!monitor.is_ready());
}

#[tokio::test(start_paused = true)]
async fn a_signal_after_an_error_ends_no_worker_at_once() {
    let aws = TestAws::new();
    let [bad, good] = ["bad", "good"].map(|name| aws.queue(name).create());
    (0..20).for_each(|number| drop(bad.send(json!(number))));
    let panics = async |number: u64| -> Result<(), Failure> { panic!("{number}") };
    let slow = async |_: u64| {
        sleep(Duration::from_secs(20)).await;
        Ok::<_, Failure>(())
    };
    let message = good.send(json!(1));
    let consumers = Consumers::new()
        .add(bad.url(), Consumer::new(panics).sqs(aws.sqs()).concurrency(1))
        .add(good.url(), Consumer::new(slow).sqs(aws.sqs()));
    let error = consumers.work_until(sleep(Duration::from_secs(15))).await.unwrap_err();
    assert!(error.to_string().contains("panic"), "{error}");
    assert_eq!(message.done().attempts, 1);
}

#[tokio::test(start_paused = true)]
async fn the_monitor_shows_the_health_and_the_metrics_of_all_queues() {
    let shop = shop();
    let consumers = shop.consumers(1);
    let monitor = consumers.monitor();
    assert!(!monitor.is_ready());
    shop.send(0, 3);
    let look = async {
        sleep(Duration::from_secs(3)).await;
        assert!(monitor.is_ready() && monitor.is_alive());
        let text = monitor.metrics_text();
        for line in [
            "redrive_messages_total{queue=\"payments\",outcome=\"succeeded\"} 3\n",
            "redrive_messages_total{queue=\"mails\",outcome=\"succeeded\"} 0\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
        assert_eq!(text.matches("# TYPE redrive_in_hand gauge").count(), 1, "{text}");
    };
    work(consumers, look).await;
    assert!(!monitor.is_ready(), "it has ended");
}

/// Queues of two regions may have the same name.
#[tokio::test(start_paused = true)]
async fn two_queues_of_the_same_name_have_their_own_metrics() {
    let shop = shop();
    let url = shop.queues[0].url();
    let other = url.replace("payments", "x/payments");
    let [here, there] = [0, 1].map(|queue| shop.calls.consumer(&shop.aws, queue, shop.began));
    let monitor = Consumers::new().add(url, here).add(&other, there).monitor();
    let text = monitor.metrics_text();
    for label in ["payments", &other] {
        assert!(text.contains(&format!("redrive_in_hand{{queue=\"{label}\"}} 0\n")), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn settings_that_do_not_fit_together_are_refused_at_the_start() {
    let shop = shop();
    let urls = shop.queues.each_ref().map(Queue::url);
    let own = || shop.calls.consumer(&shop.aws, 0, shop.began);
    let twice = Consumers::new().add(&urls[0], own()).add(&urls[0], own());
    let health = |port: u16| own().health(([127, 0, 0, 1], port).into());
    let two_ports = Consumers::new().add(&urls[0], health(9)).add(&urls[1], health(10));
    for (consumers, expected) in [
        (Consumers::new(), "the number of consumers is 0, allowed: at least 1"),
        (twice, "/payments, allowed: a different one for each consumer"),
        (shop.consumers(0).concurrency(9), "is 0, allowed: 1 to 1000"),
        (shop.consumers(2), "the concurrency of Consumers is not set, allowed: a number of handlers"),
        (
            shop.consumers(1).strict(),
            "the concurrency of Consumers is not set, allowed: a number of handlers",
        ),
        (shop.consumers(1).concurrency(20_000), "is 20000, allowed: 2 to 10000"),
        (shop.consumers(1).concurrency(1), "is 1, allowed: 2 to 10000, at least one for each queue"),
        (two_ports, "health is 127.0.0.1:10, allowed: the same for all consumers of a process"),
    ] {
        let error = consumers.work_until(std::future::pending()).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
