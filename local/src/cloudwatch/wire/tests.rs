use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value as Json, json};

use super::*;
use crate::cloudwatch::store::moment;

const NOON: u64 = 1_795_262_400;
const ALL: [Protocol; 3] = [Protocol::Cbor, Protocol::Json, Protocol::Query];

fn request(protocol: Protocol, operation: &str, input: &Json) -> Request<Bytes> {
    let mut request = Request::post("/");
    let body = match protocol {
        Protocol::Cbor => {
            request = Request::post(format!("{PATH}{operation}"));
            body::to_cbor(&Value::serialized(input).unwrap())
        }
        Protocol::Json => {
            request = request.header("x-amz-target", format!("{TARGET}{operation}"));
            Bytes::from(input.to_string())
        }
        Protocol::Query => {
            request = request.header("content-type", "application/x-www-form-urlencoded; charset=utf-8");
            let mut form = form_urlencoded::Serializer::new(String::new());
            form.append_pair("Action", operation).append_pair("Version", "2010-08-01");
            flatten("", input, &mut |name, value| {
                form.append_pair(name, value);
            });
            Bytes::from(form.finish())
        }
    };
    request.body(body).unwrap()
}

fn flatten(path: &str, value: &Json, add: &mut impl FnMut(&str, &str)) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Json::Object(members) => members.iter().for_each(|(name, value)| flatten(&below(name), value, add)),
        Json::Array(items) => {
            for (number, item) in (1..).zip(items) {
                flatten(&below(&format!("member.{number}")), item, add);
            }
        }
        Json::String(text) => add(path, text),
        other => add(path, &other.to_string()),
    }
}

fn cloudwatch() -> CloudWatch {
    CloudWatch::new("eu-west-1", "123456789012")
}

fn call(cloudwatch: &mut CloudWatch, request: &Request<Bytes>) -> (StatusCode, String) {
    assert!(is_cloudwatch(request));
    let (response, _) = answer(cloudwatch, request, moment(NOON), ClientClock::default());
    let body = response.body();
    let text =
        ciborium::from_reader::<Value, _>(body.as_ref()).map(|value| json::to_json(&value).to_string());
    let text = text.ok().filter(|_| response.headers()["content-type"] == "application/cbor");
    (response.status(), text.unwrap_or_else(|| String::from_utf8_lossy(body).into_owned()))
}

fn put() -> Json {
    let dimensions = json!([{ "Name": "Queue", "Value": "orders & mails" }]);
    json!({ "Namespace": "Shop", "MetricData": [
        { "MetricName": "Orders", "Value": 1.5, "Unit": "Count", "Dimensions": dimensions },
        { "MetricName": "Orders", "Values": [2.0, 3.0], "Counts": [1.0, 2.0], "Unit": "Count", "Dimensions": dimensions },
    ] })
}

#[test]
fn what_is_put_in_one_protocol_is_read_in_every_other() {
    let read = json!({ "Namespace": "Shop", "MetricName": "Orders", "Period": 60, "Statistics": ["Sum"],
        "ExtendedStatistics": ["p50"], "Dimensions": [{ "Name": "Queue", "Value": "orders & mails" }] });
    for writing in ALL {
        let mut cloudwatch = cloudwatch();
        assert_eq!(call(&mut cloudwatch, &request(writing, "PutMetricData", &put())).0, 200, "{writing:?}");
        for reading in ALL {
            let mut input = read.clone();
            (input["StartTime"], input["EndTime"]) = match reading {
                Protocol::Query => (json!("2026-11-21T11:00:00Z"), json!("2026-11-21T13:00:00.000Z")),
                Protocol::Cbor | Protocol::Json => (json!(NOON - 3_600), json!(NOON + 3_600)),
            };
            let (status, text) = call(&mut cloudwatch, &request(reading, "GetMetricStatistics", &input));
            assert_eq!(status, 200, "{text}");
            let expected: &[&str] = match reading {
                Protocol::Query => &[
                    "<Sum>9.5</Sum>",
                    "<key>p50</key><value>2.0</value>",
                    "<Timestamp>2026-11-21T12:00:00.000Z",
                ],
                Protocol::Cbor | Protocol::Json => {
                    &["\"Sum\":9.5", "\"p50\":2.0", "\"Timestamp\":1795262400.0"]
                }
            };
            for each in expected {
                assert!(text.contains(each), "{writing:?} {reading:?}: {text} has no {each}");
            }
        }
    }
}

