//! Answers to the calls that a consumer makes to AWS.

use anyhow::{Context, bail};
use axum::body::Body;
use bytes::Bytes;
use hyper::{Request, Response};
use serde::Deserialize;
use serde_json::json;

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

/// Answers a call. Fails for an unknown one, so that nothing is measured that would not work.
pub(crate) fn answer(request: &Request<Bytes>) -> anyhow::Result<Response<Body>> {
    let target = request.headers().get("x-amz-target").and_then(|target| target.to_str().ok());
    let operation = target.unwrap_or(request.uri().path());
    let (kind, body) = if operation == "AmazonSQS.ChangeMessageVisibilityBatch" {
        let call: ChangeMessageVisibilityBatch =
            serde_json::from_slice(request.body()).with_context(|| format!("{operation} cannot be read"))?;
        let changed: Vec<_> = call.entries.iter().map(|entry| json!({ "Id": entry.id })).collect();
        let body = json!({ "Successful": changed, "Failed": [] }).to_string().into_bytes();
        ("application/x-amz-json-1.0", body)
    } else if operation.ends_with("/PutMetricData") {
        // An empty map.
        ("application/cbor", vec![0xa0])
    } else {
        bail!("the consumer calls {operation}, which nobody answers here")
    };
    let response = Response::builder().header("content-type", kind).header("smithy-protocol", "rpc-v2-cbor");
    Ok(response.body(body.into())?)
}
