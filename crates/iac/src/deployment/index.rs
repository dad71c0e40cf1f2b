//! An index of a deployment. Checks look up the same things for each of its queues.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{Deployment, Function, Queue};

/// Positions in the lists of a deployment, while nobody changes these.
#[derive(Debug, Default)]
pub struct Index {
    places: RefCell<Option<Arc<Places>>>,
    steps: Cell<u64>,
}

#[derive(Debug, Default)]
struct Places {
    queues: HashMap<String, usize>,
    functions: HashMap<String, usize>,
    /// Names of the functions that enabled mappings invoke, by the ARN of their queue.
    feeds: HashMap<String, HashSet<String>>,
    polled: HashSet<String>,
    /// Queues that a worker or an enabled mapping receives from.
    received_from: HashSet<String>,
    dead_letter_queues: HashSet<String>,
    /// Names of queues that feed something, and names of dead-letter queues.
    names_of_sources: HashSet<String>,
    names_of_dead_letter_queues: HashSet<String>,
    /// Queues that feed something with redrive, and their dead-letter queues.
    with_redrive: HashSet<String>,
    /// Functions with redrive that a mapping names.
    running_redrive: HashSet<String>,
}

/// A copy starts without an index, because it may be changed.
impl Clone for Index {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Index {
    /// Returns the number of items that were looked at so far.
    pub fn steps(&self) -> u64 {
        self.steps.get()
    }

    /// Counts an item.
    pub fn step(&self) {
        self.steps.set(self.steps.get() + 1);
    }
}

impl Places {
    fn of(deployment: &Deployment) -> Self {
        let mut places = Self::default();
        for (at, queue) in deployment.queues.iter().enumerate() {
            places.queues.entry(queue.arn.clone()).or_insert(at);
            if let Some(target) = queue.dead_letter_target() {
                places.dead_letter_queues.insert(target.to_owned());
            }
        }
        for (at, function) in deployment.functions.iter().enumerate() {
            places.functions.entry(function.name.clone()).or_insert(at);
        }
        let queue = |arn: &str| places.queues.get(arn).map(|at| &deployment.queues[*at]);
        let function = |name: &str| places.functions.get(name).map(|at| &deployment.functions[*at]);
        let mut sources: Vec<(&Queue, bool)> = Vec::new();
        for mapping in &deployment.mappings {
            let named = mapping.function.as_deref().and_then(function);
            let runs_redrive = named.is_some_and(Function::may_run_redrive);
            if let Some(name) = mapping.function.as_ref().filter(|_| runs_redrive) {
                places.running_redrive.insert(name.clone());
            }
            let Some(arn) = mapping.queue_arn.as_deref() else { continue };
            if mapping.enabled != Some(false) {
                places.received_from.insert(arn.to_owned());
            }
            let functions = places.feeds.entry(arn.to_owned()).or_default();
            functions.extend(mapping.function.clone().filter(|_| mapping.enabled != Some(false)));
            sources.extend(queue(arn).map(|queue| (queue, runs_redrive)));
        }
        for arn in deployment.workers.iter().filter_map(|worker| worker.queue_arn.as_deref()) {
            places.polled.insert(arn.to_owned());
            places.received_from.insert(arn.to_owned());
            sources.extend(queue(arn).map(|queue| (queue, true)));
        }
        for (source, runs_redrive) in sources {
            places.names_of_sources.insert(source.name().to_owned());
            if runs_redrive {
                places.with_redrive.insert(source.arn.clone());
                places.with_redrive.extend(source.dead_letter_target().map(str::to_owned));
            }
        }
        let dead = deployment.queues.iter().filter(|queue| places.dead_letter_queues.contains(&queue.arn));
        places.names_of_dead_letter_queues = dead.map(|queue| queue.name().to_owned()).collect();
        places
    }
}

impl Deployment {
    /// Runs work that looks up a lot and changes nothing.
    pub fn indexed<T>(&self, work: impl FnOnce() -> T) -> T {
        self.index.places.replace(Some(Arc::new(Places::of(self))));
        let done = work();
        self.index.places.replace(None);
        done
    }

    fn places(&self) -> Arc<Places> {
        self.index.step();
        let known = self.index.places.borrow().clone();
        known.unwrap_or_else(|| Arc::new(Places::of(self)))
    }

    pub fn queue(&self, arn: &str) -> Option<&Queue> {
        self.index.step();
        match &*self.index.places.borrow() {
            Some(places) => places.queues.get(arn).map(|at| &self.queues[*at]),
            None => self.queues.iter().find(|queue| queue.arn == arn),
        }
    }

    pub fn function(&self, name: &str) -> Option<&Function> {
        self.index.step();
        match &*self.index.places.borrow() {
            Some(places) => places.functions.get(name).map(|at| &self.functions[*at]),
            None => self.functions.iter().find(|function| function.name == name),
        }
    }

    /// Returns true if an enabled mapping of a queue invokes a function of this name.
    pub fn feeds(&self, arn: &str, function: &str) -> bool {
        self.places().feeds.get(arn).is_some_and(|functions| functions.contains(function))
    }

    /// Returns true if a mapping receives from a queue.
    pub fn feeds_a_function(&self, arn: &str) -> bool {
        self.places().feeds.contains_key(arn)
    }

    /// Returns true if a worker receives from a queue.
    pub fn feeds_a_worker(&self, arn: &str) -> bool {
        self.places().polled.contains(arn)
    }

    /// Returns true if a worker or an enabled mapping receives from a queue.
    pub fn is_received_from(&self, arn: &str) -> bool {
        self.places().received_from.contains(arn)
    }

    /// Returns true if this is the dead-letter queue of another.
    pub fn is_dead_letter_queue(&self, arn: &str) -> bool {
        self.places().dead_letter_queues.contains(arn)
    }

    /// Returns true if a queue of this name feeds anything.
    pub fn is_name_of_a_source(&self, name: &str) -> bool {
        self.places().names_of_sources.contains(name)
    }

    /// Returns true if a queue of this name is the dead-letter queue of another.
    pub fn is_name_of_a_dead_letter_queue(&self, name: &str) -> bool {
        self.places().names_of_dead_letter_queues.contains(name)
    }

    /// Returns true if a queue, or a queue whose letters it receives, feeds a worker or a function with redrive.
    pub fn is_queue_of_redrive(&self, arn: &str) -> bool {
        self.places().with_redrive.contains(arn)
    }

    /// Returns true if a mapping names this function, which runs redrive.
    pub fn is_mapped_with_redrive(&self, function: &str) -> bool {
        self.places().running_redrive.contains(function)
    }

    /// Returns true if any mapping names a function that runs redrive.
    pub fn has_mapping_with_redrive(&self) -> bool {
        !self.places().running_redrive.is_empty()
    }
}
