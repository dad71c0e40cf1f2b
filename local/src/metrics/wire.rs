//! PutMetricData as SDKs send it today: Smithy RPC v2 CBOR, gzipped when large.
//! <https://smithy.io/2.0/additional-specs/protocols/smithy-rpc-v2.html>

use std::collections::BTreeMap;
use std::io::Read;
use std::time::SystemTime;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use serde::Serialize;

use super::Metrics;
use super::metric_data::MetricData;

const SERVICE: &str = "/service/GraniteServiceVersion20100801/operation/";

/// More than the 1 MB that CloudWatch takes, so that the limit on metrics is met first.
const LARGEST_BODY: u64 = 16 << 20;

/// Whether the request is for CloudWatch by the protocol spoken here.
pub(crate) fn is_cloudwatch(request: &Request<Bytes>) -> bool {
    request.uri().path().starts_with(SERVICE)
}

/// Answers a request, and names the operation. `to_simulated` makes simulated time of a client's time.
pub(crate) fn answer(
    metrics: &mut Metrics,
    request: &Request<Bytes>,
    now: SystemTime,
    to_simulated: impl Fn(SystemTime) -> SystemTime,
) -> (Response<Bytes>, String) {
    let operation = request.uri().path().trim_start_matches(SERVICE);
    let result = match operation {
        "PutMetricData" => read(request).and_then(|data| data.check().map(|()| data)),
        _ => Err(Refusal::unknown(operation)),
    };
    let response = match result {
        Ok(data) => {
            data.record(metrics, now, to_simulated);
            respond(StatusCode::OK, &BTreeMap::<String, String>::new(), None)
        }
        Err(refusal) => respond(StatusCode::BAD_REQUEST, &refusal, Some(refusal.query_code)),
    };
    (response, operation.to_owned())
}

#[derive(Debug, Serialize)]
pub(super) struct Refusal {
    #[serde(rename = "__type")]
    kind: &'static str,
    message: String,
    #[serde(skip)]
    query_code: &'static str,
}

impl Refusal {
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        let kind = "com.amazonaws.cloudwatch#InvalidParameterValueException";
        Self { kind, message: message.into(), query_code: "InvalidParameterValue" }
    }

    pub(super) fn missing(parameter: &str) -> Self {
        let kind = "com.amazonaws.cloudwatch#MissingRequiredParameterException";
        Self {
            kind,
            message: format!("The parameter {parameter} is required."),
            query_code: "MissingParameter",
        }
    }

    fn unknown(operation: &str) -> Self {
        let message = format!("redrive-local knows PutMetricData of CloudWatch, not {operation}");
        Self {
            kind: "com.amazonaws.cloudwatch#UnknownOperationException",
            message,
            query_code: "InvalidAction",
        }
    }
}

fn read(request: &Request<Bytes>) -> Result<MetricData, Refusal> {
    let body = request.body();
    let unreadable =
        |error: &dyn std::fmt::Display| Refusal::invalid(format!("The body is unreadable: {error}"));
    let gzipped =
        request.headers().get(http::header::CONTENT_ENCODING).is_some_and(|encoding| encoding == "gzip");
    if !gzipped {
        return ciborium::from_reader(body.as_ref()).map_err(|error| unreadable(&error));
    }
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(body.as_ref())
        .take(LARGEST_BODY)
        .read_to_end(&mut plain)
        .map_err(|error| unreadable(&error))?;
    ciborium::from_reader(plain.as_slice()).map_err(|error| unreadable(&error))
}

