//! Handles bodies that are too big for SQS, as the SQS Extended Client of Java or Python puts them into S3.
//!
//! ```sh
//! redrive send --queue documents big.jsonl --payload-bucket documents-payloads
//! redrive local --aws --example payloads
//! ```
//!
//! Documents are done. An empty one is dead-lettered as `empty-document`, and its letter points to the same object: `redrive dlq
//! show --payload` reads it. `dev/emulators/test_payloads.py` runs this program against emulators.

use redrive::{Consumer, Failure, Message};
use redrive_s3::Payloads;
use serde::Deserialize;

#[derive(Deserialize)]
struct Document {
    title: String,
    lines: Vec<String>,
}

async fn index(document: Message<Document>) -> Result<(), Failure> {
    let Document { title, lines } = &document.body;
    if lines.is_empty() {
        return Err(Failure::reject("a document must have a line").with_reason("empty-document"));
    }
    let bytes = lines.iter().map(String::len).sum::<usize>();
    tracing::info!(title, lines = lines.len(), bytes, "indexed");
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), redrive::Error> {
    let payloads =
        Payloads::new(redrive_s3::client().await, ["documents-payloads"]).max_size(32 * 1024 * 1024);
    Consumer::new(index).bodies(payloads).run().await
}
