//! Log lines, metrics, and the reports of batches and messages.

pub(crate) mod log;
pub(crate) mod message_report;
pub(crate) mod metrics;
pub(crate) mod report;
