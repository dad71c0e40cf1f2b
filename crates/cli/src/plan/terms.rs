//! The simulated consumer. Pure.

use std::time::Duration;

use anyhow::{Context, bail};
use redrive_iac::deployment::Deployment;
use redrive_sqs::is_fifo;

use crate::schedule::Known;

/// A queue, its mapping and its function.
#[derive(Debug, Clone)]
pub(super) struct Terms {
    pub(super) known: Known,
    pub(super) max_receive_count: u32,
    pub(super) is_fifo: bool,
    pub(super) batch_size: usize,
    pub(super) window: Duration,
    pub(super) maximum_concurrency: usize,
    pub(super) timeout: Duration,
    /// Memory in MB.
    pub(super) memory: u32,
}

impl Terms {
    /// Takes known settings from a template, and others from redrive's own template. Reduces values to the maximum that AWS
    /// allows.
    pub(super) fn of(subject: Option<&Deployment>, known: Known) -> anyhow::Result<Self> {
        let Some(max_receive_count) = known.max_receive_count else {
            bail!("{} has no redrive policy, so no message becomes a dead letter", known.name);
        };
        let mapping = subject.and_then(|subject| {
            let queue = Some(known.queue.as_str());
            subject.mappings.iter().find(|mapping| mapping.queue_arn.as_deref() == queue)
        });
        let function = subject.zip(mapping).and_then(|(subject, mapping)| subject.function_of(mapping));
        let is_fifo = is_fifo(&known.queue);
        let window = mapping.and_then(|mapping| mapping.window).filter(|_| !is_fifo).unwrap_or_default();
        let largest = if window.is_zero() { 10 } else { 10_000 };
        let batch_size = mapping.and_then(|mapping| mapping.batch_size).unwrap_or(10).clamp(1, largest);
        let batches = mapping.and_then(|mapping| mapping.most_batches()).unwrap_or(10).clamp(2, 1_000);
        let timeout = function.and_then(|function| function.timeout).unwrap_or(Duration::from_secs(30));
        if known.visibility_timeout.is_zero() {
            bail!("the visibility timeout of {} is 0s, allowed: at least the function's timeout", known.name);
        }
        Ok(Self {
            max_receive_count,
            is_fifo,
            batch_size: usize::try_from(batch_size).context("too large")?,
            window,
            maximum_concurrency: usize::try_from(batches).context("too large")?,
            timeout: timeout.min(known.visibility_timeout),
            memory: function.and_then(|function| function.memory).unwrap_or(256),
            known,
        })
    }

    pub(super) fn with_count(&self, max_receive_count: u32) -> Self {
        Self { max_receive_count, ..self.clone() }
    }

    /// Returns a variable of the function, with its count and its dead-letter queue, and metrics turned off.
    pub(super) fn variable(&self, name: &str, dead_letter_queue_url: &str) -> Option<String> {
        match name {
            "REDRIVE_MAX_RECEIVE_COUNT" => Some(self.max_receive_count.to_string()),
            "REDRIVE_DEAD_LETTER_QUEUE_URL" => Some(dead_letter_queue_url.to_owned()),
            "REDRIVE_METRICS" => Some("off".to_owned()),
            _ => self.known.variable(name),
        }
    }
}
