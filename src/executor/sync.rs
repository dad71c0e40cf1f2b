//! The locks of the run queue, named here alone so that its test can put others in their place.

pub(super) use std::sync::{Condvar, Mutex, MutexGuard};
