//! Functions and what invokes them: SAM's `Events`, and plain event source mappings.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use redrive_local::{FunctionConfig, MappingConfig, QueueConfig};

use super::{Build, queues};
use crate::template::document::{Node, TemplateError};
use crate::template::properties::Properties;
use crate::template::resolve::{Resolver, Resource};

type Result<T> = std::result::Result<T, TemplateError>;

/// The functions that a queue invokes; others have nothing to do here and are left out.
pub(super) fn read(
    resolver: &Resolver<'_>,
    queues: &[QueueConfig],
) -> Result<(Vec<FunctionConfig>, Vec<Build>, Vec<MappingConfig>)> {
    let globals = resolver.globals("Function")?;
    let resources = resolver.resources(&["AWS::Serverless::Function", "AWS::Lambda::Function"])?;
    let mut mappings = plain_mappings(resolver, queues)?;
    for resource in &resources {
        let events = resource.properties.get("Events").map(Node::entries).unwrap_or_default();
        for (_, event) in
            events.iter().filter(|(_, event)| event.get("Type").and_then(Node::as_text) == Some("SQS"))
        {
            let properties = event.get("Properties").ok_or_else(|| event.error("Properties is missing"))?;
            mappings.push(mapping(
                Properties::new(&resource.id, properties),
                "Queue",
                resource.name.clone(),
                queues,
            )?);
        }
    }
    let (mut functions, mut builds) = (Vec::new(), Vec::new());
    for resource in resources.iter().filter(|resource| mappings.iter().any(|m| m.function == resource.name)) {
        let globals = globals.as_ref().filter(|_| resource.kind == "AWS::Serverless::Function");
        functions.push(function(resource, globals)?);
        builds.push(build(resource, globals)?);
    }
    if let Some(mapping) =
        mappings.iter().find(|mapping| !functions.iter().any(|f| f.name == mapping.function))
    {
        let message = format!("the function {} is not in this template", mapping.function);
        return Err(TemplateError { line: 1, message });
    }
    Ok((functions, builds, mappings))
}

/// <https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/sam-resource-function.html>
fn function(resource: &Resource, globals: Option<&Node>) -> Result<FunctionConfig> {
    let own = Properties::new(&resource.id, &resource.properties);
    let globals = globals.map(|globals| Properties::new("Globals.Function", globals));
    let timeout = match own.seconds("Timeout", 1..=900)? {
        Some(timeout) => Some(timeout),
        None => globals.map(|globals| globals.seconds("Timeout", 1..=900)).transpose()?.flatten(),
    };
    let memory = match own.whole("MemorySize", 128..=10_240)? {
        Some(memory) => Some(memory),
        None => globals.map(|globals| globals.whole("MemorySize", 128..=10_240)).transpose()?.flatten(),
    };
    let mut environment = BTreeMap::new();
    for properties in globals.into_iter().chain([own]) {
        if let Some(variables) = properties.part("Environment").and_then(|part| part.part("Variables")) {
            environment.extend(variables.texts()?);
        }
    }
    Ok(FunctionConfig {
        name: resource.name.clone(),
        command: PathBuf::new(),
        environment,
        timeout: timeout.unwrap_or(Duration::from_secs(3)),
        reserved_concurrency: None,
        memory_mb: memory.unwrap_or(128),
        show_output: false,
    })
}

fn build(resource: &Resource, globals: Option<&Node>) -> Result<Build> {
    let own = Properties::new(&resource.id, &resource.properties).text("CodeUri")?;
    let code = match (own, globals) {
        (None, Some(globals)) => Properties::new("Globals.Function", globals).text("CodeUri")?,
        (own, _) => own,
    };
    let binary = resource
        .metadata
        .as_ref()
        .and_then(|metadata| metadata.get("BuildProperties")?.get("Binary")?.as_text());
    Ok(Build {
        function: resource.id.clone(),
        code: code.unwrap_or(".").to_owned(),
        binary: binary.map(str::to_owned),
    })
}

fn plain_mappings(resolver: &Resolver<'_>, queues: &[QueueConfig]) -> Result<Vec<MappingConfig>> {
    let resources = resolver.resources(&["AWS::Lambda::EventSourceMapping"])?;
    let of_queues = resources.iter().filter(|resource| {
        resource
            .properties
            .get("EventSourceArn")
            .and_then(Node::as_text)
            .is_some_and(|arn| arn.contains(":sqs:"))
    });
    of_queues
        .map(|resource| {
            let properties = Properties::new(&resource.id, &resource.properties);
            // A name, an ARN, or either with a version.
            let function = properties.required("FunctionName")?;
            let name = function.split_once(":function:").map_or(function, |(_, name)| name);
            let name = name.split(':').next().unwrap_or(name).to_owned();
            mapping(properties, "EventSourceArn", name, queues)
        })
        .collect()
}

/// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html>
fn mapping(
    properties: Properties<'_>,
    source: &str,
    function: String,
    queues: &[QueueConfig],
) -> Result<MappingConfig> {
    let arn = properties.required(source)?;
    let queue = queues::find(queues, arn)
        .ok_or_else(|| properties.error(format!("no such queue in this template: {arn}")))?;
    if let Some(filter) = properties.part("FilterCriteria") {
        return Err(filter.error("FilterCriteria is not supported here yet"));
    }
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
    let concurrency = match properties.part("ScalingConfig") {
        Some(scaling) => scaling.whole("MaximumConcurrency", 2..=1000)?,
        None => None,
    };
    Ok(MappingConfig {
        queue: queue.name.clone(),
        function,
        batch_size: batch_size as usize,
        window,
        // Five is where Lambda starts, and enough for a laptop.
        maximum_concurrency: concurrency.unwrap_or(5) as usize,
        report_batch_item_failures: reports_failures(properties)?,
        filters: Vec::new(),
        enabled: properties.flag("Enabled", true)?,
    })
}

fn reports_failures(properties: Properties<'_>) -> Result<bool> {
    let Some(types) = properties.part("FunctionResponseTypes") else { return Ok(false) };
    let types = types.node.as_list().unwrap_or_default();
    match types.iter().find(|kind| kind.as_text() != Some("ReportBatchItemFailures")) {
        Some(other) => Err(other.error("FunctionResponseTypes allows ReportBatchItemFailures only")),
        None => Ok(!types.is_empty()),
    }
}
