//! Event source mappings, as SAM's `Events` and plain: which queue feeds which function.

use redrive_local::{Filter, MappingConfig, QueueConfig};

use super::{Notes, queues};
use crate::template::document::{Node, TemplateError};
use crate::template::properties::Properties;
use crate::template::resolve::{Resolver, Resource};

type Result<T> = std::result::Result<T, TemplateError>;

/// What a mapping of an SQS queue may have besides its queue and its function. Others are for streams, and refused.
/// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-parameters.html>
const PROPERTIES: [&str; 10] = [
    "BatchSize",
    "Enabled",
    "FilterCriteria",
    "FunctionResponseTypes",
    "KmsKeyArn",
    "MaximumBatchingWindowInSeconds",
    "MetricsConfig",
    "ProvisionedPollerConfig",
    "ScalingConfig",
    "Tags",
];

/// Without a raised quota.
const MOST_FILTERS: usize = 5;

/// The mappings that are resources of their own.
pub(super) fn plain(
    resolver: &Resolver<'_>,
    queues: &[QueueConfig],
    notes: &mut Notes,
) -> Result<Vec<MappingConfig>> {
    let mut mappings = Vec::new();
    for resource in resolver.resources(&["AWS::Lambda::EventSourceMapping"])? {
        let properties = Properties::new(&resource.id, &resource.properties);
        let source = properties.text("EventSourceArn")?.unwrap_or_default();
        if !source.contains(":sqs:") {
            notes.add(format!("{} has no SQS queue as its source", resource.id));
            continue;
        }
        // A name, an ARN, or either with a version.
        let function = properties.required("FunctionName")?;
        let name = function.split_once(":function:").map_or(function, |(_, name)| name);
        let name = name.split(':').next().unwrap_or(name).to_owned();
        mappings.push(mapping(properties, &["EventSourceArn", "FunctionName"], name, queues, notes)?);
    }
    Ok(mappings)
}

/// The mappings among the events of a function.
pub(super) fn of_function(
    resource: &Resource,
    queues: &[QueueConfig],
    notes: &mut Notes,
) -> Result<Vec<MappingConfig>> {
    let mut mappings = Vec::new();
    for (name, event) in resource.properties.get("Events").map(Node::entries).unwrap_or_default() {
        let kind = event.get("Type").and_then(Node::as_text).unwrap_or_default();
        if kind != "SQS" {
            notes.add(format!("event {name} of {} is of type {kind}", resource.id));
            continue;
        }
        let properties = event.get("Properties").ok_or_else(|| event.error("Properties is missing"))?;
        let properties = Properties::new(&resource.id, properties);
        mappings.push(mapping(properties, &["Queue"], resource.name.clone(), queues, notes)?);
    }
    Ok(mappings)
}

/// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html>. The first of `names` is the queue's.
fn mapping(
    properties: Properties<'_>,
    names: &[&str],
    function: String,
    queues: &[QueueConfig],
    notes: &mut Notes,
) -> Result<MappingConfig> {
    properties.only(&[names, &PROPERTIES[..]].concat(), "a mapping of an SQS queue")?;
    let arn = properties.required(names[0])?;
    let queue = queues::find(queues, arn)
        .ok_or_else(|| properties.error(format!("no such queue in this template: {arn}")))?;
    let batch_size = properties.whole("BatchSize", 1..=10_000)?.unwrap_or(10);
    let window = properties.seconds("MaximumBatchingWindowInSeconds", 0..=300)?.unwrap_or_default();
    let fifo = queue.name.ends_with(".fifo");
    if fifo && batch_size > 10 {
        return Err(properties.refuse("BatchSize", &batch_size.to_string(), "1 to 10 on a FIFO queue"));
    }
    if fifo && !window.is_zero() {
        let value = window.as_secs().to_string();
        return Err(properties.refuse("MaximumBatchingWindowInSeconds", &value, "0 on a FIFO queue"));
    }
    if batch_size > 10 && window.is_zero() {
        let allowed = "1 to 10 without a MaximumBatchingWindowInSeconds";
        return Err(properties.refuse("BatchSize", &batch_size.to_string(), allowed));
    }
    for name in ["ProvisionedPollerConfig", "MetricsConfig"] {
        if properties.part(name).is_some() {
            notes.add(format!("{name} of the mapping from {} to {function}", queue.name));
        }
    }
    Ok(MappingConfig {
        queue: queue.name.clone(),
        function,
        batch_size: batch_size as usize,
        window,
        maximum_concurrency: concurrency(properties)? as usize,
        report_batch_item_failures: reports_failures(properties)?,
        filters: filters(properties)?,
        enabled: properties.flag("Enabled", true)?,
    })
}

fn concurrency(properties: Properties<'_>) -> Result<u32> {
    let Some(scaling) = properties.part("ScalingConfig") else {
        // Five is where Lambda starts, and enough for a laptop.
        return Ok(5);
    };
    if properties.part("ProvisionedPollerConfig").is_some() {
        return Err(scaling.error("ScalingConfig and ProvisionedPollerConfig exclude each other"));
    }
    Ok(scaling.whole("MaximumConcurrency", 2..=1000)?.unwrap_or(5))
}

