//! The state that the page's server and the run share.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};

use super::model::Model;
use super::samples::Numbers;
use super::setup::Setup;
use crate::{ClockReading, Control, Event, EventKind, Speed, Totals, Vitals};

/// Most bytes of bodies that are kept.
const KEPT_BODIES: usize = 64 << 20;

/// Shortest real time between two samples, unless simulated time has jumped further.
const BETWEEN_SAMPLES: Duration = Duration::from_millis(20);
const JUMP: Duration = Duration::from_millis(500);

/// Most readers at once. A browser has six connections to a site.
const MOST_READERS: usize = 16;

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) control: Control,
    pub(super) setup: Setup,
    /// An id that distinguishes this run from an earlier one on the same port.
    pub(super) run: String,
    pub(super) readers: Arc<Semaphore>,
    /// Permits one search through the bodies at a time.
    pub(super) searches: Arc<Semaphore>,
    pub(super) changes: watch::Sender<()>,
    ended: Mutex<Option<Value>>,
    model: Mutex<Model>,
    begun: Instant,
    /// Time of the last sample, in real and in simulated time.
    sampled: Mutex<Option<(Instant, Duration)>>,
    queues: Vec<String>,
    /// For each queue, true if it is a dead-letter queue.
    dead: Vec<bool>,
}

impl Shared {
    pub(super) fn new(control: Control, setup: Setup, run: String) -> Self {
        control.keep_messages(KEPT_BODIES);
        let sources = setup.sources.iter().cloned().collect();
        let mut model = Model::new(sources, setup.alarms.iter().map(String::as_str));
        model.has_workers = setup.has_workers;
        let (queues, dead) = setup.queues().into_iter().unzip();
        Self {
            control,
            setup,
            run,
            readers: Arc::new(Semaphore::new(MOST_READERS)),
            searches: Arc::new(Semaphore::new(1)),
            changes: watch::Sender::new(()),
            ended: Mutex::new(None),
            model: Mutex::new(model),
            begun: Instant::now(),
            sampled: Mutex::new(None),
            queues,
            dead,
        }
    }

    pub(super) fn has_readers(&self) -> bool {
        self.readers.available_permits() < MOST_READERS
    }

    pub(super) fn model(&self) -> MutexGuard<'_, Model> {
        self.model.lock().expect("nothing panics while it holds the model")
    }

    pub(super) fn clock(&self) -> Clock {
        Clock::new(self.control.clock(), self.begun.elapsed())
    }

    pub(super) fn observe(&self, event: &Event) {
        let sent = match &event.kind {
            EventKind::Sent { message_id, .. } => self.control.message(message_id),
            _ => None,
        };
        self.model().apply(event, sent.as_ref());
        let recent = |(real, simulated): (Instant, Duration)| {
            real.elapsed() < BETWEEN_SAMPLES && event.at < simulated + JUMP
        };
        let sampled = *self.sampled();
        if sampled.is_some_and(recent) {
            self.changes.send_replace(());
        } else {
            self.sample();
        }
    }

    pub(super) fn sample(&self) {
        let vitals = self.control.vitals(&self.queues);
        *self.sampled() = Some((Instant::now(), vitals.at));
        let numbers = self.numbers(&vitals);
        self.model().sample(vitals.at.as_secs_f64(), numbers);
        self.changes.send_replace(());
    }

    pub(super) fn end(&self, totals: &Totals) {
        self.sample();
        let ended = json!({
            "messages": totals.messages,
            "done": totals.done,
            "lost": totals.deleted_although_failed,
            "left": totals.left,
        });
        *self.ended() = Some(ended);
        self.changes.send_replace(());
    }

    pub(super) fn ended(&self) -> MutexGuard<'_, Option<Value>> {
        self.ended.lock().expect("nothing panics while it holds the end")
    }

    fn sampled(&self) -> MutexGuard<'_, Option<(Instant, Duration)>> {
        self.sampled.lock().expect("nothing panics while it holds the time")
    }

    fn numbers(&self, vitals: &Vitals) -> Numbers {
        let mut numbers =
            Numbers { errors: vitals.worker_errors, outages: vitals.outages, ..Numbers::default() };
        for (counts, dead) in vitals.queues.iter().zip(&self.dead) {
            let counts = counts.unwrap_or_default();
            if *dead {
                numbers.dead += counts.visible + counts.in_flight + counts.delayed;
            } else {
                numbers.depth += counts.visible + counts.delayed;
                numbers.in_flight += counts.in_flight;
            }
        }
        numbers
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Clock {
    /// Simulated seconds since the start.
    at: f64,
    /// Real seconds since the start.
    wall: f64,
    /// Present number of simulated seconds per real second.
    pace: f64,
    /// Speed of waiting. None if waiting is skipped.
    speed: Option<f64>,
    held: bool,
}

impl Clock {
    pub(super) fn new(reading: ClockReading, wall: Duration) -> Self {
        let ClockReading { at, pace, speed, held } = reading;
        let speed = match speed {
            Speed::Times(times) => Some(times),
            Speed::Max => None,
        };
        Self { at: at.as_secs_f64(), wall: wall.as_secs_f64(), pace, speed, held }
    }
}

#[cfg(test)]
impl Default for Clock {
    fn default() -> Self {
        Self { at: 0.0, wall: 0.0, pace: 0.0, speed: None, held: false }
    }
}
