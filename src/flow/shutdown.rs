//! The end of a process that can handle no more batches: after the answers to those in hand.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::Error;

#[derive(Debug, Default)]
pub(crate) struct Ending {
    state: Mutex<State>,
    is_reached: Notify,
}

#[derive(Debug, Default)]
struct State {
    why: Option<Error>,
    in_hand: usize,
}

impl Ending {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first reason counts.
    pub(super) fn begin(&self, why: Error) {
        self.state().why.get_or_insert(why);
    }

    /// A batch is in hand.
    pub(crate) fn received(&self) {
        self.state().in_hand += 1;
    }

    /// Lambda has been answered: a process that is to end asks for no other batch, and this never returns.
    pub(crate) async fn answered(&self) {
        let ends = {
            let mut state = self.state();
            state.in_hand -= 1;
            if state.why.is_some() && state.in_hand == 0 {
                self.is_reached.notify_one();
            }
            state.why.is_some()
        };
        if ends {
            std::future::pending().await
        }
    }

    /// Until a process that is to end has answered for all that it has in hand.
    pub(crate) async fn reached(&self) -> Error {
        loop {
            self.is_reached.notified().await;
            if let Some(why) = self.state().why.take() {
                return why;
            }
        }
    }
}
