//! What must be true of our template, whatever its parameters, by the reader that judges everybody's.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use redrive::Metrics;

use super::judge;
use crate::subject::template::{Source, read};
use crate::subject::{Alarm, Seen, Subject};

const OURS: &str = include_str!("../../../template.yaml");
const TIMEOUTS: [&str; 8] = ["3", "10", "30", "60", "120", "300", "600", "900"];
const SINKS: [(&str, Metrics); 3] =
    [("cloudwatch", Metrics::CloudWatch), ("emf", Metrics::Emf), ("off", Metrics::Off)];

fn ours(parameters: &[(&str, &str)]) -> Subject {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let parameters: Vec<_> = parameters.iter().map(owned).collect();
    let source = Source {
        path: Path::new("template.yaml"),
        text: OURS,
        parameters: &parameters,
        region: None,
        deployment: None,
        file: &|_| None,
    };
    read(&source).unwrap()
}

fn alarm<'a>(subject: &'a Subject, id: &str) -> Option<&'a Alarm> {
    subject.alarms.as_ref().unwrap().iter().find(|alarm| alarm.id == id)
}

#[test]
fn nothing_is_found_in_our_template_for_any_choice_of_its_parameters() {
    for timeout in TIMEOUTS {
        for (sink, _) in SINKS {
            for fifo in ["true", "false"] {
                for email in ["", "me@example.com"] {
                    let parameters = [
                        ("FunctionTimeout", timeout),
                        ("Metrics", sink),
                        ("Fifo", fifo),
                        ("NotificationEmail", email),
                    ];
                    let found: Vec<_> =
                        judge(&ours(&parameters)).iter().map(|it| it.found.what.clone()).collect();
                    assert_eq!(found, Vec::<String>::new(), "{parameters:?}");
                }
            }
        }
    }
}

#[test]
fn case_24_our_alarms_stand_on_metrics_that_the_binary_emits() {
    for (sink, metrics) in SINKS {
        let subject = ours(&[("Metrics", sink)]);
        let (source, function) = (&subject.queues[0], &subject.functions[0]);
        assert_eq!(function.variable("REDRIVE_METRICS"), Seen::There(sink));
        let Seen::There(namespace) = function.variable("REDRIVE_METRICS_NAMESPACE") else {
            panic!("no namespace")
        };
        let alarms = subject.alarms.as_ref().unwrap().iter().filter_map(|alarm| alarm.metric.as_ref());
        let of_ours: Vec<_> = alarms.filter(|metric| !metric.namespace.starts_with("AWS/")).collect();
        let names: BTreeSet<_> = of_ours.iter().map(|metric| metric.name.as_str()).collect();
        let expected: &[&str] = if metrics == Metrics::Off { &[] } else { &["DeadLettered", "WorkerErrors"] };
        assert_eq!(names, expected.iter().copied().collect());
        for metric in of_ours {
            assert!(metrics.names().contains(&metric.name.as_str()), "{metric:?} with {sink}");
            assert_eq!(metric.namespace, namespace);
            let dimensions: Vec<_> = metric.dimensions.iter().collect();
            assert_eq!(dimensions, [(&"QueueName".to_owned(), &source.name().to_owned())]);
        }
    }
}

#[test]
fn case_25_our_template_keeps_the_rules_for_every_choice_of_its_parameters() {
    for timeout in TIMEOUTS {
        for (fifo, window) in [("false", "300"), ("false", "0"), ("true", "0")] {
            let subject = ours(&[
                ("FunctionTimeout", timeout),
                ("Fifo", fifo),
                ("BatchingWindow", window),
                ("MaxReceiveCount", "7"),
            ]);
            let ([source, dead], [mapping], [function]) =
                (&subject.queues[..], &subject.mappings[..], &subject.functions[..])
            else {
                panic!("expected two queues, a mapping and a function")
            };
            assert_eq!(mapping.reports_batch_item_failures, Some(true));
            let least = 6 * function.timeout.unwrap() + mapping.window.unwrap();
            assert!(source.visibility_timeout.unwrap() >= least, "{timeout} s, window {window} s");
            assert_eq!(function.timeout, Some(Duration::from_secs(timeout.parse().unwrap())));
            let policy = source.redrive_policy.there().unwrap();
            assert_eq!(policy.max_receive_count, Some(7));
            assert_eq!(function.variable("REDRIVE_MAX_RECEIVE_COUNT"), Seen::There("7"));
            assert_eq!(policy.dead_letter_target_arn.as_ref(), Some(&dead.arn));
            assert!(dead.retention > source.retention);
            assert!(dead.redrive_policy.is_absent());
            assert_eq!((source.is_fifo(), dead.is_fifo()), (fifo == "true", fifo == "true"));
        }
    }
}

#[test]
fn case_25_our_dead_letter_alarm_goes_off_at_exactly_one_letter_after_one_period_and_can_be_switched_off() {
    let subject = ours(&[]);
    let alarm_on = alarm(&subject, "DeadLetterAlarm").unwrap();
    assert_eq!(
        (alarm_on.threshold, alarm_on.comparison.as_str()),
        (Some(1.0), "GreaterThanOrEqualToThreshold")
    );
    assert_eq!((alarm_on.statistic.as_str(), alarm_on.missing_data.as_str()), ("Maximum", "notBreaching"));
    assert_eq!((alarm_on.evaluation_periods, alarm_on.datapoints_to_alarm), (Some(1), Some(1)));
    assert_eq!(alarm_on.period, Some(Duration::from_secs(60)));
    assert!(alarm(&ours(&[("AlarmOnDeadLetters", "false")]), "DeadLetterAlarm").is_none());
}

#[test]
fn case_25_two_stacks_do_not_collide_and_the_outputs_are_those_that_the_command_reads() {
    let subject = ours(&[]);
    let queues = subject.queues.iter().map(|queue| queue.name());
    let functions = subject.functions.iter().map(|function| function.name.as_str());
    let alarms = subject.alarms.iter().flatten().map(|alarm| alarm.name.as_str());
    for name in queues.chain(functions).chain(alarms) {
        assert!(name.starts_with("STACK-"), "{name}");
    }
    let (_, outputs) = OURS.split_once("\nOutputs:\n").unwrap();
    for output in ["QueueUrl", "DeadLetterQueueUrl", "FunctionName", "LogGroupName"] {
        assert!(outputs.contains(&format!("  {output}:\n")), "{output}");
    }
}
