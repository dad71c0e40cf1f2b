//! The names of the messaging conventions, and redrive's own.
//!
//! <https://github.com/open-telemetry/semantic-conventions/blob/v1.44.0/docs/messaging/sqs.md>

use opentelemetry::InstrumentationScope;

/// The version of the conventions. The messaging conventions are in development: a later version may use other names.
const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.44.0";

/// Returns the origin of spans and metrics.
pub(crate) fn scope() -> InstrumentationScope {
    InstrumentationScope::builder(env!("CARGO_PKG_NAME"))
        .with_version(env!("CARGO_PKG_VERSION"))
        .with_schema_url(SCHEMA_URL)
        .build()
}

pub(crate) const SYSTEM: &str = "messaging.system";
pub(crate) const SQS: &str = "aws_sqs";
pub(crate) const DESTINATION: &str = "messaging.destination.name";
pub(crate) const OPERATION_NAME: &str = "messaging.operation.name";
pub(crate) const OPERATION_TYPE: &str = "messaging.operation.type";
pub(crate) const PROCESS: &str = "process";
pub(crate) const SETTLE: &str = "settle";
pub(crate) const MESSAGE_ID: &str = "messaging.message.id";
pub(crate) const MESSAGE_COUNT: &str = "messaging.batch.message_count";
pub(crate) const INVOCATION_ID: &str = "faas.invocation_id";
pub(crate) const ERROR_TYPE: &str = "error.type";
/// The type of an error that is not known any further.
pub(crate) const OTHER: &str = "_OTHER";

pub(crate) const ATTEMPT: &str = "redrive.attempt";
pub(crate) const OUTCOME: &str = "redrive.outcome";
pub(crate) const FAILED: &str = "redrive.failed";

pub(crate) const PROCESS_DURATION: &str = "messaging.process.duration";
pub(crate) const CONSUMED_MESSAGES: &str = "messaging.client.consumed.messages";
pub(crate) const OPERATION_DURATION: &str = "messaging.client.operation.duration";

/// Bucket limits in seconds, as the conventions advise for both durations.
pub(crate) const BOUNDARIES: [f64; 14] =
    [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];
