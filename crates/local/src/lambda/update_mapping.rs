//! `UpdateEventSourceMapping`.
//! <https://docs.aws.amazon.com/lambda/latest/api/API_UpdateEventSourceMapping.html>

use std::ops::RangeInclusive;
use std::time::Duration;

use redrive_sqs::{BATCH_SIZE, MAXIMUM_CONCURRENCY};
use serde_json::{Map, Value};

use super::error::{self, RESOURCE_IN_USE};
use super::request::Context;
use crate::mapping::MappingConfig;
use crate::mapping::{Filter, MOST_FILTERS};
use crate::protocol::{Answer, AwsError, Number, VALIDATION};

pub(super) fn update(context: &mut Context<'_>) -> Answer {
    let index = context.mapping()?;
    let body: Map<String, Value> = context.input()?;
    let mapping = &context.service.mappings[index];
    let mut config = mapping.config.clone();
    for (name, value) in body.iter().filter(|(_, value)| !value.is_null()) {
        match name.as_str() {
            "Enabled" => config.enabled = flag(name, value)?,
            "BatchSize" => config.batch_size = number("batchSize", value, BATCH_SIZE)?,
            "MaximumBatchingWindowInSeconds" => {
                let seconds = number("maximumBatchingWindowInSeconds", value, 0..=300)?;
                config.window = Duration::from_secs(seconds as u64);
            }
            "FunctionResponseTypes" => config.report_batch_item_failures = reports_failures(value)?,
            "FilterCriteria" => config.filters = filters(value)?,
            "FunctionName" => stays(context, value, &config.function)?,
            "ScalingConfig" => config.maximum_concurrency = scaling(value)?,
            _ => return Err(error::invalid(format!("redrive-local cannot change {name}"))),
        }
    }
    check(&config)?;
    if mapping.is_busy() {
        return Err(RESOURCE_IN_USE.error("Cannot update the event source mapping because it is in use."));
    }
    let lambda = &mut *context.service;
    lambda.revision += 1;
    lambda.mappings[index].change(config, context.now);
    let described = lambda.mappings[index].describe(lambda, context.clock);
    context.output(&described)
}

/// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-parameters.html>
fn check(config: &MappingConfig) -> Result<(), AwsError> {
    let MappingConfig { queue, batch_size, window, .. } = config;
    let fifo = redrive_sqs::is_fifo(queue);
    if fifo && *batch_size > 10 {
        return Err(error::invalid(format!("Batch size {batch_size} is above 10, the limit of FIFO queues")));
    }
    if fifo && !window.is_zero() {
        return Err(error::invalid("Batching window is not supported for FIFO queues"));
    }
    if *batch_size > 10 && window.is_zero() {
        return Err(error::invalid(
            "Maximum batch window in seconds must be greater than 0 if maximum batch size is greater than 10",
        ));
    }
    Ok(())
}

fn flag(name: &str, value: &Value) -> Result<bool, AwsError> {
    value.as_bool().ok_or_else(|| error::unreadable(format!("{name} must be a boolean")))
}

fn number(member: &str, value: &Value, allowed: RangeInclusive<u32>) -> Result<usize, AwsError> {
    match value.as_i64() {
        Some(number) => Ok(VALIDATION.within(Number(number as f64), member, allowed)? as usize),
        None => Err(error::unreadable(format!("{member} must be an integer"))),
    }
}

fn reports_failures(value: &Value) -> Result<bool, AwsError> {
    let types = value.as_array().ok_or_else(|| error::unreadable("FunctionResponseTypes must be a list"))?;
    match types.iter().find(|kind| kind.as_str() != Some("ReportBatchItemFailures")) {
        Some(_) => Err(VALIDATION.constraint(
            value,
            "functionResponseTypes",
            "satisfy constraint: [Member must satisfy enum value set: [ReportBatchItemFailures]]",
        )),
        None => Ok(!types.is_empty()),
    }
}

/// Reads the filters. An empty value removes all of them.
fn filters(value: &Value) -> Result<Vec<Filter>, AwsError> {
    let filters = value.get("Filters").and_then(Value::as_array).cloned().unwrap_or_default();
    if filters.len() > MOST_FILTERS {
        return Err(error::invalid(format!("{} filters, allowed: at most {MOST_FILTERS}", filters.len())));
    }
    let filter = |filter: &Value| {
        let pattern = filter.get("Pattern").and_then(Value::as_str).unwrap_or_default();
        pattern.parse().map_err(|error| error::invalid(format!("Invalid filter pattern definition. {error}")))
    };
    filters.iter().map(filter).collect()
}

/// Reads the maximum concurrency. An empty value removes the limit.
fn scaling(value: &Value) -> Result<Option<usize>, AwsError> {
    let empty = Map::new();
    match value.as_object().unwrap_or(&empty).get("MaximumConcurrency").filter(|limit| !limit.is_null()) {
        Some(limit) => number("scalingConfig.maximumConcurrency", limit, MAXIMUM_CONCURRENCY).map(Some),
        None => Ok(None),
    }
}

