//! Reads the event source mappings, from SAM's `Events` and as resources.

use redrive_iac::deployment::{
    BATCH_SIZE, BATCHING_WINDOW, Deployment, MAXIMUM_CONCURRENCY, Mapping, not_an_arn,
};
use redrive_iac::{Node, Resolver, Resource, TemplateError};
use redrive_sqs::is_fifo;

use super::allowed::{Allowed, Properties};
use super::notes::Notes;
use super::queues::find;
use super::{Result, certain};
use crate::{Filter, MappingConfig, QueueConfig};

/// Properties that a mapping of an SQS queue can have besides its queue and its function. Others are for streams, and
/// refused.
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

const MAPPING: [(&str, Allowed); 4] = [
    ("BatchSize", Allowed::Whole(*BATCH_SIZE.start() as u64, *BATCH_SIZE.end() as u64)),
    ("MaximumBatchingWindowInSeconds", Allowed::Whole(*BATCHING_WINDOW.start(), *BATCHING_WINDOW.end())),
    (
        "ScalingConfig.MaximumConcurrency",
        Allowed::Whole(*MAXIMUM_CONCURRENCY.start() as u64, *MAXIMUM_CONCURRENCY.end() as u64),
    ),
    ("Enabled", Allowed::Flag),
];

const NO_QUEUE: [&str; 2] = [" has no SQS queue as its source", " have no SQS queue as their source"];

/// Most filters of a mapping, without a raised quota.
const MOST_FILTERS: usize = 5;

/// Reads the mappings that are resources, and those among the events of functions.
pub(super) fn read(
    resolver: &Resolver<'_>,
    functions: &[Resource],
    subject: &Deployment,
    queues: &[QueueConfig],
    notes: &mut Notes,
) -> Result<Vec<MappingConfig>> {
    let known = |id: &str| subject.mappings.iter().find(|mapping| mapping.id == id);
    let ids = resolver.queue_ids();
    let mut mappings = Vec::new();
    // The reason for the first mapping that was left out, reported if no mapping can run.
    let mut left_out = None;
    let mut leave_out = |id: &str, why: TemplateError, notes: &mut Notes| {
        let reason = format!(": {}", why.message);
        notes.add(["mapping ", "mappings "], id, [&reason, &reason]);
        left_out.get_or_insert(why);
    };
    for resource in certain(resolver, &["AWS::Lambda::EventSourceMapping"])? {
        let properties = Properties::of(&resource);
        // Only mappings of streams have this property.
        if properties.node.get("StartingPosition").is_some() {
            notes.add(["", ""], &resource.id, NO_QUEUE);
            continue;
        }
        let ends = [("EventSourceArn", Allowed::Text), ("FunctionName", Allowed::Text)];
        if let Some(why) = ends.iter().find_map(|(name, _)| properties.part(name).err()) {
            leave_out(&resource.id, why, notes);
            continue;
        }
        properties.check(&ends)?;
        let Some(known) = known(&resource.id) else {
            notes.add(["", ""], &resource.id, NO_QUEUE);
            continue;
        };
        let function = known.function.as_deref().unwrap_or_default();
        if !functions.iter().any(|it| it.name == function) {
            let why = properties.error(format!("the function {function} is not in this template"));
            leave_out(&resource.id, why, notes);
            continue;
        }
        let names = ["EventSourceArn", "FunctionName"];
        match with_filters(source(properties, names[0], queues, &ids)?, properties)? {
            Ok(source) => mappings.push(mapping(known, properties, &names, source, notes)?),
            Err(why) => leave_out(&resource.id, why, notes),
        }
    }
    for function in functions {
        if let Err(why) = Properties::of(function).part("Events") {
            leave_out(&function.id, why, notes);
        }
        for (name, event) in function.properties.entries_at("Events") {
            let Some(known) = known(&format!("{}.{name}", function.id)) else {
                let kind = event.text_at("Type").unwrap_or_default();
                let after = [format!(" is of type {kind}"), format!(" are of type {kind}")];
                let event = format!("{name} of {}", function.id);
                notes.add(["event ", "events "], &event, [&after[0], &after[1]]);
                continue;
            };
            let node = event.get("Properties").ok_or_else(|| event.error("Properties is missing"))?;
            let properties = Properties { node, id: &function.id };
            match with_filters(source(properties, "Queue", queues, &ids)?, properties)? {
                Ok(source) => mappings.push(mapping(known, properties, &["Queue"], source, notes)?),
                Err(why) => leave_out(&format!("{}.{name}", function.id), why, notes),
            }
        }
    }
    match left_out.filter(|_| mappings.is_empty()) {
        Some(why) => Err(why),
        None => Ok(mappings),
    }
}

