//! Ends a process that can handle no more batches, after it has answered the batches that it has received.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::Error;

#[derive(Debug, Default)]
pub(crate) struct Shutdown {
    state: Mutex<State>,
    is_complete: Notify,
}

#[derive(Debug, Default)]
struct State {
    why: Option<Error>,
    unanswered: usize,
}

impl Shutdown {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the shutdown; only the first reason is kept.
    pub(super) fn begin(&self, why: Error) {
        self.state().why.get_or_insert(why);
    }

    /// A batch was received and has to be answered.
    pub(crate) fn received(&self) {
        self.state().unanswered += 1;
    }

    /// A batch was answered. During a shutdown this never returns, so that the process asks for no other batch.
    pub(crate) async fn answered(&self) {
        let ends = {
            let mut state = self.state();
            state.unanswered -= 1;
            if state.why.is_some() && state.unanswered == 0 {
                self.is_complete.notify_one();
            }
            state.why.is_some()
        };
        if ends {
            std::future::pending().await
        }
    }

    /// Waits until a shutdown was started and every received batch was answered.
    pub(crate) async fn completed(&self) -> Error {
        loop {
            self.is_complete.notified().await;
            if let Some(why) = self.state().why.take() {
                return why;
            }
        }
    }
}
