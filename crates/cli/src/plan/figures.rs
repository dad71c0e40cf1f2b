//! Results of a simulation, and its cost. Pure.

use std::time::Duration;

use serde::{Serialize, Serializer};

use super::scenario::{Course, Errors, Scenario};

/// Dollars in us-east-1, without free tiers, as in docs/cost.md: <https://aws.amazon.com/sqs/pricing/>.
const SQS_REQUEST: f64 = 0.40e-6;
const SQS_FIFO_REQUEST: f64 = 0.50e-6;
/// On arm64: <https://aws.amazon.com/lambda/pricing/>.
const LAMBDA_INVOCATION: f64 = 0.20e-6;
const LAMBDA_GB_SECOND: f64 = 0.000_013_333_4;

#[derive(Debug, Clone, Serialize)]
pub(super) struct Figures {
    pub(super) scenario: Scenario,
    pub(super) errors: Errors,
    pub(super) messages: usize,
    pub(super) dead_letters: usize,
    /// Messages that SQS deleted at the end of the retention period.
    pub(super) expired: usize,
    /// Calls to the dependency during the trouble.
    pub(super) calls: usize,
    /// Time from the end of the trouble until the last message was done. None if no message was done after it.
    #[serde(serialize_with = "seconds")]
    pub(super) recovery: Option<Duration>,
    /// Longest wait of a message whose own calls succeed.
    #[serde(serialize_with = "seconds")]
    pub(super) longest_wait: Option<Duration>,
    pub(super) invocations: usize,
    /// Cost in dollars for a million messages.
    pub(super) cost: f64,
    #[serde(skip)]
    pub(super) course: Course,
    #[serde(skip)]
    pub(super) samples: Vec<Sample>,
}

fn seconds<S: Serializer>(time: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.as_secs_f64()).serialize(serializer)
}

/// The queue at one time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pub(super) at: Duration,
    pub(super) depth: usize,
    pub(super) dead_letters: usize,
    /// Calls since the previous sample.
    pub(super) calls: usize,
}

impl Figures {
    pub(super) const fn lost(&self) -> usize {
        self.dead_letters + self.expired
    }

    /// Names the simulation for people.
    pub(super) fn name(&self) -> String {
        match (self.scenario, self.errors) {
            (Scenario::Burst, _) => "burst".to_owned(),
            (scenario, errors) => format!("{} with {}", scenario.name(), errors.code()),
        }
    }
}

impl Errors {
    pub(super) const fn code(self) -> &'static str {
        match self {
            Self::Retry => "?",
            Self::Outage => "Failure::outage",
        }
    }
}

/// Usage that AWS bills.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Usage {
    pub(super) requests: usize,
    pub(super) invocations: usize,
    pub(super) milliseconds: u128,
}

impl Usage {
    /// Adds an invocation. Lambda receives and deletes ten messages with each request.
    pub(super) fn add(&mut self, messages: usize, deleted: usize, took: Duration) {
        self.invocations += 1;
        self.requests += messages.div_ceil(10) + deleted.div_ceil(10);
        self.milliseconds += took.as_nanos().div_ceil(1_000_000).max(1);
    }

    pub(super) fn dollars(&self, is_fifo: bool, memory: u32) -> f64 {
        let request = if is_fifo { SQS_FIFO_REQUEST } else { SQS_REQUEST };
        let gb_seconds = self.milliseconds as f64 / 1_000.0 * f64::from(memory) / 1_024.0;
        self.requests as f64 * request
            + self.invocations as f64 * LAMBDA_INVOCATION
            + gb_seconds * LAMBDA_GB_SECOND
    }
}

/// Settings that lose no message.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Choice {
    pub(super) max_receive_count: u32,
    pub(super) errors: Errors,
    pub(super) calls: usize,
    #[serde(serialize_with = "seconds")]
    pub(super) recovery: Option<Duration>,
    pub(super) cost: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_messages_in_full_batches_cost_what_the_page_says() {
        let mut usage = Usage::default();
        (0..100_000).for_each(|_| usage.add(10, 10, Duration::from_millis(50)));
        // docs/cost.md: thirty million a month are $2.40 for SQS and $1.10 for Lambda.
        assert!((30.0 * usage.dollars(false, 256) - 3.50).abs() < 0.005, "{}", usage.dollars(false, 256));
    }
}
