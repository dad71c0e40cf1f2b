//! `--worker`: the functions' executables poll the queues themselves. Pure.

use std::time::Duration;

use crate::{FunctionConfig, MappingConfig, WorkerConfig};

/// Default time for which handlers continue after a signal.
const DRAIN: Duration = Duration::from_secs(25);

/// Additional time for a worker's end.
const MARGIN: Duration = Duration::from_secs(5);

/// Returns a worker for each mapping, and disables all mappings.
pub(super) fn of(functions: &[FunctionConfig], mappings: &mut [MappingConfig]) -> Vec<WorkerConfig> {
    let mut workers = Vec::new();
    for mapping in mappings {
        mapping.enabled = false;
        let program = functions.iter().find(|function| function.name == mapping.function);
        workers.extend(program.map(|program| WorkerConfig {
            program: program.clone(),
            queue: mapping.queue.clone(),
            grace: drain(program) + MARGIN,
        }));
    }
    workers
}

/// Returns warnings about settings of mappings that workers ignore.
pub(super) fn warnings(mappings: &[MappingConfig]) -> impl Iterator<Item = String> {
    let filtered = mappings.iter().filter(|mapping| !mapping.filters.is_empty());
    filtered.map(|mapping| {
        format!(
            "worker {}: receives every message of {}, FilterCriteria has no effect",
            mapping.function, mapping.queue
        )
    })
}

/// Returns the time for the drain. The worker itself refuses a value out of range.
fn drain(program: &FunctionConfig) -> Duration {
    let seconds = program.environment.get("REDRIVE_DRAIN").and_then(|text| text.parse().ok());
    seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).unwrap_or(DRAIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mapping_becomes_a_worker_that_may_take_its_drain_and_five_seconds() {
        let function = |name: &str, drain: &str| FunctionConfig {
            name: name.into(),
            environment: [("REDRIVE_DRAIN".into(), drain.into())].into(),
            ..FunctionConfig::default()
        };
        let functions = [function("orders", "90"), function("mails", "soon")];
        let mapping = |queue: &str, function: &str| MappingConfig {
            queue: queue.into(),
            function: function.into(),
            filters: vec![r#"{"body":["tea"]}"#.parse().expect("it is a filter")],
            ..MappingConfig::default()
        };
        let mut mappings = [mapping("a", "orders"), mapping("b", "orders"), mapping("c", "mails")];
        let workers = of(&functions, &mut mappings);
        let told = workers.iter().map(|it| (it.program.name.as_str(), it.queue.as_str(), it.grace.as_secs()));
        assert_eq!(told.collect::<Vec<_>>(), [("orders", "a", 95), ("orders", "b", 95), ("mails", "c", 30)]);
        assert!(mappings.iter().all(|mapping| !mapping.enabled));
        assert_eq!(warnings(&mappings).count(), 3);
    }
}
