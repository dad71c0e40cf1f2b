//! Reads the body of a letter from S3.

use std::time::Duration;

use anyhow::{Context, anyhow};
use redrive_s3::{PayloadError, PayloadPointer, Payloads};
use serde::Serialize;
use tokio::time::timeout;

use super::page;
use crate::aws::{Aws, describe_error};
use crate::dlq::letter::Letter;
use crate::output::Line;

/// Largest body in bytes that is read. Nobody looks at more in a terminal.
const LARGEST: u64 = 16 * 1024 * 1024;

/// Margin beyond the call's own timeout, so that a call without an answer ends by itself.
const MARGIN: Duration = Duration::from_millis(500);

/// Place of the body, and the body once it is read.
#[derive(Debug, Serialize)]
pub(super) struct Payload {
    bucket: String,
    key: String,
    /// Size in bytes, according to the sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
}

impl Payload {
    /// Returns none if the letter contains its body.
    pub(super) fn of(letter: &Letter) -> Option<Self> {
        let PayloadPointer { bucket, key } =
            PayloadPointer::find(&letter.body, &letter.attributes).ok()??;
        let bytes = PayloadPointer::claimed_size(&letter.attributes);
        Some(Self { bucket, key, bytes, body: None })
    }

    /// Formats the place as `s3://payloads/7d1f, 300000 bytes`.
    pub(super) fn place(&self) -> String {
        let bytes = self.bytes.map(|bytes| format!(", {bytes} bytes")).unwrap_or_default();
        format!("{}{bytes}", self.pointer())
    }

    /// Reads the body from any bucket that the sender names, because the user asked for it.
    ///
    /// # Errors
    /// The body could not be read, and why.
    pub(super) async fn read(&mut self, aws: &Aws) -> anyhow::Result<()> {
        let payloads = Payloads::new(aws.s3(), [self.bucket.as_str()]).max_size(LARGEST);
        let pointer = self.pointer();
        // The client's own timeout ends with the first byte of the body.
        let limit = aws.limit();
        let read = timeout(limit.saturating_add(MARGIN), payloads.fetch(&pointer)).await;
        let read = read.with_context(|| {
            format!(
                "could not read {pointer} to its end within {} s: --timeout waits longer",
                limit.as_secs()
            )
        })?;
        let read = read.map_err(|error| match error {
            PayloadError::Call(_, call) => describe_error(&*call, &format!("read {pointer}"), "s3:GetObject"),
            error => anyhow!(error),
        });
        self.body = Some(read?);
        Ok(())
    }

    /// Formats the body for people.
    pub(super) fn lines(&self) -> Vec<Line> {
        self.body.as_deref().map(|body| page::text("Payload", body)).unwrap_or_default()
    }

    fn pointer(&self) -> PayloadPointer {
        PayloadPointer { bucket: self.bucket.clone(), key: self.key.clone() }
    }
}
