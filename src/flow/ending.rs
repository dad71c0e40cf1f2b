//! The end of a process that can handle no more batches: after the answer to the one in hand.

use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use crate::Error;

#[derive(Debug, Default)]
pub(crate) struct Ending {
    why: Mutex<Option<Error>>,
    has_answered: Notify,
}

impl Ending {
    /// The first reason counts.
    pub(super) fn begin(&self, why: Error) {
        self.why().get_or_insert(why);
    }

    fn why(&self) -> std::sync::MutexGuard<'_, Option<Error>> {
        self.why.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lambda has been answered: a process that is to end asks for no other batch, and this never returns.
    pub(crate) async fn answered(&self) {
        if self.why().is_some() {
            self.has_answered.notify_one();
            std::future::pending().await
        }
    }

    /// Until a process that is to end has answered.
    pub(crate) async fn reached(&self) -> Error {
        loop {
            self.has_answered.notified().await;
            if let Some(why) = self.why().take() {
                return why;
            }
        }
    }
}
