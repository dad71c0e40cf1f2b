//! Simulates a scenario on a virtual clock: redrive-local has the queue and its mapping, and the library handles the messages.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context;
use redrive::{Attribute, Consumer, Failure, Handler, Record, tools};
use redrive_local::kit::{Queue, TestAws};
use redrive_local::{Counts, NewMessage};
use serde_json::json;
use tokio::time::{Instant, sleep, sleep_until};

use super::figures::{Figures, Sample, Usage};
use super::scenario::{Course, Errors, Load, NOISY, Scenario};
use super::terms::Terms;

/// Duration of a call to SQS.
const LATENCY: Duration = Duration::from_millis(10);

/// Longest simulated time. No queue keeps a message for longer.
const LONGEST: Duration = Duration::from_secs(18 * 86_400);

/// Number of samples until the trouble ends.
const SAMPLES: u32 = 120;

/// The dependency that handlers call. A message is its tenant and the time at which it was sent.
#[derive(Clone)]
struct Dependency {
    ledger: Arc<Mutex<Ledger>>,
    began: Instant,
    scenario: Scenario,
    course: Course,
    call: Duration,
}

#[derive(Default)]
struct Ledger {
    calls: usize,
    calls_in_trouble: usize,
    done: usize,
    last_done: Duration,
    longest_wait: Duration,
}

impl Dependency {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn call(self, (tenant, sent): (String, Duration)) -> Result<(), &'static str> {
        let is_in_trouble = || {
            let now = self.began.elapsed();
            now >= self.course.calm && now < self.course.end()
        };
        let is_slow = self.scenario == Scenario::Noisy && tenant == NOISY && is_in_trouble();
        sleep(if is_slow { self.call * 10 } else { self.call }).await;
        let mut ledger = self.ledger();
        ledger.calls += 1;
        ledger.calls_in_trouble += usize::from(is_in_trouble());
        let fails = match self.scenario {
            Scenario::Outage => is_in_trouble(),
            Scenario::Burst => false,
            Scenario::Noisy => tenant == NOISY && is_in_trouble(),
        };
        if fails {
            return Err("503 Service Unavailable");
        }
        let now = self.began.elapsed();
        ledger.done += 1;
        ledger.last_done = now;
        if tenant != NOISY {
            ledger.longest_wait = ledger.longest_wait.max(now.saturating_sub(sent));
        }
        Ok(())
    }
}

/// # Errors
/// A setting of the function is invalid.
pub(super) fn run(terms: &Terms, load: &Load, scenario: Scenario, errors: Errors) -> anyhow::Result<Figures> {
    // The jitter of the library is the same in each run.
    fastrand::seed(0);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.context("could not start")?.block_on(simulate(terms, load, scenario, errors))
}

