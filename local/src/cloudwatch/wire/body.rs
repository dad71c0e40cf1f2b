//! Bodies: their size, their compression, and CBOR.

use std::io::Read;

use bytes::Bytes;
use ciborium::Value;
use flate2::read::GzDecoder;
use http::{HeaderMap, Request, header};

use super::Refusal;

/// The most that is posted, compressed or not.
/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricData.html>
const LARGEST: usize = 1 << 20;

/// The most that it may become. CloudWatch does not say; a thousand metrics of 150 values fit in it.
const LARGEST_PLAIN: u64 = 16 << 20;

pub(super) fn is_gzipped(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_ENCODING).is_some_and(|encoding| encoding == "gzip")
}

/// The body, decompressed.
pub(super) fn plain(request: &Request<Bytes>) -> Result<Bytes, Refusal> {
    let body = request.body();
    if body.len() > LARGEST {
        return Err(Refusal::too_large(body.len(), LARGEST));
    }
    if !is_gzipped(request.headers()) {
        return Ok(body.clone());
    }
    let mut plain = Vec::new();
    let read = GzDecoder::new(body.as_ref()).take(LARGEST_PLAIN + 1).read_to_end(&mut plain);
    match read {
        Ok(size) if size as u64 > LARGEST_PLAIN => Err(Refusal::too_large(size, LARGEST_PLAIN as usize)),
        Ok(_) => Ok(plain.into()),
        Err(error) => Err(Refusal::unreadable(error)),
    }
}

/// The value of a body, timestamps as plain numbers.
pub(super) fn cbor(body: &[u8]) -> Result<Value, Refusal> {
    if body.is_empty() {
        return Ok(Value::Map(Vec::new()));
    }
    ciborium::from_reader(body).map(without_tags).map_err(Refusal::unreadable)
}

pub(super) fn to_cbor(value: &Value) -> Bytes {
    let mut bytes = Vec::new();
    ciborium::into_writer(value, &mut bytes).expect("a value can be written");
    bytes.into()
}

fn without_tags(value: Value) -> Value {
    match value {
        Value::Tag(_, inner) => without_tags(*inner),
        Value::Array(items) => Value::Array(items.into_iter().map(without_tags).collect()),
        Value::Map(entries) => {
            Value::Map(entries.into_iter().map(|(key, value)| (key, without_tags(value))).collect())
        }
        plain => plain,
    }
}
