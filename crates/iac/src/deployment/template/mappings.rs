//! Reads event source mappings of SQS queues, from SAM's `Events` and as resources.

use std::time::Duration;

use super::super::{Mapping, Pollers, Seen};
use super::look::{Look, Notes};
use crate::deployment::{function_name, not_an_arn};
use crate::{Node, Resolver, Resource, scalar};

/// Properties that Lambda accepts for streams and topics of Kafka only.
/// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-parameters.html>
const OF_STREAMS: [&str; 6] = [
    "MaximumRetryAttempts",
    "MaximumRecordAgeInSeconds",
    "BisectBatchOnFunctionError",
    "DestinationConfig",
    "ParallelizationFactor",
    "TumblingWindowInSeconds",
];

/// Why resources that SAM makes are not read.
pub(super) const MADE_BY_SAM: &str = "SAM makes it at deployment";

/// Reads the mappings of queues. Returns them with the ids of mappings whose source is unknown.
pub(super) fn read(
    resolver: &Resolver<'_>,
    functions: &[Resource],
    notes: &Notes,
) -> (Vec<Mapping>, Vec<String>) {
    let resources = notes.resources(resolver, &["AWS::Lambda::EventSourceMapping"]);
    let queues = resolver.queue_ids();
    let (mut mappings, mut unknown) = (Vec::new(), Vec::new());
    // Only streams have a starting position, and only brokers have names of their queues.
    let others = [
        "StartingPosition",
        "Queues",
        "Topics",
        "SelfManagedEventSource",
        "SelfManagedKafkaEventSourceConfig",
        "AmazonManagedKafkaEventSourceConfig",
        "DocumentDBEventSourceConfig",
    ];
    for resource in resources.iter().filter(|it| others.iter().all(|name| it.properties.get(name).is_none()))
    {
        match plain(resource, &queues, notes) {
            Seen::There(mapping) => mappings.push(mapping),
            Seen::Absent => {}
            Seen::Unknown => unknown.push(resource.id.clone()),
        }
    }
    mappings.extend(functions.iter().flat_map(|function| events(function, notes)));
    (mappings, unknown)
}

/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-lambda-eventsourcemapping.html>
fn plain(resource: &Resource, queues: &[(String, String)], notes: &Notes) -> Seen<Mapping> {
    let look = Look::at(resource, notes);
    let of = |queue| {
        let function = look.text("FunctionName").there().map(|name| function_name(name).to_owned());
        mapping(look, resource.id.clone(), resource.line, queue, function)
    };
    // Without an ARN it is not known whether the source is a queue at all.
    let queue = match look.text("EventSourceArn") {
        Seen::There(queue) => queue,
        Seen::Absent => {
            return Seen::There(Mapping { lacks: Some("EventSourceArn"), ..of(None) });
        }
        Seen::Unknown => return Seen::Unknown,
    };
    if let Some(why) = not_an_arn(&queue, queues) {
        notes.add(&resource.id, format!("the queue of {}", resource.id), why);
        return Seen::Unknown;
    }
    if !queue.contains(":sqs:") {
        return Seen::Absent;
    }
    Seen::There(of(Some(queue)))
}

/// <https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/sam-property-function-sqs.html>
fn events(function: &Resource, notes: &Notes) -> Vec<Mapping> {
    let mut mappings = Vec::new();
    let Seen::There(events) = Look::at(function, notes).part("Events") else { return mappings };
    for (name, event) in events.node.entries() {
        let kind = event.get("Type").and_then(Node::unknown);
        if let Some(why) = event.unknown().or(kind) {
            notes.add(&function.id, format!("the event {}.{name}", function.id), &why.message);
        }
        let id = format!("{}.{name}", function.id);
        made_by_sam(event, &id, notes);
        if event.text_at("Type") != Some("SQS") {
            continue;
        }
        let look = Look { node: event.get("Properties").unwrap_or(event), id: &id, notes };
        let queue = look.text("Queue");
        let lacks = queue.is_absent().then_some("Queue");
        let function = Some(function.name.clone());
        mappings.push(Mapping {
            lacks,
            ..mapping(look, id.clone(), event.line, queue.there().cloned(), function)
        });
    }
    mappings
}

/// Notes a dead-letter queue, or the mapping of a subscription and its queue, that SAM makes for an event.
/// <https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/sam-property-function-sns.html>
fn made_by_sam(event: &Node, id: &str, notes: &Notes) {
    let property = |name: &str| event.get("Properties").and_then(|it| it.get(name));
    if property("DeadLetterConfig").is_some_and(|it| it.get("Type").is_some() && it.get("Arn").is_none()) {
        notes.add(id, format!("the dead-letter queue that SAM makes for {id}"), MADE_BY_SAM);
    }
    let subscription = property("SqsSubscription");
    let is_off = |it: &Node| it.as_text().and_then(scalar::flag) == Some(false);
    if event.text_at("Type") == Some("SNS") && subscription.is_some_and(|it| !is_off(it)) {
        let has_queue = subscription.is_some_and(|it| it.get("QueueArn").is_some());
        let made = if has_queue { "the mapping" } else { "the queue and the mapping" };
        notes.add(id, format!("{made} that SAM makes for {id}"), MADE_BY_SAM);
    }
}

fn mapping(
    look: Look<'_>,
    id: String,
    line: usize,
    queue_arn: Option<String>,
    function: Option<String>,
) -> Mapping {
    Mapping {
        queue_arn,
        function,
        batch_size: look.number("BatchSize").or(10),
        window: look.seconds("MaximumBatchingWindowInSeconds").or(Duration::ZERO),
        maximum_concurrency: look.part("ScalingConfig").and_then(|it| it.number("MaximumConcurrency")),
        pollers: look.part("ProvisionedPollerConfig").and_then(|config| {
            let number = |name: &str| config.number(name);
            Seen::There(Pollers::new(number("MinimumPollers"), number("MaximumPollers")))
        }),
        reports_batch_item_failures: has(
            Seen::There(look),
            "FunctionResponseTypes",
            "ReportBatchItemFailures",
        ),
        filters: filters(look),
        counts_events: has(look.part("MetricsConfig"), "Metrics", "EventCount"),
        enabled: look.flag("Enabled").or(true),
        lacks: None,
        of_streams: OF_STREAMS.into_iter().filter(|name| look.node.get(name).is_some()).collect(),
        line: Some(line),
        id,
    }
}

/// Returns true if the list of this name has an item, or `None` if that is unknown.
fn has(look: Seen<Look<'_>>, name: &str, item: &str) -> Option<bool> {
    look.map_or(false, |look| {
        let items = look.texts(name);
        let has = items.iter().flatten().any(|it| it == item);
        (has || items.iter().all(Option::is_some)).then_some(has)
    })
}

fn filters(look: Look<'_>) -> Vec<String> {
    let Seen::There(criteria) = look.part("FilterCriteria") else { return Vec::new() };
    let Seen::There(filters) = criteria.part("Filters") else { return Vec::new() };
    let pattern = |filter| Look { node: filter, ..look }.text("Pattern").there().cloned();
    filters.items().iter().filter_map(pattern).collect()
}
