//! The counters, gauges and histograms of a process's workers as OpenMetrics text.
//! <https://prometheus.io/docs/specs/om/open_metrics_spec/>

use std::fmt::Debug;
use std::hash::Hash;

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::TypedMetric;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::BatchReport;

/// Bucket limits in seconds, from a handler that only looks something up to one that works for an hour.
const BUCKETS: [f64; 17] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 600.0, 3_600.0,
];

type Queue = [(&'static str, String); 1];
type QueueOutcome = [(&'static str, String); 2];

/// The metrics of all queues that a process polls.
#[derive(Debug)]
pub(crate) struct Families {
    registry: Registry,
    in_hand: Family<Queue, Gauge>,
    waiting: Family<Queue, Gauge>,
    messages: Family<QueueOutcome, Counter>,
    worker_errors: Family<Queue, Counter>,
    outages: Family<Queue, Counter>,
    down: Family<Queue, Gauge>,
    leases_lost: Family<Queue, Counter>,
    poll_errors: Family<Queue, Counter>,
    settle_errors: Family<Queue, Counter>,
    polls: Family<Queue, Counter>,
    handler: Histograms,
    settle: Histograms,
    age: Histograms,
}

type Histograms = Family<Queue, Histogram, fn() -> Histogram>;

impl Default for Families {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("redrive");
        let it = &mut registry;
        let unconfirmed = "Deletes, visibility changes and dead letters that SQS did not confirm, each try";
        Self {
            in_hand: added(it, "in_hand", "Messages whose handlers have not ended"),
            waiting: added(it, "waiting", "Messages received and not started"),
            messages: added(it, "messages", "Messages by outcome"),
            worker_errors: added(it, "worker_errors", "Messages that failed"),
            outages: added(it, "outages", "Messages whose handler reported an outage"),
            down: added(it, "dependencies_down", "Dependencies whose circuit breaker is open"),
            leases_lost: added(it, "leases_lost", "Messages whose lease ended before their handler"),
            poll_errors: added(it, "poll_errors", "Polls that failed"),
            settle_errors: added(it, "settle_errors", unconfirmed),
            polls: added(it, "polls", "Polls, including empty and failed ones"),
            handler: time(it, "handler", "How long each call of the handler ran"),
            settle: time(it, "settle", "How long each call that deletes, delays or dead-letters took"),
            age: time(it, "message_age", "From the sending of each message to the end of its success"),
            registry,
        }
    }
}

impl Families {
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("a string takes everything");
        text
    }
}

/// The metrics of one queue.
#[derive(Debug)]
pub(crate) struct OpenMetrics {
    pub(crate) in_hand: Gauge,
    pub(crate) waiting: Gauge,
    messages: [Counter; OUTCOMES.len()],
    worker_errors: Counter,
    outages: Counter,
    pub(crate) down: Gauge,
    pub(crate) leases_lost: Counter,
    pub(crate) poll_errors: Counter,
    pub(crate) settle_errors: Counter,
    pub(crate) polls: Counter,
    handler: Histogram,
    pub(crate) settle: Histogram,
    age: Histogram,
}

const OUTCOMES: [&str; 7] =
    ["succeeded", "retried", "dead_lettered", "deferred", "discarded", "replayed", "not_started"];

impl OpenMetrics {
    pub(crate) fn new(families: &Families, queue: &str) -> Self {
        let label = || ("queue", queue.to_owned());
        let of = [label()];
        Self {
            in_hand: families.in_hand.get_or_create_owned(&of),
            waiting: families.waiting.get_or_create_owned(&of),
            messages: OUTCOMES.map(|outcome| {
                families.messages.get_or_create_owned(&[label(), ("outcome", outcome.to_owned())])
            }),
            worker_errors: families.worker_errors.get_or_create_owned(&of),
            outages: families.outages.get_or_create_owned(&of),
            down: families.down.get_or_create_owned(&of),
            leases_lost: families.leases_lost.get_or_create_owned(&of),
            poll_errors: families.poll_errors.get_or_create_owned(&of),
            settle_errors: families.settle_errors.get_or_create_owned(&of),
            polls: families.polls.get_or_create_owned(&of),
            handler: families.handler.get_or_create_owned(&of),
            settle: families.settle.get_or_create_owned(&of),
            age: families.age.get_or_create_owned(&of),
        }
    }

    pub(crate) fn reported(&self, report: &BatchReport) {
        let counts = [
            report.succeeded,
            report.retried,
            report.dead_lettered,
            report.deferred,
            report.discarded,
            report.replayed,
            report.not_started,
        ];
        for (counter, count) in self.messages.iter().zip(counts) {
            counter.inc_by(count);
        }
        self.worker_errors.inc_by(report.worker_errors);
        self.outages.inc_by(report.outages);
        report.worker_durations.iter().for_each(|took| self.handler.observe(took.as_secs_f64()));
        report.response_times.iter().for_each(|age| self.age.observe(age.as_secs_f64()));
    }
}

fn added<L, M>(registry: &mut Registry, name: &str, help: &str) -> Family<L, M>
where
    L: Clone + Hash + Eq + EncodeLabelSet + Debug + Send + Sync + 'static,
    M: Default + EncodeMetric + TypedMetric + Debug + Send + Sync + 'static,
{
    let family = Family::default();
    registry.register(name, help, family.clone());
    family
}

fn time(registry: &mut Registry, name: &str, help: &str) -> Histograms {
    let family = Histograms::new_with_constructor(|| Histogram::new(BUCKETS));
    registry.register_with_unit(name, help, Unit::Seconds, family.clone());
    family
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::*;
    use crate::vitals::WorkerGroup;

    /// Returns name, labels and value of each sample. Panics at text that a strict reader of the format would refuse.
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

    fn started(queue: &str) -> String {
        let families = Families::default();
        OpenMetrics::new(&families, queue);
        families.text()
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
        let text = started("orders");
        assert!(samples(&text).iter().all(|(_, _, value)| *value == 0.0));
        let names: BTreeSet<_> = samples(&text).into_iter().map(|(name, _, _)| name).collect();
        let mut expected = BTreeSet::from(
            [
                "redrive_in_hand",
                "redrive_waiting",
                "redrive_messages_total",
                "redrive_worker_errors_total",
                "redrive_outages_total",
                "redrive_dependencies_down",
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
        for outcome in
            ["succeeded", "retried", "dead_lettered", "deferred", "discarded", "replayed", "not_started"]
        {
            value(&text, "redrive_messages_total", &format!(r#"outcome="{outcome}""#));
        }
    }

    #[test]
    fn each_event_is_counted_under_its_own_name() {
        let group = WorkerGroup::default();
        let vitals = group.add("orders", "orders");
        vitals.poll_ended(true);
        vitals.poll_ended(false);
        vitals.loop_turned(7, 3, 1);
        vitals.lease_lost();
        vitals.call_ended(Duration::from_millis(30), 2);
        vitals.down(2, false);
        let report = BatchReport {
            succeeded: 1,
            worker_errors: 2,
            retried: 3,
            dead_lettered: 4,
            deferred: 5,
            discarded: 6,
            replayed: 8,
            outages: 9,
            not_started: 7,
            worker_durations: vec![Duration::from_millis(2), Duration::from_hours(2)],
            response_times: vec![Duration::from_secs(40)],
            ..BatchReport::default()
        };
        vitals.reported(&report);
        vitals.reported(&report);
        let text = group.open_metrics();
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
            ("redrive_outages_total", "", 18.0),
            ("redrive_dependencies_down", "", 2.0),
            ("redrive_messages_total", "succeeded", 2.0),
            ("redrive_messages_total", "retried", 6.0),
            ("redrive_messages_total", "dead_lettered", 8.0),
            ("redrive_messages_total", "deferred", 10.0),
            ("redrive_messages_total", "discarded", 12.0),
            ("redrive_messages_total", "replayed", 16.0),
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
        let text = started("a\"b\\c\nd");
        assert!(text.contains(r#"redrive_in_hand{queue="a\"b\\c\nd"} 0"#), "{text}");
    }

    #[test]
    fn each_queue_of_a_process_has_its_own_numbers() {
        let group = WorkerGroup::default();
        let [orders, _mails] = ["orders", "mails"].map(|queue| group.add(queue, queue));
        orders.poll_ended(true);
        let text = group.open_metrics();
        let polls: BTreeSet<_> = samples(&text)
            .into_iter()
            .filter(|(name, _, _)| name == "redrive_polls_total")
            .map(|(_, labels, value)| (labels, value.to_string()))
            .collect();
        let expected = [(r#"queue="mails""#, "0"), (r#"queue="orders""#, "1")];
        assert_eq!(polls, expected.map(|(labels, value)| (labels.to_owned(), value.to_owned())).into());
    }
}
