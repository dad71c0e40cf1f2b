//! What an event source mapping is.

use std::time::Duration;

use super::filter::Filter;

/// An event source mapping: a queue whose messages invoke a function.
#[derive(Debug, Clone)]
pub struct MappingConfig {
    /// The queue's name.
    pub queue: String,
    /// The function's name.
    pub function: String,
    /// At most this many messages in a batch: 1 to 10,000; above 10 only with a window and never on a FIFO queue.
    pub batch_size: usize,
    /// How long a batch may wait to fill: 0 to 300 s, 0 on a FIFO queue.
    pub window: Duration,
    /// At most this many invocations, and so processes, at once: up to 1,000. AWS accepts no less than 2; with 1, events here
    /// have a fixed order. By default there is no limit, which means the account's concurrency on AWS, and 5 here.
    pub maximum_concurrency: Option<usize>,
    /// Whether the function's response names the messages that failed (`ReportBatchItemFailures`).
    pub report_batch_item_failures: bool,
    /// Up to five filters; a message that matches none of them is deleted without an invocation. No filter lets all pass.
    pub filters: Vec<Filter>,
    /// A disabled mapping leaves its queue alone.
    pub enabled: bool,
}

/// Where Lambda begins, and enough for a laptop.
/// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html>
const CONCURRENCY: usize = 5;

impl MappingConfig {
    /// How many invocations run at once here.
    pub(crate) fn concurrency(&self) -> usize {
        self.maximum_concurrency.unwrap_or(CONCURRENCY)
    }
}

/// What Lambda gives a mapping that asks for nothing: batches of ten, no window, no partial responses.
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
