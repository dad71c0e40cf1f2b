//! The body of a letter that is in S3.

use std::time::Duration;

use anyhow::{Context, anyhow};
use redrive_s3::{PayloadError, PayloadPointer, Payloads};
use serde::Serialize;
use tokio::time::timeout;

use super::page;
use crate::aws::{Aws, describe_error};
use crate::dlq::letter::Letter;
use crate::output::Line;

/// More is not read: nobody looks at it in a terminal.
const LARGEST: u64 = 16 * 1024 * 1024;

/// After the limit of the call, so that a call without an answer ends by itself.
const MARGIN: Duration = Duration::from_millis(500);

/// Where it is, and what it is if it was read.
#[derive(Debug, Serialize)]
pub(super) struct Payload {
    bucket: String,
    key: String,
    /// As the sender says.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
}

impl Payload {
    /// None if the letter's body is its own.
    pub(super) fn of(letter: &Letter) -> Option<Self> {
        let PayloadPointer { bucket, key } =
            PayloadPointer::find(&letter.body, &letter.attributes).ok()??;
        let bytes = PayloadPointer::claimed_size(&letter.attributes);
        Some(Self { bucket, key, bytes, body: None })
    }

    /// Such as `s3://payloads/7d1f, 300000 bytes`.
    pub(super) fn place(&self) -> String {
        let bytes = self.bytes.map(|bytes| format!(", {bytes} bytes")).unwrap_or_default();
        format!("{}{bytes}", self.pointer())
    }

    /// Reads it, from wherever its sender says: somebody asked for that.
    ///
    /// # Errors
    /// Why it could not be read.
    pub(super) async fn read(&mut self, aws: &Aws) -> anyhow::Result<()> {
        let payloads = Payloads::new(aws.s3(), [self.bucket.as_str()]).max_size(LARGEST);
        let pointer = self.pointer();
        // The client's own limit ends with the first byte of the body.
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

    /// What was read, for people.
    pub(super) fn lines(&self) -> Vec<Line> {
        self.body.as_deref().map(|body| page::text("Payload", body)).unwrap_or_default()
    }

    fn pointer(&self) -> PayloadPointer {
        PayloadPointer { bucket: self.bucket.clone(), key: self.key.clone() }
    }
}
