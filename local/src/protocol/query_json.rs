//! Answers of the query protocol in JSON, which a client gets that asks with `Accept: application/json`, such as API Gateway.
//!
//! AWS documents neither; its answers were seen by
//! <https://github.com/localstack/localstack/blob/8b9a79f/tests/aws/services/sqs/test_sqs.py>
//! (`test_get_queue_attributes_json_format`, `test_get_list_queues_fails_json_format`,
//! `test_marker_serialization_json_protocol`).

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::AwsError;
use super::query::Query;

/// What stands under `…Result`.
pub(super) fn result(query: &Query, operation: &str, output: &impl Serialize) -> Bytes {
    let output = serde_json::to_value(output).expect("plain values can be written");
    json!({ (format!("{operation}Result")): structured(query, "", output) }).to_string().into()
}

pub(super) fn success(operation: &str, result: &Bytes, request_id: &str) -> Bytes {
    let mut answer: Map<String, Value> = serde_json::from_slice(result).unwrap_or_default();
    answer.insert("ResponseMetadata".to_owned(), json!({ "RequestId": request_id }));
    json!({ (format!("{operation}Response")): answer }).to_string().into()
}

pub(super) fn failure(error: &AwsError, request_id: &str) -> Bytes {
    let described =
        json!({ "Type": error.fault(), "Code": error.code(), "Message": error.message_in_query() });
    json!({ "Error": described, "RequestId": request_id }).to_string().into()
}

/// A map of a flat query is a list of its entries, as in XML, under the name of the map.
fn structured(query: &Query, name: &str, value: Value) -> Value {
    let map = query.maps.iter().find(|(map, ..)| query.flat && *map == name);
    match (value, map) {
        (Value::Object(entries), Some((_, _, key))) => {
            let entry = |(name, value)| json!({ (*key): name, "Value": structured(query, "", value) });
            entries.into_iter().map(entry).collect()
        }
        (Value::Object(members), None) => {
            let member = |(name, value): (String, Value)| {
                let value = structured(query, &name, value);
                // The only name that AWS was seen to write in lower case.
                (if name == "Messages" { "messages".to_owned() } else { name }, value)
            };
            members.into_iter().map(member).collect()
        }
        (Value::Array(items), _) => items.into_iter().map(|item| structured(query, "", item)).collect(),
        (plain, _) => plain,
    }
}