/// Returns the queue that a mapping names, or the reason why it is not in this template.
fn source<'q>(
    properties: Properties<'_>,
    name: &str,
    queues: &'q [QueueConfig],
    ids: &[(String, String)],
) -> Result<std::result::Result<&'q QueueConfig, TemplateError>> {
    let arn = match properties.part(name) {
        Ok(_) => properties.required(name)?,
        Err(why) => return Ok(Err(why)),
    };
    if let Some(why) = not_an_arn(arn, ids) {
        return Err(properties.error(why));
    }
    let elsewhere = || properties.error(format!("no such queue in this template: {arn}"));
    Ok(find(queues, arn).ok_or_else(elsewhere))
}

type Source<'q> = (&'q QueueConfig, Vec<Filter>);

/// Returns the queue and filters of a mapping, or the reason why it does not run here.
fn with_filters<'q>(
    queue: std::result::Result<&'q QueueConfig, TemplateError>,
    properties: Properties<'_>,
) -> Result<std::result::Result<Source<'q>, TemplateError>> {
    match queue {
        Ok(queue) => Ok(filters(properties)?.map(|filters| (queue, filters))),
        Err(why) => Ok(Err(why)),
    }
}

/// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html>
fn mapping(
    known: &Mapping,
    properties: Properties<'_>,
    names: &[&str],
    (queue, filters): Source<'_>,
    notes: &mut Notes,
) -> Result<MappingConfig> {
    properties.only(&[names, &PROPERTIES[..]].concat(), "a mapping of an SQS queue")?;
    properties.check(&MAPPING)?;
    let function = known.function.clone().ok_or_else(|| properties.error("FunctionName is missing"))?;
    let (batch_size, window) = (known.batch_size.unwrap_or(10), known.window.unwrap_or_default());
    let fifo = is_fifo(&queue.name);
    if !window.is_zero() && fifo {
        let value = window.as_secs().to_string();
        return Err(properties.refuse("MaximumBatchingWindowInSeconds", &value, "0 on a FIFO queue"));
    }
    if batch_size > 10 && window.is_zero() {
        let allowed = if fifo { "on a FIFO queue" } else { "without a MaximumBatchingWindowInSeconds" };
        return Err(properties.refuse("BatchSize", &batch_size.to_string(), &format!("1 to 10 {allowed}")));
    }
    let scaling = properties.part("ScalingConfig")?;
    if let Some(scaling) = scaling.filter(|_| !known.pollers.is_absent()) {
        return Err(scaling.error("ScalingConfig and ProvisionedPollerConfig cannot be combined"));
    }
    for name in ["ProvisionedPollerConfig", "MetricsConfig"] {
        if properties.node.get(name).is_some() {
            let of = [format!("{name} of the mapping from "), format!("{name} of the mappings from ")];
            notes.add([&of[0], &of[1]], &format!("{} to {function}", queue.name), ["", ""]);
        }
    }
    Ok(MappingConfig {
        queue: queue.name.clone(),
        function,
        batch_size: batch_size as usize,
        window,
        maximum_concurrency: known.maximum_concurrency.there().map(|most| *most as usize),
        report_batch_item_failures: reports_failures(properties)?,
        filters,
        enabled: known.enabled.unwrap_or(true),
    })
}

fn reports_failures(properties: Properties<'_>) -> Result<bool> {
    let types = properties.part("FunctionResponseTypes")?;
    let types = types.and_then(|types| types.node.as_list()).unwrap_or_default();
    if let Some(why) = types.iter().find_map(Node::unknown) {
        return Err(why.clone());
    }
    match types.iter().find(|kind| kind.as_text() != Some("ReportBatchItemFailures")) {
        Some(other) => Err(other.error("FunctionResponseTypes can only be ReportBatchItemFailures")),
        None => Ok(!types.is_empty()),
    }
}

/// <https://docs.aws.amazon.com/lambda/latest/dg/with-sqs-filtering.html>
fn filters(properties: Properties<'_>) -> Result<std::result::Result<Vec<Filter>, TemplateError>> {
    let Some(criteria) = properties.part("FilterCriteria")? else { return Ok(Ok(Vec::new())) };
    if let Some(why) = criteria.node.first_unknown() {
        return Err(why.clone());
    }
    let filters = criteria.node.get("Filters").and_then(Node::as_list);
    let filters = filters.ok_or_else(|| criteria.error("FilterCriteria needs a list of Filters"))?;
    if filters.len() > MOST_FILTERS {
        return Err(criteria.error(format!("{} filters, allowed: at most {MOST_FILTERS}", filters.len())));
    }
    let text = |filter| {
        let pattern = Node::get(filter, "Pattern").unwrap_or(filter);
        let text = pattern.as_text();
        let text = text.ok_or_else(|| pattern.error("a filter needs a Pattern, which is a string"));
        text.map(|text| (pattern, text))
    };
    let patterns = filters.iter().map(text).collect::<Result<Vec<_>>>()?;
    let read = |(pattern, text): (&Node, &str)| {
        text.parse().map_err(|error| pattern.error(format!("Pattern: {error}")))
    };
    Ok(patterns.into_iter().map(read).collect())
}
