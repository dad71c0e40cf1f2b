//! `UpdateEventSourceMapping`.
//! <https://docs.aws.amazon.com/lambda/latest/api/API_UpdateEventSourceMapping.html>

use std::time::Duration;

use serde_json::{Map, Value};

use super::refusal::Refusal;
use super::request::Asked;
use crate::mapping::MappingConfig;
use crate::mapping::{Filter, MOST_FILTERS};

/// Where Lambda begins without a limit, and enough for a laptop.
const WITHOUT_LIMIT: usize = 5;

pub(super) fn update(asked: &mut Asked<'_>) -> Result<Value, Refusal> {
    let index = asked.mapping()?;
    let body = asked.body()?;
    let mapping = &asked.lambda.mappings[index];
    let (mut config, mut unlimited) = (mapping.config.clone(), mapping.unlimited);
    for (name, value) in body.iter().filter(|(_, value)| !value.is_null()) {
        match name.as_str() {
            "Enabled" => config.enabled = flag(name, value)?,
            "BatchSize" => config.batch_size = number("batchSize", value, 1, 10_000)?,
            "MaximumBatchingWindowInSeconds" => {
                let seconds = number("maximumBatchingWindowInSeconds", value, 0, 300)?;
                config.window = Duration::from_secs(seconds as u64);
            }
            "FunctionResponseTypes" => config.report_batch_item_failures = reports_failures(value)?,
            "FilterCriteria" => config.filters = filters(value)?,
            "FunctionName" => stays(asked, value, &config.function)?,
            "ScalingConfig" => {
                let limit = scaling(value)?;
                unlimited = limit.is_none();
                config.maximum_concurrency = limit.unwrap_or(WITHOUT_LIMIT);
            }
            _ => return Err(Refusal::invalid(format!("{name} is nothing that redrive-local can change"))),
        }
    }
    check(&config)?;
    if mapping.is_busy() {
        return Err(Refusal::in_use("Cannot update the event source mapping because it is in use."));
    }
    let lambda = &mut *asked.lambda;
    lambda.revision += 1;
    lambda.mappings[index].change(config, asked.now);
    lambda.mappings[index].unlimited = unlimited;
    Ok(lambda.mappings[index].describe(lambda, asked.clock))
}

/// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-parameters.html>
fn check(config: &MappingConfig) -> Result<(), Refusal> {
    let MappingConfig { queue, batch_size, window, .. } = config;
    let fifo = queue.ends_with(".fifo");
    if fifo && *batch_size > 10 {
        return Err(Refusal::invalid(format!(
            "Batch size {batch_size} is above 10, the limit of FIFO queues"
        )));
    }
    if fifo && !window.is_zero() {
        return Err(Refusal::invalid("Batching window is not supported for FIFO queues"));
    }
    if *batch_size > 10 && window.is_zero() {
        return Err(Refusal::invalid(
            "Maximum batch window in seconds must be greater than 0 if maximum batch size is greater than 10",
        ));
    }
    Ok(())
}

fn flag(name: &str, value: &Value) -> Result<bool, Refusal> {
    value.as_bool().ok_or_else(|| Refusal::unreadable(format!("{name} is no boolean")))
}

fn number(member: &str, value: &Value, least: u64, most: u64) -> Result<usize, Refusal> {
    match value.as_i64().map(u64::try_from) {
        Some(Ok(number)) if number > most => {
            Err(Refusal::constraint(number, member, format!("have value less than or equal to {most}")))
        }
        Some(Ok(number)) if number >= least => Ok(number as usize),
        Some(_) => {
            Err(Refusal::constraint(value, member, format!("have value greater than or equal to {least}")))
        }
        None => Err(Refusal::unreadable(format!("{member} is no whole number"))),
    }
}

fn reports_failures(value: &Value) -> Result<bool, Refusal> {
    let types = value.as_array().ok_or_else(|| Refusal::unreadable("FunctionResponseTypes is no list"))?;
    match types.iter().find(|kind| kind.as_str() != Some("ReportBatchItemFailures")) {
        Some(_) => Err(Refusal::constraint(
            value,
            "functionResponseTypes",
            "satisfy constraint: [Member must satisfy enum value set: [ReportBatchItemFailures]]",
        )),
        None => Ok(!types.is_empty()),
    }
}

