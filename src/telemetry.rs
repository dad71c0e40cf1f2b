//! What redrive reports: log lines, metrics, a report for each batch and for each message.

pub(crate) mod log;
pub(crate) mod message_report;
pub(crate) mod metrics;
pub(crate) mod report;
