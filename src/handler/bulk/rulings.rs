//! The results that a handler sets for its messages in a test.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::Rule;
use crate::failure::Failure;

/// The results that a handler under test set for the messages of its [`Bulk`](crate::Bulk).
#[derive(Clone)]
pub struct Rulings(Arc<Written>);

type Written = Mutex<Vec<Option<Result<(), Failure>>>>;

impl Rulings {
    pub(super) fn of(messages: usize) -> (Self, Arc<dyn Rule>) {
        let written = Arc::new(Mutex::new((0..messages).map(|_| None).collect()));
        (Self(Arc::clone(&written)), written)
    }

    /// Takes the results in the order of the messages, `None` for open ones.
    #[must_use]
    pub fn take(&self) -> Vec<Option<Result<(), Failure>>> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Rule for Written {
    fn rule(&self, at: usize, disposition: Result<(), Failure>) {
        let mut written = self.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(written) = written.get_mut(at) {
            *written = Some(disposition);
        }
    }
}

impl fmt::Debug for Rulings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rulings")
    }
}
