//! Generated runs of workers: one or two at a time, told to end or killed at any time, and calls that go wrong.
//!
//! Everything is real but the clock and the network: [`Consumer::work_until`] with the SDK's clients against redrive-local's
//! queues. In the end one worker without faults has the queue to itself, until it is empty.
//!
//! ```text
//! REDRIVE_SEED=123 cargo test --test it simulation::worker
//! ```

mod actor;
mod checks;
mod late;
mod log;
mod plan;
mod tally;
mod tap;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use futures_util::future::join_all;
use redrive::{Backoff, Consumer, Handler, Input, Message};
use redrive_local::NewMessage;
use redrive_local::kit::{Queue, Stop, TestAws};
use tokio::runtime::Builder;
use tokio::time::{sleep, timeout};

use actor::Actor;
use checks::History;
use log::{End, Log};
use plan::{Life, Plan};
use tally::Tally;
use tap::{Tap, Trouble};

use crate::support::at_a_time;

const RUNS: u64 = 1_000;

#[test]
fn whatever_happens_to_workers_nothing_is_lost_or_out_of_order_or_settled_without_a_lease() {
    if let Ok(seed) = std::env::var("REDRIVE_SEED") {
        return one(seed.parse().unwrap(), &mut Tally::new());
    }
    let runs = std::env::var("REDRIVE_RUNS").map_or(RUNS, |runs| runs.parse().unwrap());
    let threads = std::thread::available_parallelism().map_or(2, |threads| threads.get() as u64);
    let tally = Mutex::new(Tally::new());
    std::thread::scope(|scope| {
        for first in 0..threads {
            let tally = &tally;
            scope.spawn(move || {
                let mut own = Tally::new();
                (first..runs).step_by(threads as usize).for_each(|seed| one(seed, &mut own));
                let mut all = tally.lock().unwrap();
                own.into_iter().for_each(|(name, times)| *all.entry(name).or_default() += times);
            });
        }
    });
    tally::expect_all(&tally.into_inner().unwrap());
}

fn one(seed: u64, tally: &mut Tally) {
    fastrand::seed(seed);
    let mut rng = Rng::with_seed(seed);
    let plan = Arc::new(Plan::generate(&mut rng));
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let (aws, log) = runtime.block_on(async { Simulation::new(&plan, rng).run().await });
    let log = log.lock().unwrap();
    let history = History::new(&plan, &log, &aws);
    if let Err(problem) = history.check() {
        panic!("REDRIVE_SEED={seed}: {problem}\n{plan:#?}\n{log:#?}\n{:#?}", history.events);
    }
    tally::count(&history, tally);
}

struct Simulation {
    plan: Arc<Plan>,
    aws: TestAws,
    queue: Queue,
    log: Arc<Mutex<Log>>,
    trouble: Arc<Mutex<Trouble>>,
    lives: AtomicUsize,
}

impl Simulation {
    fn new(plan: &Arc<Plan>, rng: Rng) -> Self {
        let aws = TestAws::new();
        let [name, dead] = if plan.fifo { ["orders.fifo", "dead.fifo"] } else { ["orders", "dead"] };
        let queue = aws.queue(name).visibility_timeout(Duration::from_secs(plan.visibility));
        let queue = queue.dead_letter_queue(dead, plan.limit).create();
        aws.latency(plan.latency);
        let trouble = Trouble { rng, odds: plan.odds, visibility: plan.visibility, next: None };
        let trouble = Arc::new(Mutex::new(trouble));
        let next = Arc::clone(&trouble);
        aws.faults(move |_, _| next.lock().unwrap().next.take());
        Self { plan: Arc::clone(plan), aws, queue, log: Arc::default(), trouble, lives: AtomicUsize::new(0) }
    }

    async fn run(self) -> (TestAws, Arc<Mutex<Log>>) {
        let it = &self;
        let places = self.plan.places.iter().map(|lives| async move {
            for life in lives {
                it.live(*life).await;
            }
        });
        tokio::join!(self.send(), join_all(places));
        self.trouble.lock().unwrap().odds = 0;
        self.queue.worked_by(|url, stop| self.work(self.next_life(), true, url, stop)).until_idle().await;
        // Handlers that were canceled end.
        tokio::task::yield_now().await;
        (self.aws, self.log)
    }

    async fn send(&self) {
        for (number, message) in self.plan.messages.iter().enumerate() {
            sleep(message.after).await;
            let body = NewMessage::from(number.to_string());
            let sent = self.queue.send(if self.plan.fifo { body.group(message.group) } else { body });
            self.log.lock().unwrap().ids.push(sent.id().to_owned());
        }
    }

    fn next_life(&self) -> usize {
        self.lives.fetch_add(1, Ordering::Relaxed)
    }

    async fn live(&self, Life { pause, lasts, is_killed }: Life) {
        sleep(pause).await;
        let (life, url) = (self.next_life(), self.queue.url());
        let stop: Stop = Box::pin(sleep(if is_killed { Duration::MAX } else { lasts }));
        let began = self.aws.elapsed();
        let working = self.work(life, false, url, stop);
        let result = if is_killed { timeout(lasts, working).await.ok() } else { Some(working.await) };
        let end = End { told: began + lasts, ended: self.aws.elapsed(), result };
        self.log.lock().unwrap().ends.insert(life, end);
    }

    async fn work(&self, life: usize, is_last: bool, url: String, stop: Stop) -> Result<(), String> {
        let log = Arc::clone(&self.log);
        let (plan, aws, url_too) = (Arc::clone(&self.plan), self.aws.clone(), url.clone());
        let actor = Actor { plan, aws, url: url_too, log, life, is_last };
        match self.plan.chunk {
            None => self.set_up::<Message<usize>>(Consumer::new(actor), life).work_until(url, stop).await,
            Some(chunk) => {
                let consumer = Consumer::bulk(actor).chunk_size(at_a_time(chunk));
                self.set_up(consumer, life).work_until(url, stop).await
            }
        }
        .map_err(|error| error.to_string())
    }

    fn set_up<M: Input>(&self, consumer: Consumer<Actor, M>, life: usize) -> Consumer<Actor, M>
    where
        Actor: Handler<M>,
    {
        let (aws, log, trouble) = (self.aws.clone(), Arc::clone(&self.log), Arc::clone(&self.trouble));
        let tap = Tap { aws: aws.clone(), life, log, trouble };
        let config = aws.sqs().config().to_builder().http_client(tap).build();
        consumer
            .sqs(aws_sdk_sqs::Client::from_conf(config))
            .concurrency(at_a_time(self.plan.concurrency))
            .drain(self.plan.drain)
            .backoff(Backoff::fixed(Duration::from_secs(self.plan.backoff)).unwrap())
    }
}
