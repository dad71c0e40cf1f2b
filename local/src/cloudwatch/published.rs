//! Which metrics of AWS have values here.

use super::{BadDocument, of_functions, of_queues};

/// Whether an alarm on a metric can ever see a value here: of the namespaces of AWS only a few metrics are published. Any
/// other namespace is one of clients and functions.
#[must_use]
pub fn is_published(namespace: &str, metric: &str) -> bool {
    match namespace {
        "AWS/SQS" => of_queues::METRICS.iter().any(|(name, ..)| *name == metric),
        "AWS/Lambda" => of_functions::METRICS.iter().any(|(name, _)| *name == metric),
        "AWS/Logs" => BadDocument::ALL.iter().any(|bad| bad.metric() == metric),
        _ => !namespace.starts_with("AWS/"),
    }
}