/// An empty one takes the filters away.
fn filters(value: &Value) -> Result<Vec<Filter>, Refusal> {
    let filters = value.get("Filters").and_then(Value::as_array).cloned().unwrap_or_default();
    if filters.len() > MOST_FILTERS {
        return Err(Refusal::invalid(format!("{} filters are more than {MOST_FILTERS}", filters.len())));
    }
    let filter = |filter: &Value| {
        let pattern = filter.get("Pattern").and_then(Value::as_str).unwrap_or_default();
        pattern
            .parse()
            .map_err(|error| Refusal::invalid(format!("Invalid filter pattern definition. {error}")))
    };
    filters.iter().map(filter).collect()
}

/// An empty one takes the limit away.
fn scaling(value: &Value) -> Result<Option<usize>, Refusal> {
    let empty = Map::new();
    match value.as_object().unwrap_or(&empty).get("MaximumConcurrency").filter(|limit| !limit.is_null()) {
        Some(limit) => number("scalingConfig.maximumConcurrency", limit, 2, 1_000).map(Some),
        None => Ok(None),
    }
}

fn stays(asked: &Asked<'_>, value: &Value, function: &str) -> Result<(), Refusal> {
    let given = value.as_str().unwrap_or_default();
    match asked.find_function(given, None) {
        Ok(found) if found.config.name == function => Ok(()),
        Ok(_) => Err(Refusal::invalid("redrive-local gives no mapping another function")),
        Err(_) => Err(Refusal::invalid("Function does not exist")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::World;

    #[test]
    fn a_change_is_said_at_once_and_holds_when_it_has_settled() {
        let mut world = World::new();
        for (body, at_first, at_last) in [
            (json!({ "Enabled": false }), "Disabling", "Disabled"),
            (json!({ "Enabled": false }), "Updating", "Disabled"),
            (json!({ "Enabled": true }), "Enabling", "Enabled"),
            (json!({ "BatchSize": 5 }), "Updating", "Enabled"),
        ] {
            assert_eq!(world.update(&body)["State"], at_first, "{body}");
            assert_eq!(world.mapping()["State"], at_first, "{body}");
            world.settle();
            assert_eq!(world.mapping()["State"], at_last, "{body}");
        }
        assert_eq!(world.lambda.revision(), 4);
    }

    #[test]
    fn what_is_not_mentioned_stays_and_an_empty_part_takes_its_values_away() {
        let mut world = World::new();
        let body = json!({
            "BatchSize": 100, "MaximumBatchingWindowInSeconds": 5, "ScalingConfig": { "MaximumConcurrency": 7 },
            "FunctionResponseTypes": [], "FilterCriteria": { "Filters": [{ "Pattern": "{\"body\":[\"a\"]}" }] },
            "FunctionName": "worker",
        });
        let changed = world.update(&body);
        for (name, value) in body.as_object().unwrap().iter().filter(|(name, _)| *name != "FunctionName") {
            assert_eq!(changed[name], *value, "{name}");
        }
        world.settle();
        let changed = world.update(&json!({
            "ScalingConfig": {}, "FilterCriteria": {}, "FunctionResponseTypes": ["ReportBatchItemFailures"],
        }));
        assert_eq!((changed.get("ScalingConfig"), changed.get("FilterCriteria")), (None, None));
        assert_eq!(changed["FunctionResponseTypes"], json!(["ReportBatchItemFailures"]));
        assert_eq!(changed["BatchSize"], 100);
    }

    #[test]
    fn what_lambda_refuses_is_refused_in_its_words_and_changes_nothing() {
        let mut world = World::new();
        let before = world.mapping();
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
                "TumblingWindowInSeconds is nothing that redrive-local can change".to_owned(),
            ),
        ] {
            let path = world.path(0);
            let (status, _, said) = world.refused("PUT", &path, &body.to_string());
            assert_eq!((status, said), (400, message));
        }
        let fifo = world.path(1);
        for body in [json!({ "BatchSize": 11 }), json!({ "MaximumBatchingWindowInSeconds": 1 })] {
            let (status, shape, _) = world.refused("PUT", &fifo, &body.to_string());
            assert_eq!((status, shape.as_str()), (400, "InvalidParameterValueException"));
        }
        assert_eq!((world.mapping(), world.lambda.revision()), (before, 0));
    }

    #[test]
    fn a_mapping_that_is_changing_takes_no_other_change() {
        let mut world = World::new();
        world.update(&json!({ "Enabled": false }));
        let path = world.path(0);
        let (status, shape, said) = world.refused("PUT", &path, "{\"Enabled\":true}");
        assert_eq!((status, shape.as_str()), (400, "ResourceInUseException"));
        assert_eq!(said, "Cannot update the event source mapping because it is in use.");
    }
}
