//! Writes answers of the query protocol in JSON, for clients that send `Accept: application/json`.
//!
//! AWS documents neither the header nor the form of the answers. LocalStack's tests recorded them:
//! <https://github.com/localstack/localstack/blob/8b9a79f/tests/aws/services/sqs/test_sqs.py>
//! (`test_get_queue_attributes_json_format`, `test_get_list_queues_fails_json_format`,
//! `test_marker_serialization_json_protocol`).

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};

use super::{AwsError, Query};

/// Writes the member `…Result`, which only operations with an output have.
pub(super) fn result(query: &Query, operation: &str, output: &impl Serialize) -> Bytes {
    let output = serde_json::to_value(output).expect("plain values can be written");
    format!("\"{operation}Result\":{},", structured(query, "", output)).into()
}

/// Writes a successful answer. Names of known operations need no escapes.
pub(super) fn success(operation: &str, result: &Bytes, request_id: &str) -> Bytes {
    let (result, metadata) = (String::from_utf8_lossy(result), json!({ "RequestId": request_id }));
    format!("{{\"{operation}Response\":{{{result}\"ResponseMetadata\":{metadata}}}}}").into()
}

pub(super) fn failure(error: &AwsError, request_id: &str) -> Bytes {
    let described =
        json!({ "Type": error.fault(), "Code": error.code(), "Message": error.message_in_query() });
    json!({ "Error": described, "RequestId": request_id }).to_string().into()
}

/// Restructures a value: a map of a flat query becomes a list of its entries, as in XML, under the name of the map.
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
                // AWS was observed to write only this name in lower case, and only in SQS.
                (if query.flat && name == "Messages" { "messages".to_owned() } else { name }, value)
            };
            members.into_iter().map(member).collect()
        }
        (Value::Array(items), _) => items.into_iter().map(|item| structured(query, "", item)).collect(),
        (plain, _) => plain,
    }
}