#[test]
fn timestamps_are_tagged_in_cbor() {
    let mut cloudwatch = cloudwatch();
    call(&mut cloudwatch, &request(Protocol::Cbor, "PutMetricData", &put()));
    let input = json!({ "StartTime": NOON - 60, "EndTime": NOON + 60, "MetricDataQueries": [{ "Id": "a", "MetricStat": {
        "Stat": "Sum", "Period": 60, "Metric": { "Namespace": "Shop", "MetricName": "Orders", "Dimensions": [
            { "Name": "Queue", "Value": "orders & mails" }] } } }] });
    let request = request(Protocol::Cbor, "GetMetricData", &input);
    let (response, _) = answer(&mut cloudwatch, &request, moment(NOON), ClientClock::default());
    let tagged = body::to_cbor(&Value::Tag(1, Box::new(Value::Float(NOON as f64))));
    let found = response.body().windows(tagged.len()).any(|window| window == tagged);
    assert!(found, "{:?}", ciborium::from_reader::<Value, _>(response.body().as_ref()));
    assert_eq!(response.headers()["smithy-protocol"], "rpc-v2-cbor");
}

#[test]
fn gzipped_bodies_are_read_in_every_protocol() {
    for protocol in ALL {
        let (mut parts, plain) = request(protocol, "PutMetricData", &put()).into_parts();
        parts.headers.insert("content-encoding", "gzip".parse().unwrap());
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&plain).unwrap();
        let request = Request::from_parts(parts, Bytes::from(encoder.finish().unwrap()));
        let mut cloudwatch = cloudwatch();
        assert_eq!(call(&mut cloudwatch, &request).0, 200, "{protocol:?}");
        assert_eq!(cloudwatch.sum(Some("Shop"), "Orders"), 9.5);
    }
}

#[test]
fn a_body_above_a_megabyte_or_one_that_grows_without_end_is_refused() {
    let mut large = put();
    large["note"] = json!("a".repeat(1 << 20));
    let (status, text) = call(&mut cloudwatch(), &request(Protocol::Json, "PutMetricData", &large));
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(text.contains("exceeded 1048576 bytes"), "{text}");
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&vec![b' '; 32 << 20]).unwrap();
    let mut bomb = request(Protocol::Json, "PutMetricData", &put());
    bomb.headers_mut().insert("content-encoding", "gzip".parse().unwrap());
    *bomb.body_mut() = Bytes::from(encoder.finish().unwrap());
    assert_eq!(call(&mut cloudwatch(), &bomb).0, StatusCode::PAYLOAD_TOO_LARGE);
}

#[test]
fn a_refusal_has_its_names_in_every_protocol() {
    for protocol in ALL {
        let missing = request(
            protocol,
            "SetAlarmState",
            &json!({ "AlarmName": "a", "StateValue": "OK", "StateReason": "b" }),
        );
        let invalid = request(protocol, "PutMetricData", &json!({ "Namespace": "AWS/SQS" }));
        let unknown = request(protocol, "PutDashboard", &json!({}));
        for (request, status, shape, code) in [
            (missing, 404, "com.amazonaws.cloudwatch.v2010_08_01#ResourceNotFound", "ResourceNotFound"),
            (
                invalid,
                400,
                "com.amazonaws.cloudwatch.v2010_08_01#InvalidParameterValueException",
                "InvalidParameterValue",
            ),
            (unknown, 400, "com.amazon.coral.service#UnknownOperationException", "InvalidAction"),
        ] {
            let (response, _) = answer(&mut cloudwatch(), &request, moment(NOON), ClientClock::default());
            assert_eq!(response.status(), status);
            let query_error = response.headers().get("x-amzn-query-error").cloned();
            let (_, text) = call(&mut cloudwatch(), &request);
            if protocol == Protocol::Query {
                assert!(text.contains(&format!("<Type>Sender</Type><Code>{code}</Code>")), "{text}");
            } else {
                assert!(text.contains(&format!("\"__type\":\"{shape}\"")), "{text}");
                assert_eq!(query_error.unwrap(), format!("{code};Sender"));
            }
        }
    }
}

#[test]
fn whatever_a_body_holds_there_is_an_answer() {
    for protocol in ALL {
        for body in
            ["", "[", "7", "\"a\"", "{\"MetricData\":7}", "MetricData.member=7&Namespace=a", "\u{1}\u{2}"]
        {
            let mut request = request(protocol, "PutMetricData", &put());
            *request.body_mut() = Bytes::from(body);
            let (response, _) = answer(&mut cloudwatch(), &request, moment(NOON), ClientClock::default());
            assert_eq!(response.status(), 400, "{protocol:?} {body}");
        }
    }
}

#[test]
fn requests_of_other_services_are_left_alone() {
    let form = "application/x-www-form-urlencoded";
    for request in [
        Request::post("/").header("x-amz-target", "AmazonSQS.SendMessage"),
        Request::post("/").header("content-type", form),
        Request::get("/"),
    ] {
        assert!(!is_cloudwatch(&request.body(Bytes::from("Action=SendMessage&Version=2012-11-05")).unwrap()));
    }
}
