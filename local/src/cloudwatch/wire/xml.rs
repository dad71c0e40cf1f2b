//! Answers of the query protocol.

use std::io;

use bytes::Bytes;
use ciborium::Value;
use humantime::format_rfc3339_millis;
use quick_xml::Writer;
use quick_xml::events::BytesText;

use super::Refusal;
use super::field::seconds;

const NAMESPACE: (&str, &str) = ("xmlns", "http://monitoring.amazonaws.com/doc/2010-08-01/");

/// The members of CloudWatch's answers whose keys are data.
const MAPS: [&str; 1] = ["ExtendedStatistics"];

type Out = Writer<Vec<u8>>;

pub(super) fn response(operation: &str, output: &Value, request_id: &str) -> Bytes {
    document(&format!("{operation}Response"), |out| {
        if matches!(output, Value::Map(members) if !members.is_empty()) {
            element(out, &format!("{operation}Result"), output)?;
        }
        let metadata = out.create_element("ResponseMetadata");
        metadata.write_inner_content(|out| leaf(out, "RequestId", request_id)).map(drop)
    })
}

pub(super) fn refusal(refusal: &Refusal, request_id: &str) -> Bytes {
    document("ErrorResponse", |out| {
        out.create_element("Error").write_inner_content(|out| {
            leaf(out, "Type", "Sender")?;
            leaf(out, "Code", refusal.code())?;
            refusal.message().map_or(Ok(()), |message| leaf(out, "Message", message))
        })?;
        leaf(out, "RequestId", request_id)
    })
}

fn document(name: &str, content: impl FnOnce(&mut Out) -> io::Result<()>) -> Bytes {
    let mut out = Writer::new(Vec::new());
    let written = out.create_element(name).with_attribute(NAMESPACE).write_inner_content(content);
    written.map(drop).expect("memory can be written to");
    out.into_inner().into()
}

fn element(out: &mut Out, name: &str, value: &Value) -> io::Result<()> {
    match value {
        Value::Map(members) => out
            .create_element(name)
            .write_inner_content(|out| {
                for (key, value) in members {
                    let key = key.as_text().unwrap_or_default();
                    if MAPS.contains(&name) { entry(out, key, value)? } else { element(out, key, value)? }
                }
                Ok(())
            })
            .map(drop),
        Value::Array(items) => out
            .create_element(name)
            .write_inner_content(|out| items.iter().try_for_each(|item| element(out, "member", item)))
            .map(drop),
        Value::Tag(_, inner) => {
            let at = inner.as_float().and_then(seconds);
            leaf(out, name, &at.map(|at| format_rfc3339_millis(at).to_string()).unwrap_or_default())
        }
        Value::Bool(flag) => leaf(out, name, &flag.to_string()),
        Value::Integer(number) => leaf(out, name, &i128::from(*number).to_string()),
        Value::Float(number) => leaf(out, name, &format!("{number:?}")),
        Value::Text(text) => leaf(out, name, text),
        _ => Ok(()),
    }
}

fn entry(out: &mut Out, key: &str, value: &Value) -> io::Result<()> {
    let entry = out.create_element("entry");
    let written = entry.write_inner_content(|out| {
        leaf(out, "key", key)?;
        element(out, "value", value)
    });
    written.map(drop)
}

fn leaf(out: &mut Out, name: &str, text: &str) -> io::Result<()> {
    out.create_element(name).write_text_content(BytesText::new(text)).map(drop)
}

#[cfg(test)]
mod tests {
    use ciborium::cbor;

    use super::*;

    #[test]
    fn a_value_becomes_elements_with_members_and_entries() {
        let at = Value::Tag(1, Box::new(Value::Float(1_795_247_400.5)));
        let output = cbor!({
            "Label" => "a < b & c", "Empty" => [], "Flag" => true, "Period" => 60, "At" => at,
            "Datapoints" => [{ "Sum" => 3.0, "ExtendedStatistics" => { "p90" => 1e21 } }],
        });
        let document = response("GetMetricStatistics", &output.unwrap(), "id-1");
        let expected = "<GetMetricStatisticsResponse xmlns=\"http://monitoring.amazonaws.com/doc/2010-08-01/\">\
            <GetMetricStatisticsResult><Label>a &lt; b &amp; c</Label><Empty></Empty><Flag>true</Flag><Period>60</Period>\
            <At>2026-11-21T07:50:00.500Z</At><Datapoints><member><Sum>3.0</Sum><ExtendedStatistics><entry><key>p90</key>\
            <value>1e21</value></entry></ExtendedStatistics></member></Datapoints></GetMetricStatisticsResult>\
            <ResponseMetadata><RequestId>id-1</RequestId></ResponseMetadata></GetMetricStatisticsResponse>";
        assert_eq!(String::from_utf8_lossy(&document), expected);
    }

    #[test]
    fn an_operation_without_a_result_answers_with_its_request_id() {
        let document = response("PutMetricData", &Value::Map(vec![]), "id-1");
        let expected = "<PutMetricDataResponse xmlns=\"http://monitoring.amazonaws.com/doc/2010-08-01/\">\
            <ResponseMetadata><RequestId>id-1</RequestId></ResponseMetadata></PutMetricDataResponse>";
        assert_eq!(String::from_utf8_lossy(&document), expected);
    }
}
