//! The places that the workers of a process share, and each worker's part of them.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock")]

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redrive_engine::{Places, PlacesInUse};
use tokio::sync::Notify;
use tokio::time::Instant;

/// The part of one worker.
#[derive(Debug)]
pub(super) struct SharedPlaces {
    all: Arc<All>,
    worker: usize,
}

#[derive(Debug)]
struct All {
    places: Mutex<Places>,
    /// Wakes each worker whose number of places has changed.
    changes: Vec<Notify>,
    started: Instant,
}

impl All {
    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self, workers: Vec<usize>) {
        workers.into_iter().for_each(|worker| self.changes[worker].notify_one());
    }
}

impl SharedPlaces {
    /// Returns a part for each of this many workers.
    pub(super) fn of(places: Places, workers: usize) -> impl Iterator<Item = Self> {
        let changes = (0..workers).map(|_| Notify::new()).collect();
        let all = Arc::new(All { places: Mutex::new(places), changes, started: Instant::now() });
        (0..workers).map(move |worker| Self { all: Arc::clone(&all), worker })
    }

    /// Returns the handlers of this worker that may run at a time.
    pub(super) fn granted(&self) -> usize {
        self.all.places().granted(self.worker)
    }

    /// Waits until that number has changed.
    pub(super) async fn changed(&self) {
        self.all.changes[self.worker].notified().await;
    }

    /// Limits the places of this worker to its own concurrency.
    pub(super) fn limit(&self, most: usize) {
        self.all.places().limit(self.worker, most);
    }

    /// Records the places that this worker uses.
    pub(super) fn record(&self, places: PlacesInUse) {
        let now = self.all.started.elapsed();
        let changed = self.all.places().record(self.worker, places, now);
        self.all.wake(changed);
    }
}

/// Frees the places of a worker that has ended.
impl Drop for SharedPlaces {
    fn drop(&mut self) {
        let changed = self.all.places().end(self.worker);
        self.all.wake(changed);
    }
}
