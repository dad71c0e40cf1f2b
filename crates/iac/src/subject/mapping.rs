//! An event source mapping of a queue, and what Lambda takes of its numbers.

use std::ops::RangeInclusive;
use std::time::Duration;

pub use redrive_sqs::{BATCH_SIZE, BATCHING_WINDOW, MAXIMUM_CONCURRENCY};

use super::Seen;

/// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-parameters.html>
#[derive(Debug, Clone, Default)]
pub struct Mapping {
    /// None if a template does not say.
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
    /// Whether Lambda publishes how many messages it polled, invoked with and filtered out (`EventCount`).
    pub counts_events: Option<bool>,
    pub enabled: Option<bool>,
    /// The property that would name its queue, if it does not have it.
    pub lacks: Option<&'static str>,
    /// Its properties that have an effect on streams only.
    pub of_streams: Vec<&'static str>,
    pub line: Option<usize>,
    /// Logical id in the template, else the UUID.
    pub id: String,
}

/// What `MinimumPollers` and `MaximumPollers` of a queue's mapping may be.
/// <https://docs.aws.amazon.com/lambda/latest/api/API_ProvisionedPollerConfig.html>
pub const MINIMUM_POLLERS: RangeInclusive<u32> = 2..=200;
pub const MAXIMUM_POLLERS: RangeInclusive<u32> = 2..=10_000;

/// Lambda's own, where nothing is said.
const POLLERS: (u32, u32) = (2, 200);

/// So many batches of one poller run at a time.
/// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-parameters.html>
const BATCHES_OF_A_POLLER: u32 = 10;

/// `ProvisionedPollerConfig`; a number is none if it is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pollers {
    pub minimum: Option<u32>,
    pub maximum: Option<u32>,
}

impl Pollers {
    /// With the defaults for what is absent.
    pub fn new(minimum: Seen<u32>, maximum: Seen<u32>) -> Self {
        Self { minimum: minimum.or(POLLERS.0), maximum: maximum.or(POLLERS.1) }
    }
}

impl Mapping {
    /// How many batches may run at a time, if that is limited and known.
    pub fn most_batches(&self) -> Option<u32> {
        match &self.pollers {
            Seen::There(pollers) => Some(pollers.maximum?.saturating_mul(BATCHES_OF_A_POLLER)),
            Seen::Absent | Seen::Unknown => self.maximum_concurrency.there().copied(),
        }
    }
}
