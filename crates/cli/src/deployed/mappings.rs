//! Reads the event source mappings of queues.

use aws_sdk_lambda::types::{
    EventSourceMappingConfiguration, EventSourceMappingMetric, FunctionResponseType, ProvisionedPollerConfig,
};
use redrive_iac::deployment::{Mapping, Pollers};

use super::functions::seconds;
use super::unseen::Most;
use crate::aws::{Aws, DescribeError};
use crate::find::function_name;

/// Lambda's default batch size.
/// <https://docs.aws.amazon.com/lambda/latest/api/API_CreateEventSourceMapping.html>
const BATCH_SIZE: i32 = 10;

/// Part of Lambda's list for an account that is read.
pub(super) const MOST: Most = Most { pages: 100, on_a_page: 100 };

/// Reads the mappings of queues, for one function or for all, and whether there are more.
pub(super) async fn read(aws: &Aws, function: Option<&str>) -> anyhow::Result<(Vec<Mapping>, bool)> {
    let doing = match function {
        Some(function) => format!("read the event source mappings of {function}"),
        None => "list the event source mappings".to_owned(),
    };
    let list = aws.lambda().list_event_source_mappings().set_function_name(function.map(str::to_owned));
    let mut pages = list.max_items(MOST.on_a_page).into_paginator().send();
    let read = MOST.read(async || pages.next().await).await;
    let (pages, is_cut) = read.describe_error_in(&aws.here(), &doing, "lambda:ListEventSourceMappings")?;
    let all = pages.iter().flat_map(|page| page.event_source_mappings());
    let of_queues = all.filter(|mapping| is_of_queue(mapping));
    Ok((of_queues.map(|configuration| mapping(configuration, function)).collect(), is_cut))
}

fn is_of_queue(mapping: &EventSourceMappingConfiguration) -> bool {
    mapping.event_source_arn().is_some_and(|arn| arn.contains(":sqs:"))
}

fn pollers(found: &ProvisionedPollerConfig) -> Pollers {
    let number = |number: Option<i32>| number.and_then(|number| u32::try_from(number).ok()).into();
    Pollers::new(number(found.minimum_pollers()), number(found.maximum_pollers()))
}

fn mapping(found: &EventSourceMappingConfiguration, function: Option<&str>) -> Mapping {
    let scaling = found.scaling_config().and_then(|scaling| scaling.maximum_concurrency());
    let reports = found.function_response_types().contains(&FunctionResponseType::ReportBatchItemFailures);
    let filters = found.filter_criteria().map(|criteria| criteria.filters()).unwrap_or_default();
    Mapping {
        queue_arn: found.event_source_arn().map(str::to_owned),
        function: found.function_arn().map(function_name).or(function).map(str::to_owned),
        batch_size: u32::try_from(found.batch_size().unwrap_or(BATCH_SIZE)).ok(),
        window: seconds(found.maximum_batching_window_in_seconds().unwrap_or(0)),
        maximum_concurrency: scaling.and_then(|count| u32::try_from(count).ok()).into(),
        pollers: found.provisioned_poller_config().map(pollers).into(),
        reports_batch_item_failures: Some(reports),
        filters: filters.iter().filter_map(|filter| filter.pattern().map(str::to_owned)).collect(),
        counts_events: Some(
            found
                .metrics_config()
                .is_some_and(|config| config.metrics().contains(&EventSourceMappingMetric::EventCount)),
        ),
        enabled: Some(!matches!(found.state(), Some("Disabled" | "Disabling"))),
        lacks: None,
        // Lambda does not allow these settings for a queue.
        of_streams: Vec::new(),
        line: None,
        id: found.uuid().unwrap_or_default().to_owned(),
    }
}
