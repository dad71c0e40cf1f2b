use std::time::Duration;

use super::{error_of, stack_of};
use crate::{MissingData, Unit};

/// Returns a template with one alarm that has these additional properties.
fn alarm(properties: &str) -> String {
    format!("Resources:\n{}", one("A", &format!("Statistic: Sum, {RULE}{properties}")))
}

fn one(id: &str, properties: &str) -> String {
    format!("  {id}:\n    Type: AWS::CloudWatch::Alarm\n    Properties: {{{properties}}}\n")
}

const RULE: &str = "Namespace: N, MetricName: M, Threshold: 1, Period: 60, EvaluationPeriods: 2, \
    ComparisonOperator: GreaterThanThreshold";

#[test]
fn an_alarm_needs_one_metric_and_words_that_cloudwatch_knows() {
    let stack = stack_of(&alarm(", TreatMissingData: breaching, Dimensions: [{Name: QueueName, Value: q}]"));
    let [read] = &stack.alarms[..] else { panic!("expected one alarm") };
    assert_eq!((read.datapoints_to_alarm, read.missing), (2, MissingData::Breaching));
    assert_eq!(read.dimensions["QueueName"], "q");
    let wrong = error_of(&alarm(", TreatMissingData: good"));
    assert_eq!(
        wrong,
        "line 4: TreatMissingData of A is \"good\", allowed: breaching, notBreaching, ignore, missing"
    );
    let list = error_of(&alarm(", TreatMissingData: [breaching]"));
    assert_eq!(list, "line 4: TreatMissingData of A must be a string");
}

/// Returns an alarm on a plain statistic of this metric.
fn of(id: &str, namespace: &str, metric: &str) -> String {
    let rule = RULE.replace("Namespace: N", &format!("Namespace: {namespace}"));
    let rule = rule.replace("MetricName: M", &format!("MetricName: {metric}"));
    one(id, &format!("Statistic: Sum, TreatMissingData: breaching, {rule}"))
}

#[test]
fn a_unit_is_carried_over() {
    let unit = |properties: &str| stack_of(&alarm(properties)).alarms[0].unit;
    assert_eq!((unit(""), unit(", Unit: Seconds")), (None, Unit::parse("Seconds")));
    let wrong = error_of(&alarm(", Unit: Lightyears"));
    assert_eq!(
        wrong,
        "line 4: Unit of A is \"Lightyears\", allowed: a unit of CloudWatch, such as Count or Seconds"
    );
}

#[test]
fn a_period_is_taken_as_it_is() {
    for seconds in [10, 20, 30, 300] {
        let stack = stack_of(&alarm("").replace("Period: 60", &format!("Period: {seconds}")));
        assert_eq!(stack.alarms[0].period, Duration::from_secs(seconds));
    }
    let error = error_of(&alarm("").replace("Period: 60", "Period: 45"));
    assert_eq!(error, "line 4: Period of A is \"45\", allowed: 10, 20, 30, or a multiple of 60");
}

#[test]
fn one_note_names_all_alarms_that_are_not_evaluated_and_why() {
    let queue = "Namespace: AWS/SQS, MetricName: M, Statistic: Sum";
    let alarms = [
        one("Fine", &format!("Statistic: Sum, {RULE}, AlarmActions: [!ImportValue topic]")),
        one("Math", "Metrics: [{Id: a, Expression: 1 + 1}]"),
        one("Odd", "Metrics: [{Id: a, Expression: ANOMALY_DETECTION_BAND(m)}], ThresholdMetricId: a"),
        one("Slow", &format!("ExtendedStatistic: p99, {RULE}")),
        one("Text", "EvaluationCriteria: {PromQLCriteria: {Query: up}}"),
        one("Bare", RULE),
        one(
            "Far",
            &format!("{queue}, Threshold: 1, Dimensions: [{{Name: QueueName, Value: !ImportValue q}}]"),
        ),
        of("Cpu", "AWS/EC2", "CPUUtilization"),
        of("Noisy", "AWS/SQS", "ApproximateNumberOfNoisyGroups"),
        of("Polled", "AWS/Lambda", "PolledEventCount"),
        of("Incoming", "AWS/Logs", "IncomingLogEvents"),
        of("Depth", "AWS/SQS", "ApproximateNumberOfMessagesVisible"),
        of("Errors", "AWS/Lambda", "Errors"),
        of("Unread", "AWS/Logs", "EMFParsingErrors"),
        "  Both: {Type: AWS::CloudWatch::CompositeAlarm, Properties: {AlarmRule: ALARM(Fine)}}\n".to_owned(),
    ];
    let stack = stack_of(&format!("Resources:\n{}", alarms.concat()));
    let names: Vec<_> = stack.alarms.iter().map(|alarm| alarm.name.as_str()).collect();
    assert_eq!(names, ["local-Fine", "local-Depth", "local-Errors", "local-Unread"]);
    let note = "alarms Math (metric math), Odd (anomaly detection), Slow (a percentile), Text (PromQL), Bare \
                (no Statistic), Far (Dimensions cannot be resolved), Cpu (redrive local does not publish \
                CPUUtilization of AWS/EC2), Noisy (redrive local does not publish ApproximateNumberOfNoisyGroups of \
                AWS/SQS), Polled (redrive local does not publish PolledEventCount of AWS/Lambda), Incoming (redrive local \
                does not publish IncomingLogEvents of AWS/Logs), Both (composite)";
    assert_eq!(stack.notes, [note]);
    let unknown = stack_of("Resources:\n  A: {Type: AWS::CloudWatch::Alarm, Properties: !ImportValue a}");
    assert_eq!(unknown.notes, ["alarm A (Properties cannot be resolved)"]);
    let unnamed = stack_of(&alarm(", AlarmName: !ImportValue n"));
    assert_eq!(unnamed.notes, ["alarm A (AlarmName cannot be resolved)"]);
    let single = stack_of(&format!("Resources:\n{}", alarms[1]));
    assert_eq!(single.notes, ["alarm Math (metric math)"]);
}