fn respond(status: StatusCode, body: &impl Serialize, query_code: Option<&str>) -> Response<Bytes> {
    let mut bytes = Vec::new();
    ciborium::into_writer(body, &mut bytes).expect("strings can be written as CBOR");
    let mut response = Response::builder()
        .status(status)
        .header(http::header::CONTENT_TYPE, "application/cbor")
        .header("smithy-protocol", "rpc-v2-cbor")
        .header("x-amzn-requestid", uuid::Uuid::new_v4().to_string());
    if let Some(code) = query_code {
        response = response.header("x-amzn-query-error", format!("{code};Sender"));
    }
    response.body(bytes.into()).expect("the headers are valid")
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::time::{Duration, UNIX_EPOCH};

    use ciborium::{Value, cbor};

    use super::super::{Metric, Statistic};
    use super::*;

    const NOW: SystemTime = UNIX_EPOCH;

    fn request(operation: &str, body: &Value) -> Request<Bytes> {
        let mut bytes = Vec::new();
        ciborium::into_writer(body, &mut bytes).unwrap();
        Request::post(format!("{SERVICE}{operation}")).body(bytes.into()).unwrap()
    }

    fn call(metrics: &mut Metrics, request: &Request<Bytes>) -> (StatusCode, BTreeMap<String, String>) {
        assert!(is_cloudwatch(request));
        let (response, _) = answer(metrics, request, NOW + Duration::from_secs(90), |stamp| stamp);
        assert_eq!(response.headers()["smithy-protocol"], "rpc-v2-cbor");
        (response.status(), ciborium::from_reader(response.body().as_ref()).unwrap())
    }

    fn orders(dimensions: &[(&str, &str)]) -> Metric {
        let dimensions = dimensions.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        Metric { namespace: "Shop".into(), name: "Orders".into(), dimensions }
    }

    #[test]
    fn every_form_of_a_value_is_recorded() {
        let body = cbor!({ "Namespace" => "Shop", "MetricData" => [
            { "MetricName" => "Orders", "Value" => 1.5 },
            { "MetricName" => "Orders", "Value" => 2, "Unit" => "Count", "StorageResolution" => 60 },
            { "MetricName" => "Orders", "Values" => [3.0, 4.0], "Counts" => [2.0, 1.0] },
            { "MetricName" => "Orders", "Values" => [5.0] },
            { "MetricName" => "Orders",
              "StatisticValues" => { "SampleCount" => 3.0, "Sum" => 20.0, "Minimum" => 0.5, "Maximum" => 12.0 } },
        ]})
        .unwrap();
        let mut metrics = Metrics::default();
        assert_eq!(call(&mut metrics, &request("PutMetricData", &body)), (StatusCode::OK, BTreeMap::new()));
        let statistic = |statistic| metrics.statistic(&orders(&[]), statistic, 1, 2).unwrap();
        assert_eq!(statistic(Statistic::SampleCount), 9.0);
        assert_eq!(statistic(Statistic::Sum), 38.5);
        assert_eq!(statistic(Statistic::Minimum), 0.5);
        assert_eq!(statistic(Statistic::Maximum), 12.0);
    }

    #[test]
    fn a_timestamp_and_dimensions_say_where_a_value_belongs() {
        let stamp = Value::Tag(1, Box::new(Value::Float(30.25)));
        let body = cbor!({ "Namespace" => "Shop", "MetricData" => [{
            "MetricName" => "Orders", "Value" => 1.0, "Timestamp" => stamp,
            "Dimensions" => [{ "Name" => "QueueName", "Value" => "orders" }],
        }]})
        .unwrap();
        let mut metrics = Metrics::default();
        call(&mut metrics, &request("PutMetricData", &body));
        let metric = orders(&[("QueueName", "orders")]);
        assert_eq!(metrics.statistic(&metric, Statistic::Sum, 1, 1), Some(1.0));
        assert_eq!(metrics.statistic(&metric, Statistic::Sum, 1, 2), None);
    }

    #[test]
    fn a_gzipped_body_is_read() {
        let body =
            cbor!({ "Namespace" => "Shop", "MetricData" => [{ "MetricName" => "Orders", "Value" => 1.0 }] });
        let (mut parts, plain) = request("PutMetricData", &body.unwrap()).into_parts();
        parts.headers.insert("content-encoding", "gzip".parse().unwrap());
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&plain).unwrap();
        let request = Request::from_parts(parts, Bytes::from(encoder.finish().unwrap()));
        let mut metrics = Metrics::default();
        assert_eq!(call(&mut metrics, &request).0, StatusCode::OK);
        assert_eq!(metrics.statistic(&orders(&[]), Statistic::Sum, 1, 2), Some(1.0));
    }

    #[test]
    fn one_bad_value_refuses_the_whole_request() {
        let good = cbor!({ "MetricName" => "Orders", "Value" => 1.0 }).unwrap();
        for (namespace, bad, code) in [
            (
                "Shop",
                cbor!({ "MetricName" => "Orders", "Value" => f64::NAN }),
                "InvalidParameterValueException",
            ),
            ("Shop", cbor!({ "MetricName" => "Orders" }), "MissingRequiredParameterException"),
            ("Shop", cbor!({ "Value" => 1.0 }), "MissingRequiredParameterException"),
            (
                "Shop",
                cbor!({ "MetricName" => "Orders", "Values" => [1.0, 2.0], "Counts" => [1.0] }),
                "InvalidParameterValueException",
            ),
            ("Shop", cbor!({ "MetricName" => "Orders", "Value" => "one" }), "InvalidParameterValueException"),
            (
                "AWS/SQS",
                cbor!({ "MetricName" => "Orders", "Value" => 1.0 }),
                "InvalidParameterValueException",
            ),
            ("", cbor!({ "MetricName" => "Orders", "Value" => 1.0 }), "MissingRequiredParameterException"),
        ] {
            let body = cbor!({ "Namespace" => namespace, "MetricData" => [good, bad.unwrap()] }).unwrap();
            let mut metrics = Metrics::default();
            let (status, error) = call(&mut metrics, &request("PutMetricData", &body));
            assert_eq!(status, StatusCode::BAD_REQUEST, "{body:?}");
            assert!(error["__type"].ends_with(code), "{error:?}");
            assert!(metrics.series.is_empty(), "{body:?}");
        }
    }

    #[test]
    fn another_operation_is_refused_by_name() {
        let (status, error) = call(&mut Metrics::default(), &request("GetMetricData", &cbor!({}).unwrap()));
        assert_eq!(status, StatusCode::BAD_REQUEST);
        assert_eq!(error["message"], "redrive-local knows PutMetricData of CloudWatch, not GetMetricData");
    }
}
