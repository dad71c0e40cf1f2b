//! Filter criteria.

use redrive_iac::deployment::Mapping;
use redrive_local::Filter;
use serde_json::Value;

use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::All;

const LINK: &str = "https://docs.aws.amazon.com/lambda/latest/dg/with-sqs-filtering.html";

pub(in crate::doctor) const FILTER_DELETES: Check = Check {
    code: "filter-deletes",
    level: Level::Warning,
    title: "Messages that do not match a filter are deleted",
    why: All(
        "Lambda deletes every message that the filter criteria do not match. The message reaches neither the \
         function nor the dead-letter queue, and no SQS metric distinguishes it from a processed message. A body \
         that is not JSON does not match a JSON pattern.",
    ),
    link: LINK,
    fix: All(
        "Filter before the queue, in the SNS subscription or the EventBridge rule, or let the function \
         decide. If you want these messages deleted, set MetricsConfig.Metrics to [EventCount] on the \
         mapping: the metric FilteredOutEventCount then counts them.",
    ),
    find: |deployment| {
        let filtered = deployment.mappings.iter();
        let deletes = |it: &&Mapping| {
            !it.filters.is_empty() && it.counts_events == Some(false) && refusals(it).is_empty()
        };
        let filtered = filtered.filter(deletes);
        let what = |id: &str, filters: &[String]| {
            format!("{id} deletes messages that do not match {}.", filters.join(" or "))
        };
        filtered.map(|mapping| Found::at(mapping, what(&mapping.id, &mapping.filters))).collect()
    },
};

pub(in crate::doctor) const FILTER_REFUSED: Check = Check {
    code: "filter-refused",
    level: Level::Error,
    title: "Lambda rejects a filter",
    why: All("A mapping has at most 5 filters, or 10 with a raised quota. A pattern is JSON, at most 4096 \
         characters, with lists of values and of comparisons that Lambda supports. Lambda rejects anything \
         else, and the deployment fails."),
    link: "https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html",
    fix: All("Correct the Pattern, or combine filters; `redrive local` shows which messages match."),
    find: |deployment| {
        let mut found = Vec::new();
        for mapping in &deployment.mappings {
            found.extend(refusals(mapping).into_iter().map(|what| Found::at(mapping, what)));
        }
        found
    },
};

pub(in crate::doctor) const FILTER_UNDOCUMENTED: Check = Check {
    code: "filter-undocumented",
    level: Level::Warning,
    title: "A filter uses a field or comparison that AWS does not document for SQS",
    why: All("AWS documents filters of SQS mappings on the body only, with comparisons by prefix, suffix, \
        equals-ignore-case, anything-but, numeric and exists. Lambda may change how it treats others, such as \
        messageAttributes or cidr. It deletes messages that do not match."),
    link: LINK,
    fix: All(
        "Filter by the body, or filter before the queue: SNS subscriptions and EventBridge rules support \
         more.",
    ),
    find: |deployment| {
        let mut found = Vec::new();
        for mapping in &deployment.mappings {
            let used = mapping.filters.iter().filter_map(|pattern| match pattern.parse::<Filter>() {
                Ok(filter) => filter.field_beside_body().map(str::to_owned),
                Err(_) => of_event_bridge(pattern).map(str::to_owned),
            });
            found.extend(
                used.map(|used| Found::at(mapping, format!("A filter of {} uses {used}.", mapping.id))),
            );
        }
        found
    },
};

/// Filters per mapping with a raised quota.
/// <https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html>
const MOST_FILTERS: usize = 10;

/// Returns the reasons why Lambda rejects a mapping's filters.
fn refusals(mapping: &Mapping) -> Vec<String> {
    let (id, filters) = (&mapping.id, &mapping.filters);
    let too_many = (filters.len() > MOST_FILTERS)
        .then(|| format!("{id} has {} filters, allowed: at most {MOST_FILTERS}.", filters.len()));
    let parsed = filters.iter().filter(|pattern| of_event_bridge(pattern).is_none());
    let refused = parsed.filter_map(|pattern| pattern.parse::<Filter>().err());
    too_many
        .into_iter()
        .chain(refused.map(|error| format!("A filter pattern of {id} is invalid: {error}.")))
        .collect()
}

/// Returns the first comparison that EventBridge has and Lambda's page does not.
/// <https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-pattern-operators.html>
fn of_event_bridge(pattern: &str) -> Option<&'static str> {
    fn find(value: &Value) -> Option<&'static str> {
        match value {
            Value::Object(entries) => {
                let own = ["cidr", "wildcard"].into_iter().find(|name| entries.contains_key(*name));
                own.or_else(|| entries.values().find_map(find))
            }
            Value::Array(items) => items.iter().find_map(find),
            _ => None,
        }
    }
    find(&serde_json::from_str(pattern).ok()?)
}
