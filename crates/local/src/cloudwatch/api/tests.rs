use std::io::Write;

use bytes::Bytes;
use ciborium::Value;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{Request, Response, StatusCode};
use serde_json::{Value as Json, json};

use super::SERVICE;
use super::testing::client;
use crate::clock::ClientClock;
use crate::cloudwatch::CloudWatch;
use crate::protocol::testing::{self, BEGIN, Client};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Cbor,
    Json,
    Query,
}

const ALL: [Protocol; 3] = [Protocol::Cbor, Protocol::Json, Protocol::Query];
const TARGET: &str = "GraniteServiceVersion20100801";

fn request(protocol: Protocol, operation: &str, input: &Json) -> Request<Bytes> {
    let mut request = Request::post("/");
    let body = match protocol {
        Protocol::Cbor => {
            request = Request::post(format!("/service/{TARGET}/operation/{operation}"));
            cbor(&Value::serialized(input).unwrap())
        }
        Protocol::Json => {
            request = request.header("x-amz-target", format!("{TARGET}.{operation}"));
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

fn cbor(value: &Value) -> Bytes {
    let mut bytes = Vec::new();
    ciborium::into_writer(value, &mut bytes).unwrap();
    bytes.into()
}

fn answer(client: &mut Client<CloudWatch>, request: &Request<Bytes>) -> Response<Bytes> {
    let call = SERVICE.read(request).expect("it is for CloudWatch");
    SERVICE.answer(&call, &mut client.state, client.now, ClientClock::default()).0
}

/// Returns the status, and the answer as JSON or XML.
fn call(client: &mut Client<CloudWatch>, request: &Request<Bytes>) -> (StatusCode, String) {
    let response = answer(client, request);
    let text = match response.headers()["content-type"].to_str().unwrap() {
        "text/xml" => testing::text(&response),
        _ if response.status().is_success() => testing::accepted(&response).to_string(),
        _ => format!("{:?}", testing::refused(&response)),
    };
    (response.status(), text)
}

fn put() -> Json {
    let dimensions = json!([{ "Name": "Queue", "Value": "orders & mails" }]);
    json!({ "Namespace": "Shop", "MetricData": [
        { "MetricName": "Orders", "Value": 1.5, "Unit": "Count", "Dimensions": dimensions },
        { "MetricName": "Orders", "Values": [2.0, 3.0], "Counts": [1.0, 2.0], "Unit": "Count", "Dimensions": dimensions },
    ] })
}

/// Replaces the body of a request.
fn gzipped(mut request: Request<Bytes>, body: &[u8]) -> Request<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).unwrap();
    *request.body_mut() = Bytes::from(encoder.finish().unwrap());
    request.headers_mut().insert("content-encoding", "gzip".parse().unwrap());
    request
}

#[test]
fn a_body_above_a_megabyte_or_one_that_grows_without_end_is_refused() {
    let mut large = put();
    large["note"] = json!("a".repeat(1 << 20));
    let (status, text) = call(&mut client(), &request(Protocol::Json, "PutMetricData", &large));
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(text.contains("exceeded 1048576 bytes"), "{text}");
    let bomb = gzipped(request(Protocol::Json, "PutMetricData", &put()), &vec![b' '; 32 << 20]);
    assert_eq!(call(&mut client(), &bomb).0, StatusCode::PAYLOAD_TOO_LARGE);
}

/// Returns `{ MetricData: [{}, {}, …] }` with `count` maps.
fn maps(protocol: Protocol, count: usize) -> Vec<u8> {
    match protocol {
        Protocol::Json => format!("{{\"MetricData\":[{}{{}}]}}", "{},".repeat(count - 1)).into_bytes(),
        Protocol::Cbor => {
            let count_of_list = u32::try_from(count).unwrap().to_be_bytes();
            [&b"\xa1\x6aMetricData\x9a"[..], &count_of_list, &vec![0xa0; count]].concat()
        }
        Protocol::Query => {
            let data = (0..count).map(|number| format!("&MetricData.member.{number}.Unit="));
            format!("Action=PutMetricData&Version=2010-08-01{}", data.collect::<String>()).into_bytes()
        }
    }
}

#[test]
fn a_body_that_becomes_too_many_values_is_refused_before_they_are_built() {
    for protocol in ALL {
        let few = gzipped(request(protocol, "PutMetricData", &put()), &maps(protocol, 2_000));
        let (status, text) = call(&mut client(), &few);
        assert!(status == 400 && !text.contains("values"), "{protocol:?} {text}");
        let count = if protocol == Protocol::Query { 400_000 } else { 5_000_000 };
        let many = gzipped(request(protocol, "PutMetricData", &put()), &maps(protocol, count));
        assert!(many.body().len() < 1 << 20, "{protocol:?}: {} bytes", many.body().len());
        let response = answer(&mut client(), &many);
        let text = testing::text(&response);
        assert!(response.status() == 400 && text.contains("SerializationException"), "{protocol:?} {text}");
        assert!(text.contains("more than 524288 values"), "{protocol:?} {text}");
    }
}

#[test]
fn the_largest_request_of_cloudwatch_is_within_the_limit_of_values() {
    let dimension = |number: usize| json!({ "Name": format!("d{number}"), "Value": "v" });
    let datum = json!({
        "MetricName": "Orders", "Unit": "Count", "StorageResolution": 1, "Timestamp": BEGIN,
        "Dimensions": (0..30).map(dimension).collect::<Vec<_>>(),
        "Values": (0..150).collect::<Vec<_>>(), "Counts": vec![1; 150],
    });
    let largest = json!({ "Namespace": "Shop", "MetricData": vec![datum; 1_000] });
    for protocol in [Protocol::Json, Protocol::Cbor] {
        let largest = request(protocol, "PutMetricData", &largest);
        let body = largest.body().clone();
        let (status, text) = call(&mut client(), &gzipped(largest, &body));
        assert_eq!(status, 200, "{protocol:?} {text}");
    }
}

#[test]
fn any_body_gets_an_answer() {
    for protocol in ALL {
        for body in
            ["", "[", "7", "\"a\"", "{\"MetricData\":7}", "MetricData.member=7&Namespace=a", "\u{1}\u{2}"]
        {
            let mut request = request(protocol, "PutMetricData", &put());
            let form = format!("Action=PutMetricData&Version=2010-08-01&{body}");
            *request.body_mut() = if protocol == Protocol::Query { form.into() } else { Bytes::from(body) };
            let response = answer(&mut client(), &request);
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
        let request = request.body(Bytes::from("Action=SendMessage&Version=2012-11-05")).unwrap();
        assert!(SERVICE.read(&request).is_none());
    }
}

#[test]
fn metric_math_is_refused_by_name() {
    let query = json!({ "Id": "m", "Expression": "m1+m2" });
    let data = json!({ "MetricDataQueries": [query], "StartTime": BEGIN - 300, "EndTime": BEGIN });
    let alarm = json!({ "AlarmName": "a", "Metrics": [query] });
    for (operation, input, words) in [
        ("GetMetricData", data, "does not support expressions, but MetricDataQueries.member.1.Expression is"),
        ("PutMetricAlarm", alarm, "supports alarms on a single metric only, but Metrics is set"),
    ] {
        let refused = client().refused(operation, input);
        assert_eq!(refused.code, "ValidationError");
        assert!(refused.message.contains(words), "{}", refused.message);
    }
}
