//! Exports telemetry before the answer, because Lambda freezes the process after it.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::timeout_at;
use tracing::warn;

/// A function that exports data, or returns why it could not.
type Export = dyn Fn() -> Result<(), String> + Send + Sync;

/// Exports that run one after another.
#[derive(Clone)]
pub(crate) struct Flushing {
    exports: Vec<Arc<Export>>,
    /// Lock for exporting, so that an exporter that hangs blocks only one thread.
    turn: Arc<Mutex<()>>,
    pub(crate) limit: Duration,
}

impl Flushing {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { exports: Vec::new(), turn: Arc::default(), limit }
    }

    pub(crate) fn add<E: fmt::Display>(
        &mut self,
        export: impl Fn() -> Result<(), E> + Send + Sync + 'static,
    ) {
        self.exports.push(Arc::new(move || export().map_err(|error| error.to_string())));
    }

    pub(crate) async fn flush(&self, until: Instant) {
        if self.exports.is_empty() {
            return;
        }
        let until = until.min(tokio::time::Instant::now().into_std() + self.limit);
        let exported = async {
            let turn = Arc::clone(&self.turn).lock_owned().await;
            let exports = self.exports.clone();
            let exported = spawn_blocking(move || {
                let _turn = turn;
                exports.iter().filter_map(|export| export().err()).collect::<Vec<_>>()
            });
            match exported.await {
                Ok(errors) => errors,
                Err(error) => vec![error.to_string()],
            }
        };
        match timeout_at(until.into(), exported).await {
            Ok(errors) => errors.iter().for_each(|error| warn!(error, "telemetry was not exported")),
            Err(_) => warn!("telemetry was not exported in time"),
        }
    }
}

impl fmt::Debug for Flushing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exports = self.exports.len();
        f.debug_struct("Flushing").field("exports", &exports).field("limit", &self.limit).finish()
    }
}
