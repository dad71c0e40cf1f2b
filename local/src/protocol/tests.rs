//! Answers as the query protocol of CloudWatch has them; those of SQS are tried out in `sqs/api/tests.rs`.

use bytes::Bytes;
use ciborium::{Value, cbor};
use http::Request;
use serde_json::json;

use super::call::{Format, Syntax};
use super::{query_json, xml};
use crate::cloudwatch::api as cloudwatch;
use crate::sqs::api as sqs;

#[test]
fn a_value_becomes_elements_with_members_and_entries() {
    let query = cloudwatch::SERVICE.query.as_ref().unwrap();
    let tag = |seconds| Value::Tag(1, Box::new(Value::Float(seconds)));
    let (at, sharp) = (tag(1_795_247_400.5), tag(1_795_247_400.0));
    let output = cbor!({
        "Label" => "a < b & c", "Empty" => [], "Flag" => true, "Period" => 60, "At" => at, "None" => null, "Sharp" => sharp,
        "Datapoints" => [{ "Sum" => 3.0, "ExtendedStatistics" => { "p90" => 1e21 } }],
    });
    let result = xml::result(query, "GetMetricStatistics", &output.unwrap());
    let document = xml::success(query, "GetMetricStatistics", &result, "id-1");
    let expected = "<GetMetricStatisticsResponse xmlns=\"http://monitoring.amazonaws.com/doc/2010-08-01/\">\
        <GetMetricStatisticsResult><Label>a &lt; b &amp; c</Label><Empty/><Flag>true</Flag><Period>60</Period>\
        <At>2026-11-21T07:50:00.500Z</At><Sharp>2026-11-21T07:50:00Z</Sharp><Datapoints><member><Sum>3.0</Sum><ExtendedStatistics><entry><key>p90</key>\
        <value>1e21</value></entry></ExtendedStatistics></member></Datapoints></GetMetricStatisticsResult>\
        <ResponseMetadata><RequestId>id-1</RequestId></ResponseMetadata></GetMetricStatisticsResponse>";
    assert_eq!(String::from_utf8_lossy(&document), expected);
}

#[test]
fn an_operation_without_a_result_answers_with_its_request_id() {
    let query = cloudwatch::SERVICE.query.as_ref().unwrap();
    let nothing = Format::Query(query, Syntax::Xml).nothing();
    let document = xml::success(query, "PutMetricData", &nothing, "id-1");
    let expected = "<PutMetricDataResponse xmlns=\"http://monitoring.amazonaws.com/doc/2010-08-01/\">\
        <ResponseMetadata><RequestId>id-1</RequestId></ResponseMetadata></PutMetricDataResponse>";
    assert_eq!(String::from_utf8_lossy(&document), expected);
}

#[test]
fn in_json_only_sqs_has_a_list_of_messages_in_lower_case() {
    let answer = |query, operation| {
        let result = query_json::result(query, operation, &json!({ "Messages": [], "Label": "a \"b\"" }));
        let answer = query_json::success(operation, &result, "id-1");
        serde_json::from_slice::<serde_json::Value>(&answer).unwrap()
    };
    for (query, operation, messages) in [
        (cloudwatch::SERVICE.query.as_ref(), "GetMetricData", "Messages"),
        (sqs::SERVICE.query.as_ref(), "ReceiveMessage", "messages"),
    ] {
        let expected = json!({ (format!("{operation}Response")): {
            (format!("{operation}Result")): { messages: [], "Label": "a \"b\"" },
            "ResponseMetadata": { "RequestId": "id-1" },
        } });
        assert_eq!(answer(query.unwrap(), operation), expected);
    }
    let nothing = query_json::success("PutMetricData", &Bytes::new(), "id-1");
    assert_eq!(nothing, r#"{"PutMetricDataResponse":{"ResponseMetadata":{"RequestId":"id-1"}}}"#);
}

#[test]
fn json_is_for_whoever_accepts_it_among_others_in_any_case() {
    let is_json = |headers: &[&str]| {
        let request =
            headers.iter().fold(Request::get("/"), |request, accepted| request.header("accept", *accepted));
        matches!(Syntax::accepted_by(&request.body(Bytes::new()).unwrap()), Syntax::Json)
    };
    for headers in [
        &["application/json"][..],
        &["APPLICATION/JSON"],
        &["application/json; charset=utf-8"],
        &["text/html, application/json;q=0.5"],
        &["text/html", "application/json"],
    ] {
        assert!(is_json(headers), "{headers:?}");
    }
    for headers in
        [&[][..], &["*/*"], &["text/xml"], &["application/jsonx"], &["application/json+x"], &["json"]]
    {
        assert!(!is_json(headers), "{headers:?}");
    }
}
