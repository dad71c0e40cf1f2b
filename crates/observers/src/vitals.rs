//! A worker's state for its probes, for `/metrics`, and for the metrics of each minute.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock")]

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::BatchReport;
use crate::liveness::{GroupLiveness, Pulse};
use crate::metrics::Gauges;
use crate::minute::{self, until_next};
use crate::open_metrics::{Families, OpenMetrics};

/// The workers of a process, each with its queue.
#[derive(Debug, Default)]
pub struct WorkerGroup {
    families: Families,
    workers: Mutex<Vec<(String, Arc<Vitals>)>>,
}

impl WorkerGroup {
    /// Adds the worker of the queue with this name, and returns its state, which begins now. The `label`, different for each
    /// worker, names it in probes and in OpenMetrics.
    pub fn add(&self, queue: &str, label: &str) -> Arc<Vitals> {
        let vitals = Arc::new(Vitals::new(OpenMetrics::new(&self.families, label), queue));
        self.workers().push((label.to_owned(), Arc::clone(&vitals)));
        vitals
    }

    /// Returns true if all workers receive messages, or wait for their next receive as they should.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.liveness().is_alive
    }

    /// Returns true if all workers have reached their queues, and none of them drains or waits for a dependency.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.liveness().is_ready
    }

    /// Returns the metrics of all workers as OpenMetrics text.
    #[must_use]
    pub fn open_metrics(&self) -> String {
        self.families.text()
    }

    pub(crate) fn liveness(&self) -> GroupLiveness {
        let liveness = |it: &Vitals| it.state().pulse.liveness(it.started.elapsed());
        GroupLiveness::new(self.workers().iter().map(|(label, it)| (label.clone(), liveness(it))))
    }

    fn workers(&self) -> MutexGuard<'_, Vec<(String, Arc<Vitals>)>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// State that a worker's loop and its server share. Its methods only wait for a lock that is held for moments.
#[derive(Debug)]
pub struct Vitals {
    metrics: OpenMetrics,
    state: Mutex<State>,
    is_full: Notify,
    started: Instant,
}

#[derive(Debug, Default)]
struct State {
    pulse: Pulse,
    /// The sums since they were last taken.
    sums: BatchReport,
    in_hand: usize,
}

impl Vitals {
    fn new(metrics: OpenMetrics, queue: &str) -> Self {
        let state = State { sums: minute::begin(queue), ..State::default() };
        Self { metrics, state: Mutex::new(state), is_full: Notify::new(), started: Instant::now() }
    }

    /// Records that the queue was reached.
    pub fn is_ready(&self) {
        self.state().pulse.is_ready(self.started.elapsed());
    }

    /// Records that the worker drains: it is not ready any more, and polls stop.
    pub fn drains(&self) {
        self.state().pulse.is_draining = true;
    }

    /// Records that the worker has ended. Others of its process may still drain.
    pub fn ended(&self) {
        self.state().pulse.has_ended = true;
    }

    /// Records that the worker has looked at all its leases, which it must do at least every ten seconds. `in_hand` counts
    /// messages whose handlers have not ended, `waiting` those of them that have not begun, and `free` the free places. Without a
    /// free place, nothing is polled, and `/livez` expects no poll.
    pub fn loop_turned(&self, in_hand: usize, waiting: usize, free: usize) {
        self.metrics.in_hand.set(in_hand as i64);
        self.metrics.waiting.set(waiting as i64);
        let now = self.started.elapsed();
        let mut state = self.state();
        state.in_hand = in_hand;
        state.pulse.turned = now;
        state.pulse.has_room(free > 0, now);
    }

    /// Records how many dependencies are down, and if the worker pauses because of that.
    pub fn down(&self, dependencies: usize, is_paused: bool) {
        self.metrics.down.set(dependencies as i64);
        self.state().pulse.is_paused = is_paused;
    }

