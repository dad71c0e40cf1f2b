//! Embedded metric format: a line of JSON on standard output that CloudWatch Logs turns into metrics, for no call.
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>

use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};

use crate::BatchReport;

/// The values that one metric may hold in one line.
const VALUES: usize = 100;

/// One line, and one more for every further hundred values. Counters stand on the first only.
pub(super) fn lines(report: &BatchReport, namespace: &str, now: SystemTime) -> Vec<String> {
    if report.records == 0 {
        return Vec::new();
    }
    let milliseconds = |durations: &[Duration]| -> Vec<Value> {
        durations.iter().map(|duration| json!(round(duration.as_secs_f64() * 1_000.0))).collect()
    };
    let worker = milliseconds(&report.worker_durations);
    let response = milliseconds(&report.response_times);
    let timestamp = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    let count = worker.len().max(response.len()).div_ceil(VALUES).max(1);
    (0..count)
        .map(|at| {
            let mut metrics = Vec::new();
            let mut line = Map::from_iter([("QueueName".to_owned(), json!(report.queue))]);
            let mut add = |name: &str, unit: &str, value: Value| {
                metrics.push(json!({ "Name": name, "Unit": unit }));
                line.insert(name.to_owned(), value);
            };
            if at == 0 {
                add("Succeeded", "Count", json!(report.succeeded));
                for (name, count) in super::failures(report) {
                    add(name, "Count", json!(count));
                }
                add("MaxAttempt", "Count", json!(report.max_attempt));
            }
            for (name, values) in [("WorkerDuration", &worker), ("ResponseTime", &response)] {
                if let Some(values) = values.chunks(VALUES).nth(at) {
                    add(name, "Milliseconds", json!(values));
                }
            }
            let directive =
                json!({ "Namespace": namespace, "Dimensions": [["QueueName"]], "Metrics": metrics });
            line.insert(
                "_aws".to_owned(),
                json!({ "Timestamp": timestamp, "CloudWatchMetrics": [directive] }),
            );
            Value::Object(line).to_string()
        })
        .collect()
}

/// To the microsecond.
fn round(milliseconds: f64) -> f64 {
    (milliseconds * 1_000.0).round() / 1_000.0
}
