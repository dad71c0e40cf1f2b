//! The locks of the run queue. Its test replaces this module.

pub(super) use std::sync::{Condvar, Mutex, MutexGuard};
