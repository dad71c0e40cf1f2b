//! Functions: what they run with, and how their executables are made.

use std::path::PathBuf;
use std::time::Duration;

use redrive_local::{FunctionConfig, MappingConfig, QueueConfig};

use super::{Build, Notes, mappings};
use crate::template::document::{Node, TemplateError};
use crate::template::properties::Properties;
use crate::template::resolve::{Resolver, Resource};

type Result<T> = std::result::Result<T, TemplateError>;

/// What makes a function another one than a process per invocation.
const IMPOSSIBLE: [&str; 2] = ["CapacityProviderConfig", "DurableConfig"];

/// What a function would miss here.
const MISSED: [&str; 2] = ["FileSystemConfigs", "Layers"];

/// The functions that a queue invokes, how they are made, and what invokes them.
pub(super) fn read(
    resolver: &Resolver<'_>,
    queues: &[QueueConfig],
    notes: &mut Notes,
) -> Result<(Vec<FunctionConfig>, Vec<Build>, Vec<MappingConfig>)> {
    let globals = resolver.globals("Function")?;
    let mut resources = resolver.resources(&["AWS::Serverless::Function", "AWS::Lambda::Function"])?;
    for resource in resources.iter_mut().filter(|resource| resource.kind == "AWS::Serverless::Function") {
        if let Some(globals) = &globals {
            with_globals(resource, globals);
        }
    }
    let mut mappings = mappings::plain(resolver, queues, notes)?;
    for resource in &resources {
        mappings.extend(mappings::of_function(resource, queues, notes)?);
    }
    let (mut functions, mut builds) = (Vec::new(), Vec::new());
    for resource in &resources {
        if mappings.iter().any(|mapping| mapping.function == resource.name) {
            functions.push(function(resource, notes)?);
            builds.push(build(resource)?);
        } else {
            notes.add(format!("no queue feeds function {}", resource.id));
        }
    }
    if let Some(mapping) =
        mappings.iter().find(|mapping| !functions.iter().any(|f| f.name == mapping.function))
    {
        let message = format!("the function {} is not in this template", mapping.function);
        return Err(TemplateError { line: 1, message });
    }
    Ok((functions, builds, mappings))
}

/// <https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/sam-specification-template-anatomy-globals.html>
pub(crate) fn with_globals(resource: &mut Resource, globals: &Node) {
    let ignored = |name: &str| match &resource.ignored_globals {
        Some(ignored) => {
            ignored.as_text() == Some("*")
                || ignored.as_list().unwrap_or_default().iter().any(|item| item.as_text() == Some(name))
        }
        None => false,
    };
    resource.properties = resource.properties.over(&globals.without(ignored));
}

/// <https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/sam-resource-function.html>
fn function(resource: &Resource, notes: &mut Notes) -> Result<FunctionConfig> {
    let properties = Properties::new(&resource.id, &resource.properties);
    for name in IMPOSSIBLE {
        if let Some(part) = properties.part(name) {
            return Err(part.error(format!("functions with a {name} cannot run here")));
        }
    }
    for name in MISSED {
        if properties.part(name).is_some() {
            notes.add(format!("{name} of function {}", resource.id));
        }
    }
    let environment = properties.part("Environment").and_then(|part| part.part("Variables"));
    let reserved = properties.whole("ReservedConcurrentExecutions", 0..=u32::MAX)?;
    Ok(FunctionConfig {
        name: resource.name.clone(),
        command: PathBuf::new(),
        environment: environment.map(Properties::texts).transpose()?.unwrap_or_default(),
        timeout: properties.seconds("Timeout", 1..=900)?.unwrap_or(Duration::from_secs(3)),
        reserved_concurrency: reserved.map(|reserved| reserved as usize),
        memory_mb: properties.whole("MemorySize", 128..=10_240)?.unwrap_or(128),
        show_output: false,
        log_group: properties
            .part("LoggingConfig")
            .map(|part| part.text("LogGroup"))
            .transpose()?
            .flatten()
            .map(str::to_owned),
    })
}

