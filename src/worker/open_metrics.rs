//! A worker's counters, gauges and histograms as OpenMetrics text.
//! <https://prometheus.io/docs/specs/om/open_metrics_spec/>

use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::BatchReport;

/// In seconds: from a handler that only looks something up to one that works for an hour.
const BUCKETS: [f64; 17] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 600.0, 3_600.0,
];

type Outcome = [(&'static str, &'static str); 1];

#[derive(Debug)]
pub(super) struct OpenMetrics {
    registry: Registry,
    in_hand: Gauge,
    waiting: Gauge,
    messages: Family<Outcome, Counter>,
    worker_errors: Counter,
    leases_lost: Counter,
    poll_errors: Counter,
    settle_errors: Counter,
    polls: Counter,
    handler: Histogram,
    settle: Histogram,
    age: Histogram,
}

impl OpenMetrics {
    pub(super) fn new(queue: &str) -> Self {
        let histogram = || Histogram::new(BUCKETS);
        let mut metrics = Self {
            registry: Registry::with_prefix_and_labels(
                "redrive",
                [("queue".into(), queue.to_owned().into())].into_iter(),
            ),
            in_hand: Gauge::default(),
            waiting: Gauge::default(),
            messages: Family::default(),
            worker_errors: Counter::default(),
            leases_lost: Counter::default(),
            poll_errors: Counter::default(),
            settle_errors: Counter::default(),
            polls: Counter::default(),
            handler: histogram(),
            settle: histogram(),
            age: histogram(),
        };
        metrics.register();
        metrics.reported(&BatchReport::default());
        metrics
    }

    fn register(&mut self) {
        let it = &mut self.registry;
        it.register("in_hand", "Messages whose handlers have not ended", self.in_hand.clone());
        it.register("waiting", "Messages received and not begun", self.waiting.clone());
        it.register("messages", "Messages by what became of them", self.messages.clone());
        it.register("worker_errors", "Messages that failed", self.worker_errors.clone());
        it.register(
            "leases_lost",
            "Messages whose lease ended before their handler",
            self.leases_lost.clone(),
        );
        it.register("poll_errors", "Polls that failed", self.poll_errors.clone());
        let unconfirmed = "Deletes, visibility changes and dead letters that SQS did not confirm, each try";
        it.register("settle_errors", unconfirmed, self.settle_errors.clone());
        it.register(
            "polls",
            "Polls, with those that brought nothing and those that failed",
            self.polls.clone(),
        );
        let mut time = |name: &str, help: &str, histogram: &Histogram| {
            it.register_with_unit(name, help, Unit::Seconds, histogram.clone());
        };
        time("handler", "How long each call of the handler ran", &self.handler);
        time("settle", "How long each call that deletes, delays or dead-letters took", &self.settle);
        time("message_age", "From the sending of each message to the end of its success", &self.age);
    }

    pub(super) fn poll_ended(&self, is_ok: bool) {
        self.polls.inc();
        self.poll_errors.inc_by(u64::from(!is_ok));
    }

    pub(super) fn holds(&self, in_hand: usize, waiting: usize) {
        self.in_hand.set(in_hand as i64);
        self.waiting.set(waiting as i64);
    }

    pub(super) fn lease_lost(&self) {
        self.leases_lost.inc();
    }

    pub(super) fn call_ended(&self, took: Duration, refused: usize) {
        self.settle.observe(took.as_secs_f64());
        self.settle_errors.inc_by(refused as u64);
    }