    /// Records that a poll returned or failed. Failed polls count as finished, because a restart does not help if SQS cannot be reached.
    pub fn poll_ended(&self, is_ok: bool) {
        self.metrics.polls.inc();
        self.metrics.poll_errors.inc_by(u64::from(!is_ok));
        self.state().pulse.polled = self.started.elapsed();
    }

    /// Counts a message whose lease ended before its handler.
    pub fn lease_lost(&self) {
        self.metrics.leases_lost.inc();
        self.state().sums.lease_lost += 1;
    }

    /// Records the duration of a call that deletes, changes visibility or sends letters, and the number of entries that SQS did
    /// not confirm.
    pub fn call_ended(&self, took: Duration, refused: usize) {
        self.metrics.settle.observe(took.as_secs_f64());
        self.metrics.settle_errors.inc_by(refused as u64);
    }

    /// Adds the report of a batch.
    pub fn reported(&self, report: &BatchReport) {
        self.metrics.reported(report);
        if minute::add(&mut self.state().sums, report) {
            self.is_full.notify_one();
        }
    }

    /// Returns the sums since the last call.
    #[must_use]
    pub fn take_sums(&self) -> BatchReport {
        minute::take(&mut self.state().sums)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The minutes of a worker, from now on.
#[derive(Debug)]
pub struct Minutes<'a> {
    vitals: &'a Vitals,
    started: Duration,
    due: Instant,
}

impl<'a> Minutes<'a> {
    /// Starts the minutes of this worker.
    #[must_use]
    pub fn new(vitals: &'a Vitals) -> Self {
        let started = wall();
        Self { vitals, started, due: Instant::now() + until_next(started, started) }
    }

    /// Waits for the end of the minute, and returns its sums. If very many messages end in a minute, it returns the sums sooner,
    /// in parts. Only the last part has the gauges.
    pub async fn next(&mut self) -> (BatchReport, Option<Gauges>) {
        let is_due = tokio::select! {
            () = sleep_until(self.due) => true,
            () = self.vitals.is_full.notified() => false,
        };
        if is_due {
            self.due = Instant::now() + until_next(self.started, wall());
        }
        let in_hand = self.vitals.state().in_hand as u64;
        (self.vitals.take_sums(), is_due.then_some(Gauges { in_hand, workers: 1 }))
    }
}

/// Returns the time of the wall clock since its epoch. CloudWatch counts the same minutes.
fn wall() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn very_many_durations_do_not_wait_for_the_end_of_the_minute() {
        let vitals = WorkerGroup::default().add("orders", "orders");
        let mut minutes = Minutes::new(&vitals);
        let durations = vec![Duration::ZERO; 10_000];
        vitals.reported(&BatchReport { records: 1, worker_durations: durations, ..BatchReport::default() });
        let began = Instant::now();
        let (sums, gauges) = minutes.next().await;
        assert_eq!((sums.worker_durations.len(), gauges), (10_000, None));
        assert!(began.elapsed() < Duration::from_millis(10));
        assert!(vitals.take_sums().worker_durations.is_empty(), "they were taken");
    }

    #[tokio::test(start_paused = true)]
    async fn each_minute_has_its_sums_and_its_gauges_and_what_is_in_hand_stays_so() {
        let vitals = WorkerGroup::default().add("orders", "orders");
        let mut minutes = Minutes::new(&vitals);
        vitals.loop_turned(7, 3, 0);
        vitals.lease_lost();
        vitals.reported(&BatchReport { records: 2, lease_lost: 1, ..BatchReport::default() });
        let sums = BatchReport { queue: "orders".to_owned(), ..BatchReport::default() };
        let gauges = Some(Gauges { in_hand: 7, workers: 1 });
        let first = BatchReport { records: 2, lease_lost: 1, ..sums.clone() };
        assert_eq!(minutes.next().await, (first, gauges));
        assert_eq!(minutes.next().await, (sums, gauges));
    }
}
