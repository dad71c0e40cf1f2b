//! The configuration of an event source mapping.

use std::time::Duration;

use super::filter::Filter;

/// An event source mapping: a queue whose messages invoke a function.
#[derive(Debug, Clone)]
pub struct MappingConfig {
    /// The queue's name.
    pub queue: String,
    /// The function's name.
    pub function: String,
    /// Most messages in a batch: 1 to 10,000. More than 10 require a window, and are not allowed on a FIFO queue.
    pub batch_size: usize,
    /// How long a batch waits to fill: 0 to 300 s, 0 on a FIFO queue.
    pub window: Duration,
    /// Most invocations, and thus processes, at once: up to 1,000. AWS requires at least 2. With 1, events here have a fixed
    /// order. By default there is no limit, which means the account's concurrency on AWS, and 5 here.
    pub maximum_concurrency: Option<usize>,
    /// True if the function's response names the messages that failed (`ReportBatchItemFailures`).
    pub report_batch_item_failures: bool,
    /// Up to five filters. A message that matches none of them is deleted without an invocation. Without filters all messages
    /// pass.
    pub filters: Vec<Filter>,
    /// A disabled mapping leaves its queue alone.
    pub enabled: bool,
}

/// Lambda's initial concurrency, which is enough for a laptop.
/// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html>
const CONCURRENCY: usize = 5;

impl MappingConfig {
    /// Returns the most invocations that run at once here.
    pub(crate) fn concurrency(&self) -> usize {
        self.maximum_concurrency.unwrap_or(CONCURRENCY)
    }
}

/// Lambda's defaults: batches of ten, no window, no partial responses.
impl Default for MappingConfig {
    fn default() -> Self {
        Self {
            queue: String::new(),
            function: String::new(),
            batch_size: 10,
            window: Duration::ZERO,
            maximum_concurrency: None,
            report_batch_item_failures: false,
            filters: Vec::new(),
            enabled: true,
        }
    }
}
