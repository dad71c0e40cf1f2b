//! Answers to the calls that a consumer makes to AWS.

use anyhow::{Context, bail};
use serde::Deserialize;
use serde_json::json;

use crate::http::Request;

/// What is sent back: whole header lines, and a body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) headers: &'static str,
    pub(crate) body: Vec<u8>,
}

#[derive(Deserialize)]
struct ChangeMessageVisibilityBatch {
    #[serde(rename = "Entries")]
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "Id")]
    id: String,
}

/// Fails for a call that no answer is known to, so that nothing is measured that would not work.
pub(crate) fn answer(request: &Request) -> anyhow::Result<Answer> {
    let operation = request.header("x-amz-target").unwrap_or(&request.path);
    if operation == "AmazonSQS.ChangeMessageVisibilityBatch" {
        let call: ChangeMessageVisibilityBatch =
            serde_json::from_slice(&request.body).with_context(|| format!("{operation} cannot be read"))?;
        let changed: Vec<_> = call.entries.iter().map(|entry| json!({ "Id": entry.id })).collect();
        let body = json!({ "Successful": changed, "Failed": [] }).to_string().into_bytes();
        Ok(Answer { headers: "Content-Type: application/x-amz-json-1.0\r\n", body })
    } else if operation.ends_with("/PutMetricData") {
        // An empty map, in CBOR.
        let headers = "Content-Type: application/cbor\r\nsmithy-protocol: rpc-v2-cbor\r\n";
        Ok(Answer { headers, body: vec![0xa0] })
    } else {
        bail!("the consumer calls {operation}, which nobody answers here")
    }
}