fn stays(context: &Context<'_>, value: &Value, function: &str) -> Result<(), AwsError> {
    let given = value.as_str().unwrap_or_default();
    match context.find_function(given, None) {
        Ok(found) if found.config.name == function => Ok(()),
        Ok(_) => Err(error::invalid("redrive-local cannot change the function of a mapping")),
        Err(_) => Err(error::invalid("Function does not exist")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::client;

    #[test]
    fn a_change_is_said_at_once_and_holds_when_it_has_settled() {
        let mut client = client();
        for (body, at_first, at_last) in [
            (json!({ "Enabled": false }), "Disabling", "Disabled"),
            (json!({ "Enabled": false }), "Updating", "Disabled"),
            (json!({ "Enabled": true }), "Enabling", "Enabled"),
            (json!({ "BatchSize": 5 }), "Updating", "Enabled"),
        ] {
            assert_eq!(client.update(&body)["State"], at_first, "{body}");
            assert_eq!(client.mapping()["State"], at_first, "{body}");
            client.settle();
            assert_eq!(client.mapping()["State"], at_last, "{body}");
        }
        assert_eq!(client.state.revision(), 4);
    }

    #[test]
    fn an_update_keeps_missing_members_and_clears_empty_ones() {
        let mut client = client();
        let body = json!({
            "BatchSize": 100, "MaximumBatchingWindowInSeconds": 5, "ScalingConfig": { "MaximumConcurrency": 7 },
            "FunctionResponseTypes": [], "FilterCriteria": { "Filters": [{ "Pattern": "{\"body\":[\"a\"]}" }] },
            "FunctionName": "worker",
        });
        let changed = client.update(&body);
        for (name, value) in body.as_object().unwrap().iter().filter(|(name, _)| *name != "FunctionName") {
            assert_eq!(changed[name], *value, "{name}");
        }
        client.settle();
        let changed = client.update(&json!({
            "ScalingConfig": {}, "FilterCriteria": {}, "FunctionResponseTypes": ["ReportBatchItemFailures"],
        }));
        assert_eq!((changed.get("ScalingConfig"), changed.get("FilterCriteria")), (None, None));
        assert_eq!(changed["FunctionResponseTypes"], json!(["ReportBatchItemFailures"]));
        assert_eq!(changed["BatchSize"], 100);
    }

    #[test]
    fn a_refused_update_has_lambdas_words_and_changes_nothing() {
        let mut client = client();
        let before = client.mapping();
        let value = |value: i64, member: &str, than: &str| {
            format!(
                "1 validation error detected: Value '{value}' at '{member}' failed to satisfy constraint: Member must \
                 have value {than}"
            )
        };
        for (body, message) in [
            (json!({ "BatchSize": 0 }), value(0, "batchSize", "greater than or equal to 1")),
            (json!({ "BatchSize": 10_001 }), value(10_001, "batchSize", "less than or equal to 10000")),
            (
                json!({ "ScalingConfig": { "MaximumConcurrency": 1 } }),
                value(1, "scalingConfig.maximumConcurrency", "greater than or equal to 2"),
            ),
            (
                json!({ "MaximumBatchingWindowInSeconds": 301 }),
                value(301, "maximumBatchingWindowInSeconds", "less than or equal to 300"),
            ),
            (
                json!({ "BatchSize": 11 }),
                "Maximum batch window in seconds must be greater than 0 if maximum batch size is greater than 10"
                    .to_owned(),
            ),
            (json!({ "FunctionName": "cook" }), "Function does not exist".to_owned()),
            (
                json!({ "TumblingWindowInSeconds": 3 }),
                "redrive-local cannot change TumblingWindowInSeconds".to_owned(),
            ),
        ] {
            let path = client.path(0);
            let (status, _, said) = client.refuses("PUT", &path, &body.to_string());
            assert_eq!((status, said), (400, message));
        }
        let fifo = client.path(1);
        for body in [json!({ "BatchSize": 11 }), json!({ "MaximumBatchingWindowInSeconds": 1 })] {
            let (status, shape, _) = client.refuses("PUT", &fifo, &body.to_string());
            assert_eq!((status, shape.as_str()), (400, "InvalidParameterValueException"));
        }
        assert_eq!((client.mapping(), client.state.revision()), (before, 0));
    }

    #[test]
    fn a_mapping_that_is_changing_takes_no_other_change() {
        let mut client = client();
        client.update(&json!({ "Enabled": false }));
        let path = client.path(0);
        let (status, shape, said) = client.refuses("PUT", &path, "{\"Enabled\":true}");
        assert_eq!((status, shape.as_str()), (400, "ResourceInUseException"));
        assert_eq!(said, "Cannot update the event source mapping because it is in use.");
    }
}
