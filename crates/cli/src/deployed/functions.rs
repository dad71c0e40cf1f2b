//! Reads a function from Lambda.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_sdk_lambda::operation::get_function_configuration::GetFunctionConfigurationOutput;
use redrive_iac::deployment::{ASYNCHRONOUS_LIMITS, Function, Process, Seen};

use super::unseen::Unseen;
use crate::aws::{Aws, DescribeError, code_of};

/// # Errors
/// The function does not exist, or permission to read its configuration is missing.
pub(super) async fn read(aws: &Aws, name: &str, unseen: &mut Unseen) -> anyhow::Result<Function> {
    let configuration = aws.lambda().get_function_configuration().function_name(name).send().await;
    let doing = format!("read the function {name}");
    let configuration =
        configuration.describe_error_in(&aws.here(), &doing, "lambda:GetFunctionConfiguration")?;
    let reserved = unseen.or_note(&format!("the reserved concurrency of {name}"), reserved(aws, name).await);
    let environment = environment(&configuration);
    if environment.is_none() {
        unseen.add(format!("the environment of {name}: Lambda could not decrypt it"));
    }
    let invokes = asynchronous(aws, name).await;
    let invokes = unseen.or_note(&format!("the destinations of {name}"), invokes).flatten();
    let (destination, limits) = invokes.unwrap_or_default();
    let own = configuration.dead_letter_config().and_then(|config| config.target_arn()).map(str::to_owned);
    let image_config = configuration.image_config_response().and_then(|it| it.image_config());
    Ok(Function {
        name: configuration.function_name().unwrap_or(name).to_owned(),
        runtime: configuration.runtime().map(|runtime| runtime.as_str().to_owned()),
        timeout: configuration.timeout().and_then(seconds),
        memory: configuration.memory_size().and_then(|memory| memory.try_into().ok()),
        reserved_concurrency: reserved.map_or(Seen::Unknown, Seen::from),
        has_layers: Some(!configuration.layers().is_empty()),
        entry_point: image_config.map(|image| image.entry_point().join(" ")).filter(|it| !it.is_empty()),
        has_capacity_provider: configuration.capacity_provider_config().is_some(),
        process: Process { environment, ..Process::default() },
        asynchronous_dead_letters: own.into_iter().chain(destination).collect(),
        asynchronous_limits: limits,
        id: name.to_owned(),
        ..Function::default()
    })
}

pub(super) fn seconds(number: i32) -> Option<Duration> {
    u64::try_from(number).ok().map(Duration::from_secs)
}

fn environment(configuration: &GetFunctionConfigurationOutput) -> Option<BTreeMap<String, Option<String>>> {
    let Some(environment) = configuration.environment() else { return Some(BTreeMap::new()) };
    if environment.error().is_some() {
        return None;
    }
    let variables = environment.variables().into_iter().flatten();
    Some(variables.map(|(name, value)| (name.clone(), Some(value.clone()))).collect())
}

async fn reserved(aws: &Aws, name: &str) -> anyhow::Result<Option<u32>> {
    let read = aws.lambda().get_function_concurrency().function_name(name).send().await;
    let read =
        read.describe_error(&format!("read the concurrency of {name}"), "lambda:GetFunctionConcurrency")?;
    Ok(read.reserved_concurrent_executions.and_then(|count| count.try_into().ok()))
}

/// Reads the destination of failed asynchronous invocations, and the settings that limit their retries, if there are any.
async fn asynchronous(aws: &Aws, name: &str) -> anyhow::Result<Option<(Option<String>, Vec<&'static str>)>> {
    let read = aws.lambda().get_function_event_invoke_config().function_name(name).send().await;
    if read.as_ref().is_err_and(|error| code_of(error) == Some("ResourceNotFoundException")) {
        return Ok(None);
    }
    let read = read
        .describe_error(&format!("read the destinations of {name}"), "lambda:GetFunctionEventInvokeConfig")?;
    let set = [read.maximum_retry_attempts.is_some(), read.maximum_event_age_in_seconds.is_some()];
    let limits = ASYNCHRONOUS_LIMITS.into_iter().zip(set).filter(|(_, is_set)| *is_set);
    let limits = limits.map(|(name, _)| name).collect();
    let failed = read.destination_config.and_then(|destinations| destinations.on_failure);
    Ok(Some((failed.and_then(|failed| failed.destination), limits)))
}
