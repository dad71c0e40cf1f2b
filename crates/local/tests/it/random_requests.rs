use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use redrive_local::{Config, Local, Speed};
use serde_json::{Value, json};
use tokio::runtime::Builder;

use crate::hostile::send;
use crate::support::http::call;
use crate::support::shop;

#[derive(Debug, Clone)]
struct Request {
    method: &'static str,
    path: String,
    headers: String,
    body: Vec<u8>,
}

const OPERATIONS: [(&str, &[&str]); 3] = [
    (
        "AmazonSQS",
        &[
            "AddPermission",
            "CancelMessageMoveTask",
            "ChangeMessageVisibilityBatch",
            "CreateQueue",
            "DeleteMessageBatch",
            "GetQueueAttributes",
            "GetQueueUrl",
            "ListDeadLetterSourceQueues",
            "ListMessageMoveTasks",
            "ListQueues",
            "PurgeQueue",
            "ReceiveMessage",
            "SendMessage",
            "SendMessageBatch",
            "SetQueueAttributes",
            "StartMessageMoveTask",
            "TagQueue",
            "UntagQueue",
        ],
    ),
    (
        "GraniteServiceVersion20100801",
        &[
            "DeleteAlarms",
            "DescribeAlarmHistory",
            "DescribeAlarms",
            "DescribeAlarmsForMetric",
            "GetMetricData",
            "GetMetricStatistics",
            "ListMetrics",
            "PutMetricAlarm",
            "PutMetricData",
            "SetAlarmState",
        ],
    ),
    ("Logs_20140328", &["DescribeLogGroups", "DescribeLogStreams", "FilterLogEvents"]),
];

/// Names that mean something to one operation or another.
const NAMES: [&str; 40] = [
    "QueueUrl",
    "QueueName",
    "MessageBody",
    "DelaySeconds",
    "MessageAttributes",
    "Entries",
    "Id",
    "ReceiptHandle",
    "VisibilityTimeout",
    "WaitTimeSeconds",
    "MaxNumberOfMessages",
    "Attributes",
    "AttributeNames",
    "Tags",
    "SourceArn",
    "NextToken",
    "MaxResults",
    "Namespace",
    "MetricData",
    "MetricName",
    "Value",
    "Values",
    "Counts",
    "Timestamp",
    "Dimensions",
    "Name",
    "StartTime",
    "EndTime",
    "Period",
    "Statistics",
    "AlarmName",
    "Threshold",
    "EvaluationPeriods",
    "ComparisonOperator",
    "MetricDataQueries",
    "MetricStat",
    "logGroupName",
    "filterPattern",
    "RedrivePolicy",
    "DataType",
];

fn leaf() -> impl Strategy<Value = Value> {
    let known = [
        "orders",
        "orders-dead",
        "All",
        "10",
        "-1",
        "Sum",
        "p99",
        "GreaterThanThreshold",
        "String",
        "{}",
        "1e308",
        "arn:aws:sqs:eu-west-1:123456789012:orders-dead",
        "http://127.0.0.1/123456789012/orders",
        "2026-11-21T07:50:00Z",
        "{ $.a = 1 }",
        "{\"maxReceiveCount\":3}",
        "DelaySeconds",
        "worker",
    ];
    prop_oneof![
        3 => prop::sample::select(known.to_vec()).prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => (-5_i64..100).prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        1 => any::<String>().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
    ]
}

fn tree() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(4, 24, 5, |inner| {
        let name = prop::sample::select(NAMES.to_vec()).prop_map(str::to_owned);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name, inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn input() -> impl Strategy<Value = Value> {
    let members = prop::collection::vec((prop::sample::select(NAMES.to_vec()), tree()), 0..8);
    let known = json!({ "QueueUrl": "orders", "MessageBody": "tea", "Namespace": "Shop" });
    members.prop_map(move |members| {
        let mut input = known.clone();
        members.into_iter().for_each(|(name, value)| input[name] = value);
        input
    })
}

/// Converts a tree to parameters of the query protocol.
fn parameters(prefix: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| parameters(&format!("{prefix}.{name}"), value, found));
        }
        Value::Array(items) => {
            (1..)
                .zip(items)
                .for_each(|(at, value)| parameters(&format!("{prefix}.member.{at}"), value, found));
        }
        Value::String(text) => found.push(format!("{}={text}", prefix.trim_start_matches('.'))),
        other => found.push(format!("{}={other}", prefix.trim_start_matches('.'))),
    }
}

/// Generates a request for an operation in a service's table.
fn of_operation() -> impl Strategy<Value = Request> {
    let operation = (0..OPERATIONS.len(), any::<prop::sample::Index>()).prop_map(|(service, at)| {
        let (target, operations) = OPERATIONS[service];
        (target, operations[at.index(operations.len())])
    });
    (operation, input(), 0..4_u8).prop_map(|((target, operation), input, protocol)| {
        let request = |path: String, headers: String, body| Request { method: "POST", path, headers, body };
        match protocol {
            0 | 1 => request(
                "/".into(),
                format!("x-amz-target: {target}.{operation}"),
                input.to_string().into_bytes(),
            ),
            2 => {
                let mut body = Vec::new();
                ciborium::into_writer(&input, &mut body).unwrap();
                request(
                    format!("/service/{target}/operation/{operation}"),
                    "content-type: application/cbor".into(),
                    body,
                )
            }
            _ => {
                let mut found = vec![format!("Action={operation}")];
                parameters("", &input, &mut found);
                let form = "content-type: application/x-www-form-urlencoded".into();
                request("/123456789012/orders".into(), form, found.join("&").into_bytes())
            }
        }
    })
}

fn request() -> impl Strategy<Value = Request> {
    let paths = [
        "2015-03-31/event-source-mappings",
        "2015-03-31/functions/worker/configuration",
        "2015-03-31/functions/%ff",
        "2017-10-31/functions/worker/concurrency",
        "?Action=DescribeStacks&Version=2010-05-15",
        "_redrive/skip",
    ];
    let methods = ["GET", "PUT", "POST", "DELETE", "HEAD", "PATCH"];
    let of_path = (prop::sample::select(methods.to_vec()), prop::sample::select(paths.to_vec()), tree());
    let of_path = of_path.prop_map(|(method, path, body)| Request {
        method,
        path: format!("/{path}"),
        headers: "accept: */*".into(),
        body: body.to_string().into_bytes(),
    });
    let damaged = (of_operation(), prop::collection::vec(any::<(prop::sample::Index, u8)>(), 1..8));
    let damaged = damaged.prop_map(|(mut request, changes)| {
        for (at, byte) in changes {
            let at = at.index(request.body.len());
            request.body[at] = byte;
        }
        request
    });
    prop_oneof![4 => of_operation(), 1 => of_path, 2 => damaged]
}

/// One endpoint gets all requests, so that they meet the results of earlier ones.
#[test]
fn any_request_gets_an_answer_without_a_server_error() {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let config = Config { functions: vec![], mappings: vec![], ..shop(Speed::Max) };
    let local = runtime.block_on(Local::start(config)).unwrap();
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 3_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let tried = runner.run(&request(), |request| {
        let Request { method, path, headers, body } = &request;
        let response = runtime.block_on(send(&local, method, path, headers, body));
        prop_assert!(response.starts_with("HTTP/1.1 "), "no answer: {response:?}");
        prop_assert!(!response.starts_with("HTTP/1.1 5"), "{response}");
        Ok(())
    });
    tried.unwrap_or_else(|failure| panic!("{failure}"));
    let response = runtime.block_on(call(&local, "/", "AmazonSQS.ListQueues", "{}"));
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    runtime.block_on(local.stop());
}
