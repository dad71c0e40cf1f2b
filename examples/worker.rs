//! A worker with long jobs and a model that is loaded once.
//!
//! ```sh
//! redrive local --example worker --send examples/worker.jsonl --speed max --until-idle
//! ```
//!
//! Two recordings are transcribed. One in a language that the model does not know is rejected as `unknown-language`, and one that
//! is not uploaded yet is done on its second attempt.
//!
//! This command runs it as a function, and with `--worker` as a worker. Outside of Lambda, the same program polls the queue in
//! `REDRIVE_QUEUE_URL` itself, and a recording may take 12 hours: see docs/worker.md.

use std::sync::Arc;
use std::time::Duration;

use redrive::{BoxError, Consumer, Failure, Handler, Message};
use serde::Deserialize;

#[derive(Deserialize)]
struct Recording {
    file: String,
    language: String,
}

/// Stands for gigabytes in the memory of a GPU.
struct Model {
    languages: Vec<&'static str>,
}

impl Model {
    fn load() -> Self {
        Self { languages: vec!["de", "en"] }
    }

    /// Blocks its thread while it computes.
    fn transcribe(&self, file: &str) -> String {
        std::thread::sleep(Duration::from_millis(50));
        format!("{file}: hello, in one of {} languages", self.languages.len())
    }
}

struct Transcriber {
    model: Arc<Model>,
}

impl Handler<Message<Recording>> for Transcriber {
    type Error = Failure;

    async fn call(&self, job: Message<Recording>) -> Result<(), Failure> {
        if !self.model.languages.contains(&job.body.language.as_str()) {
            return Err(Failure::reject(format!("no model for {:?}", job.body.language))
                .with_reason("unknown-language"));
        }
        let file = fetch(&job).await?;
        // It runs on its own thread: a handler that blocks its thread cannot be canceled when the worker ends.
        let model = Arc::clone(&self.model);
        let text = tokio::task::spawn_blocking(move || model.transcribe(&file)).await?;
        tracing::info!(key = job.key(), text, "transcribed");
        Ok(())
    }
}

/// Stands for a download.
async fn fetch(job: &Message<Recording>) -> Result<String, BoxError> {
    if job.body.file.starts_with("late/") && job.attempt == 1 {
        return Err("the recording is not uploaded yet".into());
    }
    Ok(job.body.file.clone())
}

#[tokio::main]
async fn main() -> Result<(), redrive::Error> {
    // The model is loaded before the first message, and all messages share it.
    let model = Arc::new(Model::load());
    Consumer::new(Transcriber { model })
        // On ECS with `stopTimeout: 120`, on Kubernetes with `terminationGracePeriodSeconds: 120`.
        .drain(Duration::from_secs(110))
        .run()
        .await
}
