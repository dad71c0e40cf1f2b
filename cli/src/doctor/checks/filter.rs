//! Filter criteria.

use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::All;

pub(in crate::doctor) const FILTER_DELETES: Check = Check {
    code: "filter-deletes",
    level: Level::Warning,
    title: "Messages that match no filter are deleted",
    why: All(
        "Lambda deletes every message that the filter criteria do not match. The message reaches neither the function \
          nor the dead-letter queue, and no metric of SQS distinguishes it from a processed message. A body that is \
          not JSON does not match a JSON pattern.",
    ),
    link: "https://docs.aws.amazon.com/lambda/latest/dg/with-sqs-filtering.html",
    fix: All(
        "Filter before the queue, in the SNS subscription or the EventBridge rule, or let the function decide. If \
           you want these messages deleted, leave the finding out with --except filter-deletes.",
    ),
    find: |subject| {
        let filtered = subject.mappings.iter().filter(|mapping| !mapping.filters.is_empty());
        let what = |id: &str, filters: &[String]| {
            format!("{id} deletes messages that do not match {}.", filters.join(" or "))
        };
        filtered.map(|mapping| Found::at(mapping, what(&mapping.id, &mapping.filters))).collect()
    },
};
