use serde_json::{Value, json};

use crate::cloudwatch::CloudWatch;
use crate::cloudwatch::api::testing::client;
use crate::protocol::testing::{BEGIN, Client, Refused};

/// `Orders` of the last five minutes, 1 the oldest, and `Latency` of the last one.
fn world() -> Client<CloudWatch> {
    let mut world = client();
    let datum = |name: &str, value: u64, unit: &str, minutes: u64| json!({ "MetricName": name, "Value": value, "Unit": unit, "Timestamp": BEGIN - 60 * minutes });
    let orders = (1..=5).map(|value| datum("Orders", value, "Count", 6 - value));
    let latency = [datum("Latency", 60_000, "Milliseconds", 1), datum("Latency", 60, "Seconds", 1)];
    let data: Vec<_> = orders.chain(latency).collect();
    world.ask("PutMetricData", json!({ "Namespace": "Shop", "MetricData": data }));
    world
}

fn query(id: &str, name: &str, stat: &str, period: u64) -> Value {
    let metric = json!({ "Namespace": "Shop", "MetricName": name });
    json!({ "Id": id, "MetricStat": { "Metric": metric, "Stat": stat, "Period": period } })
}

fn input(queries: &[Value]) -> Value {
    json!({ "MetricDataQueries": queries, "StartTime": BEGIN - 300, "EndTime": BEGIN })
}

fn results(found: &Value) -> Vec<(&str, &Value)> {
    let results = found["MetricDataResults"].as_array().unwrap().iter();
    results.map(|series| (series["Label"].as_str().unwrap(), &series["Values"])).collect()
}

#[test]
fn a_label_is_the_name_and_what_tells_queries_apart() {
    let labels = |queries: &[Value]| -> Vec<String> {
        let found = world().ask("GetMetricData", input(queries));
        results(&found).into_iter().map(|(label, _)| label.to_owned()).collect()
    };
    let sum = query("a", "Orders", "Sum", 60);
    assert_eq!(labels(&[sum.clone(), query("b", "Latency", "Sum", 60)]), ["Orders", "Latency"]);
    assert_eq!(labels(&[sum.clone(), query("b", "Orders", "p90", 60)]), ["Orders Sum", "Orders p90"]);
    assert_eq!(labels(&[sum.clone(), query("b", "Orders", "Sum", 300)]), ["Orders 60", "Orders 300"]);
    assert_eq!(
        labels(&[sum.clone(), query("b", "Orders", "Minimum", 30)]),
        ["Orders Sum 60", "Orders Minimum 30"]
    );
    let mut named = sum;
    named["Label"] = json!("mine");
    assert_eq!(labels(&[named]), ["mine"]);
}

#[test]
fn of_several_units_the_first_is_taken_and_that_is_said() {
    let found = world().ask("GetMetricData", input(&[query("m", "Latency", "Sum", 60)]));
    let series = &found["MetricDataResults"][0];
    assert_eq!(series["Values"], json!([60_000.0]));
    let message =
        json!([{ "Code": "MultipleUnits", "Value": "Multiple units returned: '[Milliseconds, Seconds]'" }]);
    assert_eq!(series["Messages"], message);
    let mut query = query("m", "Latency", "Sum", 60);
    query["MetricStat"]["Unit"] = json!("Seconds");
    let found = world().ask("GetMetricData", input(&[query]));
    assert_eq!(
        (results(&found), &found["MetricDataResults"][0]["Messages"]),
        (vec![("Latency", &json!([60.0]))], &Value::Null)
    );
}

#[test]
fn a_metric_that_nobody_put_has_no_values_and_what_is_not_to_be_returned_is_left_out() {
    let mut hidden = query("b", "Orders", "Sum", 60);
    hidden["ReturnData"] = json!(false);
    let found = world().ask("GetMetricData", input(&[query("a", "Nothing", "Sum", 60), hidden]));
    assert_eq!(results(&found), [("Nothing", &json!([]))]);
}

#[test]
fn pages_hold_every_value_once() {
    let mut world = world();
    let mut request = input(&[query("a", "Orders", "Sum", 60), query("b", "Orders", "Maximum", 60)]);
    for most in 1..=11 {
        request["MaxDatapoints"] = json!(most);
        request["NextToken"] = Value::Null;
        let (mut values, mut pages) = (Vec::new(), 0);
        loop {
            let found = world.ask("GetMetricData", request.clone());
            let page: Vec<_> =
                results(&found).iter().flat_map(|(_, values)| values.as_array().unwrap().clone()).collect();
            assert!((1..=most).contains(&page.len()), "{found}");
            values.extend(page);
            pages += 1;
            request["NextToken"] = found["NextToken"].clone();
            if request["NextToken"].is_null() {
                break;
            }
        }
        assert_eq!(
            values,
            json!([5.0, 4.0, 3.0, 2.0, 1.0, 5.0, 4.0, 3.0, 2.0, 1.0]).as_array().unwrap().clone()
        );
        assert_eq!(pages, 10_usize.div_ceil(most));
    }
}

#[test]
fn what_cannot_be_answered_is_refused_by_name() {
    let good = query("m", "Orders", "Sum", 60);
    let with = |change: fn(&mut Value)| {
        let mut query = good.clone();
        change(&mut query);
        input(&[query])
    };
    let mut backwards = input(std::slice::from_ref(&good));
    backwards["EndTime"] = backwards["StartTime"].clone();
    for (input, code, message) in [
        (input(&[]), "ValidationError", "'metricDataQueries'"),
        (input(&vec![good.clone(); 501]), "InvalidParameterValue", "greater than 500"),
        (input(&[good.clone(), good.clone()]), "ValidationError", "id in MetricDataQueries are not unique"),
        (backwards, "ValidationError", "StartTime must be less than the parameter EndTime"),
        (with(|query| query["Id"] = json!("M1")), "ValidationError", "The value M1 for parameter"),
        (with(|query| query["Expression"] = json!("m1+m2")), "ValidationError", "Expression is \"m1+m2\""),
        (with(|query| query["MetricStat"] = Value::Null), "ValidationError", "metricStat"),
        (with(|query| query["MetricStat"]["Stat"] = json!("IQM")), "ValidationError", "statistic IQM is not"),
        (
            with(|query| query["MetricStat"]["Period"] = json!(0)),
            "InvalidParameterValue",
            "MetricStat.Period is 0",
        ),
        (
            with(|query| query["MetricStat"]["Unit"] = json!("Cups")),
            "InvalidParameterValue",
            "The value Cups",
        ),
    ] {
        let Refused { code: found, message: text, .. } = world().refused("GetMetricData", input);
        assert_eq!(found, code, "{text}");
        assert!(text.contains(message), "{text}");
    }
}
