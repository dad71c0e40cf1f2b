//! Embedded metric format: lines of JSON on standard output that CloudWatch Logs turns into metrics, without a call.
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>

use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};

use crate::BatchReport;
use crate::metrics::{Gauges, failures, of_worker};

/// Most values of one metric in one line.
const VALUES: usize = 100;

/// Returns one line, and one more for every further hundred values. Only the first has the counters.
#[must_use]
pub fn lines(report: &BatchReport, gauges: Option<Gauges>, namespace: &str, now: SystemTime) -> Vec<String> {
    let of_worker = of_worker(report, gauges);
    if report.records == 0 && of_worker.is_empty() {
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
                for (name, count) in failures(report).into_iter().chain(of_worker.iter().copied()) {
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

/// Rounds to the microsecond.
fn round(milliseconds: f64) -> f64 {
    (milliseconds * 1_000.0).round() / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::NAMES;

    fn parsed(report: &BatchReport) -> Vec<Value> {
        parsed_of(report, None)
    }

    fn parsed_of(report: &BatchReport, gauges: Option<Gauges>) -> Vec<Value> {
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(1_795_247_400_123);
        lines(report, gauges, "Redrive", now).iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn report(durations: usize) -> BatchReport {
        BatchReport {
            queue: "orders".to_owned(),
            records: durations as u64,
            succeeded: durations as u64,
            worker_durations: vec![Duration::from_micros(1_500); durations],
            response_times: vec![Duration::from_secs(2); durations],
            max_attempt: 3,
            ..BatchReport::default()
        }
    }

    #[test]
    fn a_line_holds_everything_by_the_specification() {
        let line = &parsed(&report(2))[0];
        assert_eq!(line["_aws"]["Timestamp"], 1_795_247_400_123_u64);
        let directive = &line["_aws"]["CloudWatchMetrics"][0];
        assert_eq!(
            (&directive["Namespace"], &directive["Dimensions"]),
            (&json!("Redrive"), &json!([["QueueName"]]))
        );
        assert_eq!(
            (&line["QueueName"], &line["Succeeded"], &line["WorkerErrors"]),
            (&json!("orders"), &json!(2), &json!(0))
        );
        assert_eq!(
            (&line["WorkerDuration"], &line["ResponseTime"]),
            (&json!([1.5, 1.5]), &json!([2_000.0, 2_000.0]))
        );
        let metrics = directive["Metrics"].as_array().unwrap();
        let mut names: Vec<_> = metrics.iter().map(|metric| metric["Name"].as_str().unwrap()).collect();
        let of_workers = ["LeaseLost", "InHand", "Workers"];
        let mut promised = NAMES.to_vec();
        promised.retain(|name| !of_workers.contains(name));
        names.sort_unstable();
        promised.sort_unstable();
        assert_eq!(names, promised);
        for metric in metrics {
            assert!(!line[metric["Name"].as_str().unwrap()].is_null(), "{metric}");
            assert!(["Count", "Milliseconds"].contains(&metric["Unit"].as_str().unwrap()));
        }
    }

    #[test]
    fn no_metric_of_a_line_has_more_than_a_hundred_values_and_none_is_lost() {
        let lines = parsed(&report(250));
        assert_eq!(lines.len(), 3);
        let count = |line: &Value| line["WorkerDuration"].as_array().unwrap().len();
        assert_eq!(lines.iter().map(count).collect::<Vec<_>>(), [100, 100, 50]);
        assert_eq!(
            lines.iter().filter(|line| !line["Succeeded"].is_null()).count(),
            1,
            "counters are not repeated"
        );
        assert!(
            lines.iter().all(|line| line["_aws"]["CloudWatchMetrics"][0]["Metrics"]
                .as_array()
                .unwrap()
                .len()
                <= 100)
        );
    }

    #[test]
    fn a_batch_in_which_nothing_ran_still_has_a_line_and_no_batch_has_none() {
        assert_eq!(parsed(&BatchReport { records: 1, not_started: 1, ..report(0) }).len(), 1);
        assert!(parsed(&report(0)).is_empty());
    }

    #[test]
    fn a_minute_of_a_worker_has_its_gauges_also_when_nothing_happened() {
        let gauges = Some(Gauges { in_hand: 0, workers: 1 });
        let lost = |durations| BatchReport { lease_lost: 2, ..report(durations) };
        let idle = parsed_of(&lost(0), gauges);
        assert_eq!((&idle[0]["InHand"], &idle[0]["Workers"]), (&json!(0), &json!(1)));
        assert_eq!((&idle[0]["LeaseLost"], &idle[0]["Succeeded"], idle.len()), (&json!(2), &json!(0), 1));
        let busy = parsed_of(&lost(150), gauges);
        assert_eq!((busy.len(), &busy[0]["Workers"]), (2, &json!(1)));
        assert!(busy[1]["Workers"].is_null() && busy[1]["LeaseLost"].is_null(), "counted once");
        let names = busy[0]["_aws"]["CloudWatchMetrics"][0]["Metrics"].as_array().unwrap();
        assert_eq!(names.len(), NAMES.len());
        assert_eq!(parsed_of(&report(1), gauges)[0]["LeaseLost"], 0);
        // A part of a minute, or the last.
        let part = &parsed(&lost(0))[0];
        assert!(part["Workers"].is_null() && part["LeaseLost"] == 2);
    }
}
