//! The processes of a function.

use std::sync::Arc;

use super::event::EventKind;
use super::invocation::Finished;
use crate::runtime_api::{Function, Process};

/// So many processes in a row that do not start are taken as a function that cannot, whether it did before or not. One
/// that asks for work has started, however its invocations end.
pub(crate) const START_FAILURES: u32 = 3;

#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) function: Arc<Function>,
    idle: Vec<Process>,
    running: usize,
    /// At most this many invocations at once.
    reserved_concurrency: Option<usize>,
    start_failures: u32,
}

impl Pool {
    pub(crate) fn new(function: Function) -> Self {
        Self {
            idle: Vec::new(),
            running: 0,
            reserved_concurrency: function.config.reserved_concurrency,
            start_failures: 0,
            function: Arc::new(function),
        }
    }

    /// Allows so many invocations at once. Those that run already go on.
    pub(crate) fn reserve(&mut self, concurrency: Option<usize>) {
        self.reserved_concurrency = concurrency;
    }

    /// Whether the function's concurrency allows one more invocation.
    pub(crate) fn has_room(&self) -> bool {
        self.reserved_concurrency.is_none_or(|reserved| self.running < reserved)
    }

    /// Begins an invocation, with a process that is free and still alive if there is one.
    pub(crate) fn begin(&mut self) -> Option<Process> {
        self.running += 1;
        while let Some(mut process) = self.idle.pop() {
            if process.is_alive() {
                return Some(process);
            }
        }
        None
    }

    /// Ends an invocation; its process, if there still is one, is free. If it has not even started, and that was one time
    /// too many, the function is given up.
    pub(crate) fn end(&mut self, finished: Finished) -> Option<EventKind> {
        self.running -= 1;
        self.idle.extend(finished.process);
        let Err(failure) = finished.ended else {
            self.start_failures = 0;
            return None;
        };
        self.start_failures += 1;
        (self.start_failures == START_FAILURES).then(|| EventKind::GaveUp {
            function: self.function.config.name.clone(),
            reason: format!("it failed {START_FAILURES} times in a row; the last time, {failure}"),
        })
    }

    pub(crate) fn gave_up(&self) -> bool {
        self.start_failures >= START_FAILURES
    }

    /// The processes that are free, to be ended.
    pub(crate) fn take_idle(&mut self) -> Vec<Process> {
        std::mem::take(&mut self.idle)
    }
}
