//! Reads request bodies: checks their size and decompresses them.

use std::io::Read;

use bytes::Bytes;
use flate2::read::GzDecoder;
use http::{Request, header};

use super::error::REQUEST_TOO_LARGE;
use crate::protocol::{AwsError, SERIALIZATION};

/// Largest body in bytes, compressed or not.
/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricData.html>
const LARGEST: usize = 1 << 20;

/// Largest decompressed body in bytes. AWS documents no limit. A thousand metrics of 150 values fit in it.
const LARGEST_PLAIN: u64 = 16 << 20;

/// Returns the decompressed body.
pub(super) fn plain(request: &Request<Bytes>) -> Result<Bytes, AwsError> {
    let body = request.body();
    let too_large =
        |size, most| REQUEST_TOO_LARGE.error(format!("Request size {size} exceeded {most} bytes"));
    if body.len() > LARGEST {
        return Err(too_large(body.len(), LARGEST));
    }
    if request.headers().get(header::CONTENT_ENCODING).is_none_or(|encoding| encoding != "gzip") {
        return Ok(body.clone());
    }
    let mut plain = Vec::new();
    let read = GzDecoder::new(body.as_ref()).take(LARGEST_PLAIN + 1).read_to_end(&mut plain);
    match read {
        Ok(size) if size as u64 > LARGEST_PLAIN => Err(too_large(size, LARGEST_PLAIN as usize)),
        Ok(_) => Ok(plain.into()),
        Err(error) => Err(SERIALIZATION.error(format!("the body is unreadable: {error}"))),
    }
}
