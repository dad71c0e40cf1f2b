//! XML as the query protocol of CloudWatch has it; that of SQS is tried out in `sqs/api/tests.rs`.

use ciborium::{Value, cbor};

use super::call::{Format, Markup};
use super::xml;
use crate::cloudwatch::api as cloudwatch;

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
    let nothing = Format::Query(query, Markup::Xml).nothing();
    let document = xml::success(query, "PutMetricData", &nothing, "id-1");
    let expected = "<PutMetricDataResponse xmlns=\"http://monitoring.amazonaws.com/doc/2010-08-01/\">\
        <ResponseMetadata><RequestId>id-1</RequestId></ResponseMetadata></PutMetricDataResponse>";
    assert_eq!(String::from_utf8_lossy(&document), expected);
}
