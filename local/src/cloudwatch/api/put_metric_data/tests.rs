use serde_json::{Value, json};

use crate::cloudwatch::api::testing::client;
use crate::protocol::testing::BEGIN;

fn put(datum: &Value) -> (String, String) {
    let mut world = client();
    let good = json!({ "MetricName": "Orders", "Value": 1 });
    let input = json!({ "Namespace": "Shop", "MetricData": [datum, good] });
    let refusal = world.refused("PutMetricData", input);
    assert_eq!(world.state.store.metrics().count(), 0, "nothing is kept of a refused request");
    (refusal.code, refusal.message)
}

#[test]
fn values_come_alone_as_statistics_or_with_counts() {
    let mut world = client();
    let statistics = json!({ "SampleCount": 2, "Sum": 30.5, "Minimum": 10, "Maximum": 20.5 });
    let data = json!([
        { "MetricName": "Orders", "Value": 1.5 },
        { "MetricName": "Orders", "Values": [2.0, 5.0], "Counts": [3.0, 1.0] },
        { "MetricName": "Orders", "Values": [7.0] },
        { "MetricName": "Orders", "StatisticValues": statistics, "Unit": "Count", "StorageResolution": 1 },
    ]);
    let entities = json!([{ "Entity": {}, "MetricData": [{ "MetricName": "Orders", "Value": 100 }] }]);
    world.ask(
        "PutMetricData",
        json!({ "Namespace": "Shop", "MetricData": data, "EntityMetricData": entities }),
    );
    assert_eq!(world.state.sum(Some("Shop"), "Orders"), 1.5 + 11.0 + 7.0 + 30.5 + 100.0);
}

#[test]
fn timestamps_reach_two_weeks_back_and_two_hours_ahead() {
    let from_now = |seconds: i64| {
        let timestamp = BEGIN.saturating_add_signed(seconds);
        json!({ "MetricName": "Orders", "Value": 1, "Timestamp": timestamp })
    };
    let (week, hour) = (7 * 86_400, 3_600);
    for seconds in [-2 * week, 2 * hour] {
        let data = json!({ "Namespace": "Shop", "MetricData": [from_now(seconds)] });
        client().ask("PutMetricData", data);
    }
    let path = "The parameter MetricData.member.1.Timestamp must specify a time";
    for (seconds, bound) in [
        (-2 * week - 1, "within the past two weeks."),
        (2 * hour + 1, "no more than two hours in the future."),
    ] {
        assert_eq!(put(&from_now(seconds)), ("InvalidParameterValue".to_owned(), format!("{path} {bound}")));
    }
}

#[test]
fn one_bad_value_refuses_the_whole_request_by_name() {
    let dimensions = |count: usize| -> Value {
        (0..count).map(|number| json!({ "Name": format!("d{number}"), "Value": "v" })).collect()
    };
    let with = |field: &str, value: Value| {
        let mut datum = json!({ "MetricName": "Orders", "Value": 1 });
        datum[field] = value;
        datum
    };
    for (datum, code, message) in [
        (json!({ "Value": 1 }), "MissingParameter", "MetricName is required"),
        (json!({ "MetricName": "Orders" }), "MissingParameter", "Value is required"),
        (with("Value", json!("NaN")), "InvalidParameterValue", "The value NaN for parameter"),
        (with("Value", json!("-Infinity")), "InvalidParameterValue", "The value -Infinity for parameter"),
        (with("Value", json!(1e110)), "InvalidParameterValue", "Value is invalid"),
        (with("Value", json!("one")), "SerializationException", "one is not a number"),
        (with("Unit", json!("Cups")), "InvalidParameterValue", "The value Cups for parameter"),
        (with("StorageResolution", json!(5)), "InvalidParameterValue", "The value 5 for parameter"),
        (
            with("Values", json!([1])),
            "InvalidParameterCombination",
            "Value and MetricData.member.1.Values are",
        ),
        (with("StatisticValues", json!({})), "InvalidParameterCombination", "mutually exclusive"),
        (
            with("Dimensions", dimensions(31)),
            "InvalidParameterValue",
            "Dimensions must not have a size greater than 30",
        ),
        (
            with("Dimensions", json!([{ "Name": "d", "Value": "" }])),
            "MissingParameter",
            "Dimensions.member.1.Value",
        ),
        (
            with("Dimensions", json!([{ "Name": ":d", "Value": "v" }])),
            "InvalidParameterValue",
            "The value :d",
        ),
        (
            with("Dimensions", json!([{ "Name": "d", "Value": "früh" }])),
            "InvalidParameterValue",
            "The value früh",
        ),
        (
            json!({ "MetricName": "Orders", "Values": [1, 2], "Counts": [1] }),
            "InvalidParameterValue",
            "The parameters MetricData.member.1.Values and MetricData.member.1.Counts must be of the same size.",
        ),
        (
            json!({ "MetricName": "Orders", "Values": vec![1; 151] }),
            "InvalidParameterValue",
            "greater than 150",
        ),
        (
            json!({ "MetricName": "Orders", "Values": [1], "Counts": [0] }),
            "InvalidParameterValue",
            "Counts.member.1",
        ),
        (
            json!({ "MetricName": "Orders", "StatisticValues": { "SampleCount": 1, "Sum": 1, "Minimum": 1 } }),
            "MissingParameter",
            "StatisticValues.Maximum is required",
        ),
    ] {
        let (found, text) = put(&datum);
        assert_eq!(found, code, "{text}");
        assert!(text.contains(message), "{text}");
    }
}

#[test]
fn a_request_has_a_namespace_of_ones_own_and_at_most_a_thousand_metrics() {
    let datum = json!({ "MetricName": "Orders", "Value": 1 });
    let many = |count: usize| vec![datum.clone(); count];
    client().ask("PutMetricData", json!({ "Namespace": "Shop", "MetricData": many(1_000) }));
    for (input, code) in [
        (json!({ "Namespace": "Shop", "MetricData": many(1_001) }), "InvalidParameterValue"),
        (json!({ "Namespace": "AWS/SQS", "MetricData": many(1) }), "InvalidParameterValue"),
        (json!({ "Namespace": "", "MetricData": many(1) }), "MissingParameter"),
        (json!({ "MetricData": many(1) }), "MissingParameter"),
        (json!({ "Namespace": "Shop" }), "MissingParameter"),
    ] {
        assert_eq!(client().refused("PutMetricData", input).code, code);
    }
}
