//! Writes bodies to S3.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::error::DisplayErrorContext;
use aws_sdk_s3::primitives::ByteStream;
use redrive_send::LargeBodies;
use redrive_sqs::PayloadPointer;

/// The longest time of a try.
const ATTEMPT: Duration = Duration::from_secs(120);

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Stores bodies that are too large for SQS in a bucket, as the SQS Extended Client does, for
/// [`Sender::large_bodies`](redrive_send::Sender::large_bodies).
///
/// Each body becomes one object with a random key. redrive never deletes objects.
#[derive(Debug, Clone)]
pub struct Uploads {
    client: Client,
    bucket: String,
    key_prefix: String,
    threshold: usize,
}

impl Uploads {
    /// Stores bodies in this bucket. The client's role needs `s3:PutObject`.
    #[must_use]
    pub fn new(client: Client, bucket: impl Into<String>) -> Self {
        let (bucket, key_prefix) = (bucket.into(), String::new());
        Self { client, bucket, key_prefix, threshold: PayloadPointer::THRESHOLD }
    }

    /// Sets the start of all keys, such as `documents/`. Default: none.
    #[must_use]
    pub fn key_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.key_prefix = prefix.into();
        self
    }

    /// Sets the number of bytes of body and attributes above which the body is stored, up to the 1,048,576 that SQS takes.
    /// Default: 262,144, as for the Extended Client.
    #[must_use]
    pub const fn threshold(mut self, bytes: usize) -> Self {
        self.threshold = bytes;
        self
    }
}

impl LargeBodies for Uploads {
    fn threshold(&self) -> usize {
        self.threshold
    }

    async fn store(&self, body: String) -> Result<PayloadPointer, BoxError> {
        // The operating system's random numbers, so that no two processes choose the same key.
        let [first, second] = [RandomState::new(), RandomState::new()].map(|state| state.hash_one(&body));
        let key = format!("{}{first:016x}{second:016x}", self.key_prefix);
        let call = self.client.put_object().bucket(&self.bucket).key(&key);
        let call = call.content_type("text/plain; charset=UTF-8").body(ByteStream::from(body.into_bytes()));
        // The time until the first byte of the answer includes that of the upload.
        let timeouts =
            TimeoutConfig::builder().disable_read_timeout().operation_attempt_timeout(ATTEMPT).build();
        let config = aws_sdk_s3::config::Builder::new().timeout_config(timeouts);
        call.customize()
            .config_override(config)
            .send()
            .await
            .map_err(|error| DisplayErrorContext(error).to_string())?;
        Ok(PayloadPointer { bucket: self.bucket.clone(), key })
    }
}
