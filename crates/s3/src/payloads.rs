//! Reads bodies from S3.

use aws_sdk_s3::Client;
use aws_sdk_s3::operation::get_object::{GetObjectError, GetObjectOutput};
use redrive::{Bodies, Body, Failure, Record};
use redrive_sqs::PayloadPointer;

use crate::PayloadError;
use crate::names::{is_bucket, key_problem};

/// Default limit in bytes. Ten payloads in memory at a time take 80 MiB, which fits into the smallest function.
const MAX_SIZE: u64 = 8 * 1024 * 1024;

/// Bodies in S3, for messages that the SQS Extended Client sent. Other messages keep their own body.
///
/// A message points to S3 if it has the attribute `ExtendedPayloadSize`, or `SQSLargePayloadSize` of version 1. If its payload
/// cannot be read:
///
/// | | the message |
/// | --- | --- |
/// | the body is not a pointer, or the payload is not UTF-8 | is malformed: [`Consumer::on_malformed`](redrive::Consumer::on_malformed) |
/// | a bucket or a prefix that is not allowed | is dead-lettered as `payload-bucket` or `payload-key` |
/// | a key of more than 1,024 bytes, or with the part `.` or `..` | is dead-lettered as `payload-key` |
/// | more bytes than [`max_size`](Self::max_size) | is dead-lettered as `payload-size` |
/// | the object does not exist | is dead-lettered as `payload-missing` if `s3:ListBucket` is allowed. Otherwise, S3 refuses the call |
/// | S3 refuses, throttles, fails or does not answer | is retried |
///
/// Dead letters keep the pointer. redrive never deletes an object.
#[derive(Debug, Clone)]
pub struct Payloads {
    client: Client,
    buckets: Vec<String>,
    key_prefix: String,
    max_size: u64,
}

impl Payloads {
    /// Reads payloads from these buckets. The sender of a message chooses the bucket, so messages that point to any other
    /// bucket are rejected. Otherwise, senders could make the function read all that its role may read.
    #[must_use]
    pub fn new(client: Client, buckets: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let buckets = buckets.into_iter().map(Into::into).collect();
        Self { client, buckets, key_prefix: String::new(), max_size: MAX_SIZE }
    }

    /// Sets the largest payload, in bytes. Default: 8,388,608 (8 MiB). The process keeps the payload of each running message in
    /// memory. For a bulk handler, it keeps those of all messages in running calls.
    #[must_use]
    pub const fn max_size(mut self, bytes: u64) -> Self {
        self.max_size = bytes;
        self
    }

    /// Reads only keys with this prefix, for a bucket that holds other objects too. Default: any key.
    #[must_use]
    pub fn key_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.key_prefix = prefix.into();
        self
    }

    /// Reads a payload, as [`Bodies::body`] does for a message.
    ///
    /// # Errors
    /// The payload could not be read, or redrive may not read it.
    pub async fn fetch(&self, pointer: &PayloadPointer) -> Result<String, PayloadError> {
        let at = || pointer.clone();
        if !self.buckets.contains(&pointer.bucket) {
            return Err(PayloadError::Bucket(at()));
        }
        if !is_bucket(&pointer.bucket) {
            return Err(PayloadError::InvalidBucket(at()));
        }
        if let Some(fault) = key_problem(&pointer.key) {
            return Err(PayloadError::InvalidKey(at(), fault));
        }
        if !pointer.key.starts_with(&self.key_prefix) {
            return Err(PayloadError::Key(at(), self.key_prefix.clone()));
        }
        let call = self.client.get_object().bucket(&pointer.bucket).key(&pointer.key);
        let object = call.send().await.map_err(|error| match error.as_service_error() {
            Some(GetObjectError::NoSuchKey(_)) => PayloadError::Missing(at()),
            _ => PayloadError::Call(at(), Box::new(error)),
        })?;
        let bytes = self.read(pointer, object).await?;
        String::from_utf8(bytes).map_err(|_| PayloadError::Text(at()))
    }

    /// Reads an object, but never more than the limit, even if the answer claims a smaller length.
    async fn read(
        &self,
        pointer: &PayloadPointer,
        mut object: GetObjectOutput,
    ) -> Result<Vec<u8>, PayloadError> {
        let too_large = || PayloadError::Size(pointer.clone(), self.max_size);
        let length =
            object.content_length().and_then(|length| u64::try_from(length).ok()).unwrap_or_default();
        if length > self.max_size {
            return Err(too_large());
        }
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
        loop {
            let part = object.body.try_next().await;
            let Some(part) = part.map_err(|error| PayloadError::Body(pointer.clone(), error))? else {
                return Ok(bytes);
            };
            if (bytes.len() + part.len()) as u64 > self.max_size {
                return Err(too_large());
            }
            bytes.extend_from_slice(&part);
        }
    }
}

impl Bodies for Payloads {
    async fn body(&self, record: &Record<'_>) -> Result<Option<Body>, Failure> {
        match PayloadPointer::find(record.body(), &record.attributes()) {
            Ok(Some(pointer)) => {
                self.fetch(&pointer).await.map(|text| Some(text.into())).map_err(PayloadError::failure)
            }
            Ok(None) => Ok(None),
            Err(error) => Err(Failure::malformed(error)),
        }
    }
}
