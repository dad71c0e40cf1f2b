//! Filter criteria.

use crate::doctor::finding::{Check, Found, Level};

pub(in crate::doctor) const FILTER_DELETES: Check = Check {
    code: "filter-deletes",
    level: Level::Warning,
    title: "Messages that match no filter are deleted",
    why: "Lambda deletes from the queue what its filter criteria do not match. Such a message never reaches the function \
          or the dead-letter queue, and no metric of SQS tells it from a message that was done. A body that is not JSON \
          does not match a pattern for JSON.",
    link: "https://docs.aws.amazon.com/lambda/latest/dg/with-sqs-filtering.html",
    mend: "Filter before the queue, in the SNS subscription or the EventBridge rule, or let the function decide. If \
           deleting is what you want, leave the finding out with --ignore filter-deletes.",
    find: |subject| {
        let filtered = subject.mappings.iter().filter(|mapping| !mapping.filters.is_empty());
        filtered
            .map(|mapping| {
                let what =
                    format!("{} deletes what does not match {}.", mapping.id, mapping.filters.join(" or "));
                Found::at_mapping(mapping, what)
            })
            .collect()
    },
};
