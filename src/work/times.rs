//! How long a handler ran, by itself: without what hooks and the source of bodies took; and whether its message is still read.

use std::future::Future;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::time::Instant;

use super::ran;
use crate::engine::Ran;

/// When a handler was called, and when it returned.
#[derive(Default)]
pub(super) struct Times {
    called: OnceLock<Instant>,
    returned: OnceLock<Instant>,
    is_reading: AtomicBool,
}

impl Times {
    /// Fetches and decodes a message.
    pub(super) async fn reads<T>(&self, reading: impl Future<Output = T>) -> T {
        self.is_reading.store(true, Ordering::Relaxed);
        let message = reading.await;
        self.is_reading.store(false, Ordering::Relaxed);
        message
    }

    /// Whether fetching or decoding has begun and has not returned.
    pub(super) fn is_reading(&self) -> bool {
        self.is_reading.load(Ordering::Relaxed)
    }

    /// `call` may do something before it returns its future.
    pub(super) async fn of<R: Future>(&self, call: impl FnOnce() -> R) -> R::Output {
        self.called.get_or_init(Instant::now);
        let result = call().await;
        self.returned.get_or_init(Instant::now);
        result
    }

    /// `None` if it was not called. One that did not return ran until `now`.
    pub(super) fn ran(&self, now: Instant, began: Instant) -> Option<Ran> {
        let returned = self.returned.get().copied().unwrap_or(now);
        self.called.get().map(|&called| ran(called, returned, began))
    }
}