fn build(resource: &Resource) -> Result<Build> {
    let properties = Properties::new(&resource.id, &resource.properties);
    let metadata = resource.metadata.as_ref();
    let metadata_text = |path: &[&str]| {
        let node = path.iter().try_fold(metadata?, |node, name| node.get(name));
        node.and_then(Node::as_text).map(str::to_owned)
    };
    // SAM calls it CodeUri, CloudFormation Code.
    let code = if properties.node.get("CodeUri").is_some() { "CodeUri" } else { "Code" };
    Ok(Build {
        function: resource.id.clone(),
        name: resource.name.clone(),
        code: properties.node.get(code).map_or(Some("."), Node::as_text).map(str::to_owned),
        method: metadata_text(&["BuildMethod"]),
        binary: metadata_text(&["BuildProperties", "Binary"]),
        handler: properties.text("Handler")?.map(str::to_owned),
        runtime: properties.text("Runtime")?.map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::tests::QUEUE;
    use crate::template::tests::{error_of, stack_of};

    #[test]
    fn a_function_has_its_own_properties_before_the_globals() {
        let stack = stack_of(QUEUE);
        let [function] = &stack.functions[..] else { panic!("expected one function") };
        assert_eq!((function.timeout, function.memory_mb), (Duration::from_secs(20), 512));
        assert_eq!(
            (function.environment["A"].as_str(), function.environment["B"].as_str()),
            ("global", "own")
        );
        assert_eq!(
            (stack.builds[0].binary.as_deref(), stack.builds[0].code.as_deref()),
            (Some("work"), Some("."))
        );
    }

    #[test]
    fn globals_can_be_ignored_one_by_one_or_all() {
        let timeout = |ignored: &str| {
            let source =
                QUEUE.replace("    Metadata:", &format!("    IgnoreGlobals: {ignored}\n    Metadata:"));
            let function = stack_of(&source).functions.remove(0);
            (function.timeout.as_secs(), function.environment.len())
        };
        assert_eq!(timeout("[Timeout]"), (3, 2));
        assert_eq!(timeout("'*'"), (3, 1));
        assert_eq!(timeout("[Handler]"), (20, 2));
    }

    #[test]
    fn plain_cloudformation_is_read_too() {
        let stack = stack_of(
            "
Resources:
  Q: {Type: AWS::SQS::Queue}
  Work:
    Type: AWS::Lambda::Function
    Properties: {Timeout: 9, ReservedConcurrentExecutions: 4, Code: work, Handler: worker}
  Other: {Type: AWS::Lambda::Function}
  Mapping:
    Type: AWS::Lambda::EventSourceMapping
    Properties:
      EventSourceArn: !GetAtt Q.Arn
      FunctionName: !GetAtt Work.Arn
      FunctionResponseTypes: [ReportBatchItemFailures]
  Stream:
    Type: AWS::Lambda::EventSourceMapping
    Properties: {EventSourceArn: 'arn:aws:kinesis:us-east-1:1:stream/s', FunctionName: !Ref Other}
",
        );
        let [function] = &stack.functions[..] else { panic!("expected one function") };
        assert_eq!(
            (stack.mappings[0].function.as_str(), function.name.as_str()),
            ("local-Work", "local-Work")
        );
        assert_eq!((function.timeout.as_secs(), function.reserved_concurrency), (9, Some(4)));
        assert!(stack.mappings[0].report_batch_item_failures);
        let build = &stack.builds[0];
        assert_eq!((build.code.as_deref(), build.handler.as_deref()), (Some("work"), Some("worker")));
        assert_eq!(stack.notes, ["Stream has no SQS queue as its source", "no queue feeds function Other"]);
    }

    #[test]
    fn what_cannot_be_kept_is_named() {
        let with = |property: &str| QUEUE.replace("      MemorySize: 512", &format!("      {property}"));
        let durable = error_of(&with("DurableConfig: {ExecutionTimeout: 60}"));
        assert_eq!(durable, "line 12: Work: functions with a DurableConfig cannot run here");
        let layered = stack_of(&with("Layers: [a]")).notes;
        assert_eq!(layered, ["event Api of Work is of type HttpApi", "Layers of function Work"]);
    }
}
