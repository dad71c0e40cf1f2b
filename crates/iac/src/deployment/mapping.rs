//! An event source mapping of a queue, and the numbers that Lambda accepts.

use std::ops::RangeInclusive;
use std::time::Duration;

pub use redrive_sqs::{BATCH_SIZE, BATCHING_WINDOW, MAXIMUM_CONCURRENCY};

use super::Seen;

/// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-parameters.html>
#[derive(Debug, Clone, Default)]
pub struct Mapping {
    /// None if it is unknown.
    pub queue_arn: Option<String>,
    /// The function's name.
    pub function: Option<String>,
    pub batch_size: Option<u32>,
    pub window: Option<Duration>,
    pub maximum_concurrency: Seen<u32>,
    /// Its provisioned pollers.
    pub pollers: Seen<Pollers>,
    pub reports_batch_item_failures: Option<bool>,
    /// Filter patterns, as JSON.
    pub filters: Vec<String>,
    /// True if Lambda publishes how many messages it polled, invoked with and filtered out (`EventCount`).
    pub counts_events: Option<bool>,
    pub enabled: Option<bool>,
    /// The property for its queue, if it is missing.
    pub lacks: Option<&'static str>,
    /// Its properties that have an effect on streams only.
    pub of_streams: Vec<&'static str>,
    pub line: Option<usize>,
    /// Logical id in the template, else the UUID.
    pub id: String,
}

/// Allowed values of `MinimumPollers` and `MaximumPollers` of a queue's mapping.
/// <https://docs.aws.amazon.com/lambda/latest/api/API_ProvisionedPollerConfig.html>
pub const MINIMUM_POLLERS: RangeInclusive<u32> = 2..=200;
pub const MAXIMUM_POLLERS: RangeInclusive<u32> = 2..=10_000;

/// Lambda's defaults.
const POLLERS: (u32, u32) = (2, 200);

/// Batches that a poller runs at a time.
/// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-parameters.html>
const BATCHES_OF_A_POLLER: u32 = 10;

/// `ProvisionedPollerConfig`. A number is `None` if it is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pollers {
    pub minimum: Option<u32>,
    pub maximum: Option<u32>,
}

impl Pollers {
    /// Uses the defaults for absent numbers.
    pub fn new(minimum: Seen<u32>, maximum: Seen<u32>) -> Self {
        Self { minimum: minimum.or(POLLERS.0), maximum: maximum.or(POLLERS.1) }
    }
}

impl Mapping {
    /// Returns how many batches may run at a time, if that is limited and known.
    pub fn most_batches(&self) -> Option<u32> {
        match &self.pollers {
            Seen::There(pollers) => Some(pollers.maximum?.saturating_mul(BATCHES_OF_A_POLLER)),
            Seen::Absent | Seen::Unknown => self.maximum_concurrency.there().copied(),
        }
    }
}
