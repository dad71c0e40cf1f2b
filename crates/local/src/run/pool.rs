//! The processes of functions.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::event::EventKind;
use super::invocation::Finished;
use crate::mapping::Capacity;
use crate::runtime_api::{Function, Process};

/// Processes in a row that fail to start, after which the function counts as broken, even if it started before. A process
/// that requests work has started, however its invocations end.
pub(crate) const START_FAILURES: u32 = 3;

/// All functions, by name.
#[derive(Debug)]
pub(crate) struct Pools(BTreeMap<String, Pool>);

impl Pools {
    pub(crate) fn new(functions: impl IntoIterator<Item = Function>) -> Self {
        let pools = functions.into_iter().map(Pool::new);
        Self(pools.map(|pool| (pool.function.config.name.clone(), pool)).collect())
    }

    pub(crate) fn get_mut(&mut self, function: &str) -> Option<&mut Pool> {
        self.0.get_mut(function)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (&String, &mut Pool)> {
        self.0.iter_mut()
    }

    /// Returns the capacity of a function. An unknown function has none.
    pub(crate) fn capacity(&self, function: &str) -> Capacity {
        self.0.get(function).map_or(Capacity::GaveUp, Pool::capacity)
    }

    pub(crate) async fn end(&mut self) {
        for process in self.0.values_mut().flat_map(|pool| std::mem::take(&mut pool.idle)) {
            process.end().await;
        }
    }
}

#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) function: Arc<Function>,
    idle: Vec<Process>,
    /// Running invocations of the function, of all mappings.
    pub(crate) running: usize,
    /// Most invocations at once.
    reserved_concurrency: Option<usize>,
    start_failures: u32,
}

impl Pool {
    fn new(function: Function) -> Self {
        Self {
            idle: Vec::new(),
            running: 0,
            reserved_concurrency: function.config.reserved_concurrency,
            start_failures: 0,
            function: Arc::new(function),
        }
    }

    /// Sets the most invocations at once. Running invocations continue.
    pub(crate) fn reserve(&mut self, concurrency: Option<usize>) {
        self.reserved_concurrency = concurrency;
    }

    fn capacity(&self) -> Capacity {
        if self.start_failures >= START_FAILURES {
            Capacity::GaveUp
        } else if self.reserved_concurrency.is_none_or(|reserved| self.running < reserved) {
            Capacity::Room
        } else {
            Capacity::Full
        }
    }

    /// Begins an invocation. Returns an idle process that is still alive, if there is one.
    pub(crate) fn begin(&mut self) -> Option<Process> {
        self.running += 1;
        while let Some(mut process) = self.idle.pop() {
            if process.is_alive() {
                return Some(process);
            }
        }
        None
    }

    /// Ends an invocation, and keeps its process for the next one. Returns an event when the function has failed to start too
    /// often, and is given up.
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
}
