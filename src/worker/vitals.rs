//! What a worker knows of itself: for its probes, for `/metrics`, and for the metrics of each minute.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock")]

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::liveness::{Liveness, Pulse};
use super::minute::Minute;
use super::open_metrics::OpenMetrics;
use crate::BatchReport;

/// Shared by the driver, the server and the publisher. No method waits for anything but a lock that is held for moments.
#[derive(Debug)]
pub(crate) struct Vitals {
    metrics: OpenMetrics,
    pulse: Mutex<Pulse>,
    minute: Mutex<Minute>,
    is_full: Notify,
    started: Instant,
}

impl Vitals {
    /// Of a worker that starts now, for the queue of this name.
    pub(crate) fn new(queue: &str) -> Self {
        Self {
            metrics: OpenMetrics::new(queue),
            pulse: Mutex::default(),
            minute: Mutex::new(Minute::new(queue)),
            is_full: Notify::new(),
            started: Instant::now(),
        }
    }

    /// Whether there is a free place for a message. While there is none, nothing is polled, and `/livez` expects no poll.
    pub(crate) fn has_room(&self, has_room: bool) {
        self.pulse().has_room(has_room, self.started.elapsed());
    }

    /// The queue was reached.
    pub(crate) fn is_ready(&self) {
        self.pulse().is_ready(self.started.elapsed());
    }

    /// The worker was told to end: it is not ready any more, and polls stop.
    pub(crate) fn drains(&self) {
        self.pulse().drains();
    }

    /// A poll came back, with or without messages, or failed. Failed polls count as finished: a restart does not help where
    /// SQS cannot be reached.
    pub(crate) fn poll_ended(&self, is_ok: bool) {
        self.pulse().poll_ended(self.started.elapsed());
        self.metrics.poll_ended(is_ok);
    }

    /// The keeper of the leases has looked at all of them, also at none. It has to at least every ten seconds.
    pub(crate) fn keeper_turned(&self) {
        self.pulse().keeper_turned(self.started.elapsed());
    }

    /// How many messages have been received whose handlers have not ended, and how many of these have not begun.
    pub(crate) fn holds(&self, in_hand: usize, waiting: usize) {
        self.metrics.holds(in_hand, waiting);
        self.minute().holds(in_hand);
    }

    pub(crate) fn lease_lost(&self) {
        self.metrics.lease_lost();
        self.minute().lease_lost();
    }

    /// A call that deletes, changes visibility or sends letters came back after so long, with so many entries that SQS did
    /// not confirm.
    pub(crate) fn call_ended(&self, took: Duration, refused: usize) {
        self.metrics.call_ended(took, refused);
    }

    pub(crate) fn reported(&self, report: &BatchReport) {
        self.metrics.reported(report);
        let is_full = {
            let mut minute = self.minute();
            minute.add(report);
            minute.is_full()
        };
        if is_full {
            self.is_full.notify_one();
        }
    }

    pub(super) fn liveness(&self) -> Liveness {
        self.pulse().liveness(self.started.elapsed())
    }

    pub(super) fn open_metrics(&self) -> String {
        self.metrics.text()
    }

    /// Returns when so many durations have come in that they should not wait for the end of the minute.
    pub(super) async fn minute_is_full(&self) {
        self.is_full.notified().await;
    }

    /// The sums since the last call.
    pub(super) fn take_minute(&self) -> Minute {
        self.minute().take()
    }

    fn pulse(&self) -> MutexGuard<'_, Pulse> {
        self.pulse.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn minute(&self) -> MutexGuard<'_, Minute> {
        self.minute.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
