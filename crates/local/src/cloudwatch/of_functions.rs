//! The metrics that Lambda publishes of a function.
//! <https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html>

use std::time::{Duration, SystemTime};

use super::store::{Resolution, Store};
use super::{Metric, Unit, ValueSet};

/// All metrics that are published here, with their units.
pub(super) const METRICS: [FunctionMetric; 5] =
    [INVOCATIONS, ERRORS, THROTTLES, DURATION, CONCURRENT_EXECUTIONS];

type FunctionMetric = (&'static str, Unit);

const INVOCATIONS: FunctionMetric = ("Invocations", Unit::COUNT);
const ERRORS: FunctionMetric = ("Errors", Unit::COUNT);
const THROTTLES: FunctionMetric = ("Throttles", Unit::COUNT);
const DURATION: FunctionMetric = ("Duration", Unit::MILLISECONDS);
const CONCURRENT_EXECUTIONS: FunctionMetric = ("ConcurrentExecutions", Unit::COUNT);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Invoked<'a> {
    pub(crate) function: &'a str,
    pub(crate) started_at: SystemTime,
    /// Duration without the start of a process.
    pub(crate) duration: Duration,
    /// True if the whole invocation failed. An answer that names failed messages is not a failure.
    pub(crate) failed: bool,
}

/// Records the metrics of an invocation at the time of its start, as on AWS.
pub(crate) fn invoked(store: &mut Store, invoked: Invoked<'_>) {
    let milliseconds = invoked.duration.as_secs_f64() * 1_000.0;
    let values = [
        (INVOCATIONS, 1.0),
        (ERRORS, f64::from(u8::from(invoked.failed))),
        (THROTTLES, 0.0),
        (DURATION, (milliseconds * 100.0).round() / 100.0),
    ];
    for (metric, value) in values {
        record(store, invoked.function, metric, value, invoked.started_at);
    }
}

/// Records a throttled invocation, which counts neither as an invocation nor as an error.
pub(crate) fn throttled(store: &mut Store, function: &str, now: SystemTime) {
    record(store, function, THROTTLES, 1.0, now);
}

/// Records the number of invocations of a function that run now.
pub(crate) fn concurrent(store: &mut Store, function: &str, running: usize, now: SystemTime) {
    record(store, function, CONCURRENT_EXECUTIONS, running as f64, now);
}

/// Records a value for the function, and for all functions together.
fn record(store: &mut Store, function: &str, (name, unit): FunctionMetric, value: f64, at: SystemTime) {
    let alone = [("FunctionName", function)];
    let resource = [("FunctionName", function), ("Resource", function)];
    for dimensions in [&alone[..], &resource[..], &[]] {
        let metric = Metric::new("AWS/Lambda", name, dimensions.iter().copied());
        store.record(&metric, unit, Resolution::Minute, &ValueSet::of(value, 1.0), at);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Statistic;
    use super::super::store::moment;
    use super::*;

    #[test]
    fn an_invocation_counts_for_its_function_and_for_all() {
        let mut store = Store::default();
        let at = |second, failed, function| Invoked {
            function,
            started_at: moment(second),
            duration: Duration::from_micros(12_345),
            failed,
        };
        invoked(&mut store, at(60, false, "orders"));
        invoked(&mut store, at(100, true, "orders"));
        invoked(&mut store, at(119, false, "mails"));
        concurrent(&mut store, "orders", 2, moment(100));
        throttled(&mut store, "orders", moment(101));
        let of = |name, statistic, dimensions: &[(&str, &str)]| {
            let metric = Metric::new("AWS/Lambda", name, dimensions.iter().copied());
            store.value_set(&metric, None, 60..120)?.statistic(statistic)
        };
        let orders = [("FunctionName", "orders")];
        for (name, statistic, expected, all) in [
            ("Invocations", Statistic::Sum, 2.0, 3.0),
            ("Errors", Statistic::Sum, 1.0, 1.0),
            ("Throttles", Statistic::Sum, 1.0, 1.0),
            ("Duration", Statistic::Percentile(50.0), 12.35, 12.35),
            ("ConcurrentExecutions", Statistic::Maximum, 2.0, 2.0),
        ] {
            assert_eq!(of(name, statistic, &orders), Some(expected), "{name}");
            assert_eq!(of(name, statistic, &[]), Some(all), "{name}");
        }
    }
}
