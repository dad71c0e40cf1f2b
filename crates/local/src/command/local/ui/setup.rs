//! The parts of a run that are known before it starts: queues, functions, alarms. Pure.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::plan::Plan;
use super::model::MOST_MESSAGES;
use crate::{AlarmConfig, MappingConfig};

/// The part of a plan that the page works with.
#[derive(Debug)]
pub(super) struct Setup {
    /// The queues that feed functions.
    pub(super) sources: Vec<String>,
    /// The dead-letter queue of each queue that has one.
    pub(super) dead_letter_queues: BTreeMap<String, String>,
    pub(super) alarms: Vec<String>,
    pub(super) has_workers: bool,
    /// The setup as the page receives it.
    pub(super) told: Value,
}

impl Setup {
    pub(super) fn new(plan: &Plan) -> Self {
        let stack = &plan.stack;
        let dead = plan.stack.dead_letter_queues();
        let owned = dead.into_iter().map(|(queue, dead)| (queue.to_owned(), dead)).collect();
        let dead_letter_queues: BTreeMap<String, String> = owned;
        let sources: Vec<String> = stack.sources().into_iter().map(str::to_owned).collect();
        let queue = |name: &String| {
            json!({
                "name": name,
                "fifo": redrive_sqs::is_fifo(name),
                "functions": functions(&stack.mappings, name),
                "dead_letter_queue": dead_letter_queues.get(name),
            })
        };
        let told = json!({
            "queues": sources.iter().map(queue).collect::<Vec<_>>(),
            "thresholds": {
                "dead": threshold(&stack.alarms, "ApproximateNumberOfMessagesVisible"),
                "errors": threshold(&stack.alarms, "WorkerErrors"),
            },
            "most_messages": MOST_MESSAGES,
            "has_workers": plan.worker,
        });
        let alarms = stack.alarms.iter().map(|alarm| alarm.name.clone()).collect();
        Self { sources, dead_letter_queues, alarms, has_workers: plan.worker, told }
    }

    /// Returns every queue that samples count, with true if it is a dead-letter queue.
    pub(super) fn queues(&self) -> Vec<(String, bool)> {
        let mut dead: Vec<&String> =
            self.dead_letter_queues.values().filter(|name| !self.sources.contains(name)).collect();
        dead.dedup();
        let sources = self.sources.iter().map(|name| (name.clone(), false));
        sources.chain(dead.into_iter().map(|name| (name.clone(), true))).collect()
    }
}

fn functions<'a>(mappings: &'a [MappingConfig], queue: &str) -> Vec<&'a str> {
    mappings
        .iter()
        .filter(|mapping| mapping.queue == queue)
        .map(|mapping| mapping.function.as_str())
        .collect()
}

/// Returns the threshold of the first alarm on a metric that goes off above a value.
fn threshold(alarms: &[AlarmConfig], metric: &str) -> Option<f64> {
    alarms.iter().find(|alarm| alarm.metric == metric).map(|alarm| alarm.threshold)
}
