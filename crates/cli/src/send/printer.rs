//! Prints results in a separate thread, so a slow reader does not delay calls.

use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::deliver::SendResult;
use crate::output;
use crate::sqs::Stop;

/// Time for the rest of the results after a signal.
const LAST_RESULTS: Duration = Duration::from_secs(2);

/// Output for one message. People see failures only, programs see every result.
struct Told {
    json: Value,
    failure: Option<String>,
}

pub(super) struct Printer {
    results: mpsc::Sender<Told>,
    /// Number of results that are not printed yet.
    left: Arc<AtomicUsize>,
    thread: JoinHandle<io::Result<()>>,
}

impl Printer {
    /// Starts the thread. If nobody reads stdout, failures go to stderr.
    pub(super) fn start(json: bool) -> Self {
        let (results, all) = mpsc::channel::<Told>();
        let left = Arc::new(AtomicUsize::new(0));
        let waiting = Arc::clone(&left);
        let print = move || {
            let mut printed = Ok(());
            for told in all {
                if json && printed.is_ok() {
                    printed = output::print_json(&told.json);
                }
                if let Some(failure) = told.failure.filter(|_| !json || printed.is_err()) {
                    output::tell(failure);
                }
                waiting.fetch_sub(1, Ordering::Relaxed);
            }
            printed
        };
        Self { results, left, thread: std::thread::spawn(print) }
    }

    pub(super) fn tell(&self, result: &SendResult<'_>) {
        let failure = match result {
            SendResult::Failed { place, why, is_of_all: false } => Some(format!("redrive: {place}: {why}")),
            SendResult::Failed { .. } | SendResult::Sent { .. } => None,
        };
        self.left.fetch_add(1, Ordering::Relaxed);
        // Nobody is left to tell if the thread has ended.
        let _ = self.results.send(Told { json: result.to_json(), failure });
    }

    /// Waits until all results are printed, but after a signal not for a reader that is stuck.
    ///
    /// # Errors
    /// Stdout is gone.
    pub(super) async fn end(self, stop: &Stop) -> io::Result<()> {
        let Self { results, left, thread } = self;
        drop(results);
        let mut until = None;
        while !thread.is_finished() {
            until = until.or_else(|| stop.is_wanted().then(|| Instant::now() + LAST_RESULTS));
            if until.is_some_and(|until| until <= Instant::now()) {
                let left = left.load(Ordering::Relaxed);
                return Err(io::Error::other(format!(
                    "{left} results were not printed, because nobody reads them"
                )));
            }
            sleep(Duration::from_millis(5)).await;
        }
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}