    pub(super) fn reported(&self, report: &BatchReport) {
        for (outcome, count) in [
            ("succeeded", report.succeeded),
            ("retried", report.retried),
            ("dead_lettered", report.dead_lettered),
            ("deferred", report.deferred),
            ("discarded", report.discarded),
            ("not_started", report.not_started),
        ] {
            self.messages.get_or_create(&[("outcome", outcome)]).inc_by(count);
        }
        self.worker_errors.inc_by(report.worker_errors);
        report.worker_durations.iter().for_each(|took| self.handler.observe(took.as_secs_f64()));
        report.response_times.iter().for_each(|age| self.age.observe(age.as_secs_f64()));
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("a string takes everything");
        text
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Name, labels and value of each sample. Panics at what a strict reader of the format would refuse.
    fn samples(text: &str) -> Vec<(String, String, f64)> {
        let body = text.strip_suffix("# EOF\n").expect("it ends with # EOF");
        let (mut families, mut samples) = (BTreeSet::new(), Vec::new());
        let mut family = (String::new(), String::new());
        for line in body.lines() {
            if let Some(metadata) = line.strip_prefix("# ") {
                let mut words = metadata.splitn(3, ' ');
                let (kind, name, what) = (words.next(), words.next().unwrap(), words.next().unwrap());
                match kind {
                    Some("HELP") => assert!(families.insert(name.to_owned()), "{name} comes twice"),
                    Some("TYPE") => family = (name.to_owned(), what.to_owned()),
                    Some("UNIT") => assert!(name.ends_with(&format!("_{what}")), "{line}"),
                    _ => panic!("{line}"),
                }
                continue;
            }
            let (name, rest) = line.split_once('{').unwrap();
            let (labels, value) = rest.rsplit_once("} ").unwrap();
            let suffix = name.strip_prefix(&family.0).unwrap_or_else(|| panic!("{line} is of {family:?}"));
            let allowed: &[&str] = match family.1.as_str() {
                "counter" => &["_total"],
                "gauge" => &[""],
                "histogram" => &["_bucket", "_sum", "_count"],
                _ => panic!("{family:?}"),
            };
            assert!(allowed.contains(&suffix), "{line}");
            samples.push((name.to_owned(), labels.to_owned(), value.parse().unwrap()));
        }
        samples
    }

    fn value(text: &str, name: &str, label: &str) -> f64 {
        let found: Vec<_> = samples(text)
            .into_iter()
            .filter(|(found, labels, _)| found == name && labels.contains(label))
            .collect();
        let [(_, labels, value)] = &found[..] else { panic!("one {name} with {label}: {found:?}") };
        assert!(labels.contains(r#"queue="orders""#), "{labels}");
        *value
    }

    #[test]
    fn everything_is_there_from_the_start_at_zero() {
        let text = OpenMetrics::new("orders").text();
        assert!(samples(&text).iter().all(|(_, _, value)| *value == 0.0));
        let names: BTreeSet<_> = samples(&text).into_iter().map(|(name, _, _)| name).collect();
        let mut expected = BTreeSet::from(
            [
                "redrive_in_hand",
                "redrive_waiting",
                "redrive_messages_total",
                "redrive_worker_errors_total",
                "redrive_leases_lost_total",
                "redrive_poll_errors_total",
                "redrive_settle_errors_total",
                "redrive_polls_total",
            ]
            .map(str::to_owned),
        );
        for name in ["handler", "settle", "message_age"] {
            expected.extend(["bucket", "sum", "count"].map(|it| format!("redrive_{name}_seconds_{it}")));
        }
        assert_eq!(names, expected);
        for outcome in ["succeeded", "retried", "dead_lettered", "deferred", "discarded", "not_started"] {
            value(&text, "redrive_messages_total", &format!(r#"outcome="{outcome}""#));
        }
    }

    #[test]
    fn each_event_is_counted_under_its_own_name() {
        let metrics = OpenMetrics::new("orders");
        metrics.poll_ended(true);
        metrics.poll_ended(false);
        metrics.holds(7, 3);
        metrics.lease_lost();
        metrics.call_ended(Duration::from_millis(30), 2);
        let report = BatchReport {
            succeeded: 1,
            worker_errors: 2,
            retried: 3,
            dead_lettered: 4,
            deferred: 5,
            discarded: 6,
            not_started: 7,
            worker_durations: vec![Duration::from_millis(2), Duration::from_hours(2)],
            response_times: vec![Duration::from_secs(40)],
            ..BatchReport::default()
        };
        metrics.reported(&report);
        metrics.reported(&report);
        let text = metrics.text();
        for (name, label, expected) in [
            ("redrive_polls_total", "", 2.0),
            ("redrive_poll_errors_total", "", 1.0),
            ("redrive_in_hand", "", 7.0),
            ("redrive_waiting", "", 3.0),
            ("redrive_leases_lost_total", "", 1.0),
            ("redrive_settle_errors_total", "", 2.0),
            ("redrive_settle_seconds_sum", "", 0.03),
            ("redrive_settle_seconds_count", "", 1.0),
            ("redrive_worker_errors_total", "", 4.0),
            ("redrive_messages_total", "succeeded", 2.0),
            ("redrive_messages_total", "retried", 6.0),
            ("redrive_messages_total", "dead_lettered", 8.0),
            ("redrive_messages_total", "deferred", 10.0),
            ("redrive_messages_total", "discarded", 12.0),
            ("redrive_messages_total", "not_started", 14.0),
            ("redrive_handler_seconds_bucket", r#"le="0.001""#, 0.0),
            ("redrive_handler_seconds_bucket", r#"le="0.0025""#, 2.0),
            ("redrive_handler_seconds_bucket", r#"le="3600.0""#, 2.0),
            ("redrive_handler_seconds_bucket", r#"le="+Inf""#, 4.0),
            ("redrive_message_age_seconds_bucket", r#"le="30.0""#, 0.0),
            ("redrive_message_age_seconds_bucket", r#"le="60.0""#, 2.0),
            ("redrive_message_age_seconds_sum", "", 80.0),
        ] {
            assert_eq!(value(&text, name, label), expected, "{name} {label}");
        }
    }

    #[test]
    fn a_queue_may_have_any_name() {
        let text = OpenMetrics::new("a\"b\\c\nd").text();
        assert!(text.contains(r#"redrive_in_hand{queue="a\"b\\c\nd"} 0"#), "{text}");
    }
}