fn reports_failures(properties: Properties<'_>) -> Result<bool> {
    let Some(types) = properties.part("FunctionResponseTypes") else { return Ok(false) };
    let types = types.node.as_list().unwrap_or_default();
    match types.iter().find(|kind| kind.as_text() != Some("ReportBatchItemFailures")) {
        Some(other) => Err(other.error("FunctionResponseTypes allows ReportBatchItemFailures only")),
        None => Ok(!types.is_empty()),
    }
}

/// <https://docs.aws.amazon.com/lambda/latest/dg/with-sqs-filtering.html>
fn filters(properties: Properties<'_>) -> Result<Vec<Filter>> {
    let Some(criteria) = properties.part("FilterCriteria") else { return Ok(Vec::new()) };
    let filters = criteria.node.get("Filters").and_then(Node::as_list);
    let filters = filters.ok_or_else(|| criteria.error("FilterCriteria needs a list of Filters"))?;
    if filters.len() > MOST_FILTERS {
        return Err(criteria.error(format!("{} Filters, allowed: {MOST_FILTERS}", filters.len())));
    }
    filters
        .iter()
        .map(|filter| {
            let pattern = filter.get("Pattern").unwrap_or(filter);
            let text =
                pattern.as_text().ok_or_else(|| pattern.error("a filter has a Pattern, which is a text"))?;
            text.parse().map_err(|error| pattern.error(format!("Pattern: {error}")))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::tests::QUEUE;
    use crate::template::tests::{error_of, stack_of};

    #[test]
    fn a_mapping_has_the_defaults_of_lambda() {
        let stack = stack_of(QUEUE);
        let [mapping] = &stack.mappings[..] else { panic!("expected one mapping") };
        assert_eq!((mapping.queue.as_str(), mapping.function.as_str()), ("local-Q", "local-Work"));
        assert_eq!(
            (mapping.batch_size, mapping.window, mapping.maximum_concurrency),
            (10, Duration::ZERO, 5)
        );
        assert!(mapping.enabled && !mapping.report_batch_item_failures && mapping.filters.is_empty());
    }

    #[test]
    fn what_lambda_refuses_is_refused() {
        for (properties, message) in [
            ("BatchSize: 10001", "line 20: BatchSize of Work is \"10001\", allowed: 1 to 10000"),
            (
                "BatchSize: 11",
                "line 20: BatchSize of Work is \"11\", allowed: 1 to 10 without a MaximumBatchingWindowInSeconds",
            ),
            (
                "ScalingConfig: {MaximumConcurrency: 1}",
                "line 20: MaximumConcurrency of Work is \"1\", allowed: 2 to 1000",
            ),
            (
                "ScalingConfig: {MaximumConcurrency: 2}\n            ProvisionedPollerConfig: {MinimumPollers: 2}",
                "line 20: Work: ScalingConfig and ProvisionedPollerConfig exclude each other",
            ),
            (
                "FunctionResponseTypes: [Report]",
                "line 20: FunctionResponseTypes allows ReportBatchItemFailures only",
            ),
            ("Enabled: maybe", "line 20: Enabled of Work is \"maybe\", allowed: true, false"),
            (
                "MaximumRetryAttempts: 3",
                "line 20: Work: MaximumRetryAttempts is nothing that a mapping of an SQS queue has",
            ),
            ("FilterCriteria: {Pattern: a}", "line 20: Work: FilterCriteria needs a list of Filters"),
            (
                "FilterCriteria: {Filters: [{Pattern: {body: [a]}}]}",
                "line 20: a filter has a Pattern, which is a text",
            ),
            (
                "FilterCriteria: {Filters: [{Pattern: '{\"body\": {\"a\": 1}}'}]}",
                "line 20: Pattern: body.a: a value must be a list or an object",
            ),
            ("FilterCriteria: {Filters: [1, 2, 3, 4, 5, 6]}", "line 20: Work: 6 Filters, allowed: 5"),
        ] {
            assert_eq!(error_of(&format!("{QUEUE}            {properties}\n")), message);
        }
        let elsewhere = QUEUE.replace("!GetAtt Q.Arn", "arn:aws:sqs:us-east-1:1:other");
        assert_eq!(
            error_of(&elsewhere),
            "line 19: Work: no such queue in this template: arn:aws:sqs:us-east-1:1:other"
        );
    }

    #[test]
    fn filters_are_read() {
        let criteria =
            "FilterCriteria: {Filters: [{Pattern: '{\"body\": [\"a\"]}'}, {Pattern: '{\"body\": [\"b\"]}'}]}";
        let stack = stack_of(&format!("{QUEUE}            {criteria}\n"));
        let expected = ["a", "b"].map(|body| format!("{{\"body\": [\"{body}\"]}}").parse().unwrap());
        assert_eq!(stack.mappings[0].filters, expected);
    }
}