async fn simulate(terms: &Terms, load: &Load, scenario: Scenario, errors: Errors) -> anyhow::Result<Figures> {
    let (aws, course) = (TestAws::new(), Course::of(scenario, load));
    aws.latency(LATENCY);
    let queue = queue(&aws, terms);
    let began = Instant::now();
    let dependency = Dependency { ledger: Arc::default(), began, scenario, course, call: load.call };
    let handler = {
        let dependency = dependency.clone();
        move |body: (String, Duration)| {
            let (dependency, tenant) = (dependency.clone(), body.0.clone());
            async move {
                let answer = dependency.call(body).await;
                answer.map_err(|error| match (errors, scenario) {
                    (Errors::Retry, _) => Failure::from(error),
                    (Errors::Outage, Scenario::Noisy) => Failure::outage(error).on_dependency(tenant),
                    (Errors::Outage, Scenario::Outage | Scenario::Burst) => Failure::outage(error),
                })
            }
        }
    };
    if !load.worker {
        tools::Retries::from_variables("orders", |name| terms.variable(name, ""))?.check_function()?;
    }
    let new = || consumer(handler.clone(), terms, scenario, &aws, &queue);
    let first = new()?;
    let is_sent = Cell::new(false);
    let sending = async {
        send(&queue, scenario, &course, began).await;
        is_sent.set(true);
    };
    let goes_on = || (!is_sent.get() || queue.counts() != Counts::default()) && began.elapsed() < LONGEST;
    let step = (course.end() / SAMPLES).max(Duration::from_millis(100));
    let running = async {
        let mut usage = Usage::default();
        if load.worker {
            let mut worker = queue.worked_by(|url, stop| first.work_until(url, stop));
            while goes_on() {
                worker.until_idle().await;
                // It starts again with the next message.
                while queue.counts() == Counts::default() && goes_on() {
                    sleep(LATENCY).await;
                }
            }
            return usage;
        }
        let idle = RefCell::new(vec![first]);
        // Lambda reuses the sandbox that ended last.
        let mut mapping = queue
            .invokes(|event, deadline| {
                let sandbox = idle.borrow_mut().pop().map_or_else(&new, Ok);
                let idle = &idle;
                async move {
                    let sandbox = sandbox?;
                    let response = sandbox.handle(event, deadline).await;
                    idle.borrow_mut().push(sandbox);
                    response
                }
            })
            .batch_size(terms.batch_size)
            .batching_window(terms.window)
            .maximum_concurrency(terms.maximum_concurrency)
            .timeout(terms.timeout);
        while goes_on() {
            for invocation in mapping.run_for(step).await {
                let deleted = invocation.messages.len() - invocation.failed.len();
                usage.add(invocation.messages.len(), deleted, invocation.took);
            }
        }
        usage
    };
    let watching = async {
        let (mut samples, mut calls) = (Vec::new(), 0);
        while goes_on() {
            sleep(step).await;
            let Counts { visible, in_flight, delayed, .. } = queue.counts();
            let made = dependency.ledger().calls - calls;
            calls += made;
            samples.push(Sample {
                at: began.elapsed(),
                depth: visible + in_flight + delayed,
                dead_letters: dead(&queue),
                calls: made,
            });
        }
        samples
    };
    let ((), mut usage, samples) = tokio::join!(sending, running, watching);
    usage.requests += aws.calls().values().sum::<usize>();
    let ledger = dependency.ledger();
    let (messages, dead_letters) = (course.messages() as usize, dead(&queue));
    let lost = messages.saturating_sub(ledger.done);
    let recovery = match ledger.last_done.checked_sub(course.end()) {
        None if lost == 0 => Some(Duration::ZERO),
        recovery => recovery,
    };
    Ok(Figures {
        scenario,
        errors,
        messages,
        dead_letters,
        expired: lost.saturating_sub(dead_letters),
        calls: ledger.calls_in_trouble,
        recovery,
        longest_wait: Some(ledger.longest_wait).filter(|_| scenario == Scenario::Noisy),
        invocations: usage.invocations,
        cost: usage.dollars(terms.is_fifo, terms.memory) * 1e6 / messages as f64,
        course,
        samples,
    })
}

fn queue(aws: &TestAws, terms: &Terms) -> Queue {
    let end = if terms.is_fifo { ".fifo" } else { "" };
    let queue = aws.queue(&format!("orders{end}"));
    let queue = queue.dead_letter_queue(&format!("orders-dead{end}"), terms.max_receive_count);
    let retention = terms.known.retention.as_secs().to_string();
    queue
        .visibility_timeout(terms.known.visibility_timeout)
        .attribute("MessageRetentionPeriod", &retention)
        .create()
}

fn consumer<H: Handler<(String, Duration)>>(
    handler: H,
    terms: &Terms,
    scenario: Scenario,
    aws: &TestAws,
    queue: &Queue,
) -> Result<Consumer<H, (String, Duration)>, redrive::Error> {
    let tenant = |record: &Record<'_>| {
        record.attributes().get("tenant").and_then(Attribute::as_str).map(str::to_owned)
    };
    let consumer = Consumer::new(handler).sqs(aws.sqs());
    let consumer = if scenario == Scenario::Noisy { consumer.depends_on(tenant) } else { consumer };
    let (url, aws) = (queue.dead_letter_queue().url(), aws.clone());
    tools::simulated(consumer, |name| terms.variable(name, &url), move || aws.now())
}

async fn send(queue: &Queue, scenario: Scenario, course: &Course, began: Instant) {
    for group in 0..course.groups {
        sleep_until(began + course.every * group).await;
        for number in group * course.group..(group + 1) * course.group {
            let tenant = scenario.tenant(number);
            let message = NewMessage::from(json!([tenant, began.elapsed()])).attribute("tenant", tenant);
            let is_fifo = redrive_sqs::is_fifo(&queue.url());
            queue.send(if is_fifo { message.group(&format!("{tenant}-{}", number % 100)) } else { message });
        }
    }
    sleep_until(began + course.end()).await;
}

fn dead(queue: &Queue) -> usize {
    queue.dead_letter_queue().counts().visible
}
