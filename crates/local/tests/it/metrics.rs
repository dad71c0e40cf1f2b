use std::collections::BTreeMap;
use std::time::Duration;

use redrive_local::{EventKind, Local, Speed, Statistic};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::support::http::json_call;
use crate::support::{alarm, message, shop};

const PATIENCE: Duration = Duration::from_secs(60);

async fn cloudwatch(local: &Local, operation: &str, input: Value) -> Value {
    json_call(local, &format!("GraniteServiceVersion20100801.{operation}"), &input).await
}

/// Waits for the next change of an alarm, and returns the state.
async fn next_state(events: &mut tokio::sync::mpsc::UnboundedReceiver<redrive_local::Event>) -> String {
    let next = async {
        loop {
            if let EventKind::Alarm { name, state, .. } = events.recv().await.expect("it goes on").kind {
                return format!("{name} {state}");
            }
        }
    };
    timeout(PATIENCE, next).await.expect("an alarm changes its state")
}

/// Returns the sum of a metric over the last hour of the client's time.
async fn sum(local: &Local, namespace: &str, metric: &str, dimension: (&str, &str)) -> f64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let input = json!({
        "Namespace": namespace, "MetricName": metric, "Dimensions": [{ "Name": dimension.0, "Value": dimension.1 }],
        "StartTime": now - 3_600, "EndTime": now + 60, "Period": 60, "Statistics": ["Sum"],
    });
    let found = cloudwatch(local, "GetMetricStatistics", input).await;
    found["Datapoints"].as_array().unwrap().iter().map(|point| point["Sum"].as_f64().unwrap()).sum()
}

#[tokio::test]
async fn an_alarm_that_is_put_and_one_that_is_configured_are_the_same_thing() {
    let mut local = Local::start(shop(Speed::Max)).await.unwrap();
    let mut events = local.take_events();
    let put = json!({
        "AlarmName": "Put", "Namespace": "AWS/SQS", "MetricName": "ApproximateNumberOfMessagesVisible",
        "Dimensions": [{ "Name": "QueueName", "Value": "orders-dead" }], "Statistic": "Maximum", "Period": 60,
        "EvaluationPeriods": 1, "Threshold": 1, "ComparisonOperator": "GreaterThanOrEqualToThreshold",
        "TreatMissingData": "notBreaching",
    });
    cloudwatch(&local, "PutMetricAlarm", put).await;
    assert_eq!([next_state(&mut events).await, next_state(&mut events).await], ["DeadLetter OK", "Put OK"]);
    let found = cloudwatch(&local, "DescribeAlarms", json!({})).await;
    let [configured, put] = found["MetricAlarms"].as_array().unwrap().as_slice() else { panic!("{found}") };
    for field in
        ["Namespace", "MetricName", "Dimensions", "Statistic", "Threshold", "TreatMissingData", "StateValue"]
    {
        assert_eq!(configured[field], put[field], "{field}");
    }
    let state = json!({ "AlarmName": "DeadLetter", "StateValue": "ALARM", "StateReason": "drill" });
    cloudwatch(&local, "SetAlarmState", state).await;
    let drill = [next_state(&mut events).await, next_state(&mut events).await];
    assert_eq!(drill, ["DeadLetter ALARM", "DeadLetter OK"]);
    local.stop().await;
}

#[tokio::test]
async fn lines_of_a_functions_log_become_metrics_that_alarms_see() {
    let mut config = shop(Speed::Max);
    config.functions[0].show_output = false;
    config.alarms = vec![alarm("Cups", "Shop", "Cups", None)];
    config.alarms[0].dimensions = BTreeMap::from([("Kind".to_owned(), "tea".to_owned())]);
    config.alarms[0].statistic = Statistic::Sum;
    config.alarms[0].threshold = 7.0;
    let mut local = Local::start(config).await.unwrap();
    let mut events = local.take_events();
    local.send("orders", message("embedded 7")).unwrap();
    while next_state(&mut events).await != "Cups ALARM" {}
    assert_eq!(sum(&local, "Shop", "Cups", ("Kind", "tea")).await, 7.0);
    local.stop().await;
}

#[tokio::test]
async fn queues_and_functions_have_the_metrics_that_aws_gives_them() {
    let local = Local::start(shop(Speed::Max)).await.unwrap();
    for body in ["ok", "error 1"] {
        local.send("orders", message(body)).unwrap();
        timeout(PATIENCE, local.until_idle()).await.unwrap();
    }
    for (namespace, metric, dimension, expected) in [
        ("AWS/Lambda", "Invocations", ("FunctionName", "worker"), 3.0),
        ("AWS/Lambda", "Errors", ("FunctionName", "worker"), 1.0),
        ("AWS/Lambda", "Throttles", ("FunctionName", "worker"), 0.0),
        ("AWS/Lambda", "ConcurrentExecutions", ("FunctionName", "worker"), 3.0),
        ("AWS/SQS", "NumberOfMessagesSent", ("QueueName", "orders"), 2.0),
        ("AWS/SQS", "NumberOfMessagesReceived", ("QueueName", "orders"), 3.0),
        ("AWS/SQS", "NumberOfMessagesDeleted", ("QueueName", "orders"), 2.0),
        ("AWS/SQS", "SentMessageSize", ("QueueName", "orders"), 9.0),
    ] {
        assert_eq!(sum(&local, namespace, metric, dimension).await, expected, "{metric}");
    }
    let listed =
        cloudwatch(&local, "ListMetrics", json!({ "MetricName": "ApproximateNumberOfMessagesVisible" }))
            .await;
    assert_eq!(listed["Metrics"].as_array().unwrap().len(), 2, "one for each queue");
    local.stop().await;
}

#[tokio::test]
async fn without_alarms_time_does_not_go_on_for_them() {
    let mut config = shop(Speed::Max);
    config.alarms.clear();
    let history = crate::support::run(config, &["ok"]).await;
    assert!(history.totals.simulated < Duration::from_secs(5), "{:?}", history.totals.simulated);
}
