//! The source of bodies.

use aws_sdk_s3::Client;
use aws_sdk_s3::operation::get_object::{GetObjectError, GetObjectOutput};
use redrive::{Bodies, Body, Failure, Record};
use redrive_sqs::PayloadPointer;

use crate::PayloadError;
use crate::names::{fault_of_key, is_bucket};

/// With ten messages at a time, of which each is held as bytes, 80 MiB: what fits into the least memory of a function.
const MAX_SIZE: u64 = 8 * 1024 * 1024;

/// Bodies in S3, for messages that the SQS Extended Client sent; other messages keep their own body.
///
/// A message points to S3 if it has the attribute `ExtendedPayloadSize`, or `SQSLargePayloadSize` of version 1. If its payload
/// cannot be read:
///
/// | | the message |
/// | --- | --- |
/// | the body is not a pointer, the payload not UTF-8 | is malformed: [`Consumer::on_malformed`](redrive::Consumer::on_malformed) |
/// | another bucket, another prefix | is dead-lettered as `payload-bucket`, `payload-key` |
/// | a key of more than 1,024 bytes, or with the part `.` or `..` | is dead-lettered as `payload-key` |
/// | more bytes than [`max_size`](Self::max_size) | is dead-lettered as `payload-size` |
/// | no such object | is dead-lettered as `payload-missing`, if the function may call `s3:ListBucket`: else S3 answers `AccessDenied` |
/// | S3 refuses, throttles, fails or does not answer | is retried |
///
/// Dead letters keep the pointer, and the object stays: nothing is ever deleted.
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

    /// The largest payload, in bytes. Default: 8,388,608 (8 MiB). Memory holds the payload of each message that runs, and for a
    /// bulk handler those of all messages in its running calls.
    #[must_use]
    pub const fn max_size(mut self, bytes: u64) -> Self {
        self.max_size = bytes;
        self
    }

    /// The prefix of payload keys, for a bucket that holds other objects too. Default: anything.
    #[must_use]
    pub fn key_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.key_prefix = prefix.into();
        self
    }

    /// Reads a payload, as [`Bodies::body`] does for a message.
    ///
    /// # Errors
    /// The payload could not be read, or may not be.
    pub async fn fetch(&self, pointer: &PayloadPointer) -> Result<String, PayloadError> {
        let at = || pointer.clone();
        if !self.buckets.contains(&pointer.bucket) {
            return Err(PayloadError::Bucket(at()));
        }
        if !is_bucket(&pointer.bucket) {
            return Err(PayloadError::InvalidBucket(at()));
        }
        if let Some(fault) = fault_of_key(&pointer.key) {
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

    /// Never more than the limit, whatever the answer says of its length.
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
