//! `GetFunction`, `GetFunctionConfiguration` and `ListFunctions`.
//! <https://docs.aws.amazon.com/lambda/latest/api/API_FunctionConfiguration.html>

use std::time::SystemTime;

use humantime::format_rfc3339_millis;
use serde_json::{Value, json};
use uuid::Uuid;

use super::Lambda;
use super::request::Context;
use crate::clock::ClientClock;
use crate::protocol::Answer;
use crate::runtime_api::FunctionConfig;

/// <https://docs.aws.amazon.com/lambda/latest/api/API_ListFunctions.html>
const LARGEST_PAGE: usize = 50;

/// A function as clients see it.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) config: FunctionConfig,
    created: SystemTime,
    revision: String,
}

impl Function {
    pub(super) fn new(config: FunctionConfig, now: SystemTime) -> Self {
        Self { config, created: now, revision: Uuid::new_v4().to_string() }
    }

    fn describe(&self, lambda: &Lambda, clock: ClientClock) -> Value {
        let FunctionConfig { name, command, environment, timeout, memory_mb, .. } = &self.config;
        let created = format_rfc3339_millis(clock.to_client(self.created)).to_string();
        let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "x86_64" };
        let mut function = json!({
            "FunctionName": name,
            "FunctionArn": lambda.function_arn(name),
            "Runtime": "provided.al2023",
            "Role": format!("arn:aws:iam::{}:role/{name}", lambda.account),
            "Handler": command.file_name().unwrap_or_default().to_string_lossy(),
            // None if it has been removed since.
            "CodeSize": std::fs::metadata(command).map_or(0, |file| file.len()),
            "Description": "",
            "Timeout": timeout.as_secs(),
            "MemorySize": memory_mb,
            "LastModified": created.replace('Z', "+0000"),
            "Version": "$LATEST",
            "TracingConfig": { "Mode": "PassThrough" },
            "RevisionId": self.revision,
            "State": "Active",
            "LastUpdateStatus": "Successful",
            "PackageType": "Zip",
            "Architectures": [architecture],
            "EphemeralStorage": { "Size": 512 },
            "SnapStart": { "ApplyOn": "None", "OptimizationStatus": "Off" },
            "LoggingConfig": { "LogFormat": "Text", "LogGroup": self.config.log_group() },
        });
        if !environment.is_empty() {
            function["Environment"] = json!({ "Variables": environment });
        }
        function
    }
}

pub(super) fn configuration(context: &mut Context<'_>) -> Answer {
    context.output(&context.function()?.describe(context.service, context.clock))
}

/// The code is told of as far as that is possible: it is a file on this machine.
pub(super) fn get(context: &mut Context<'_>) -> Answer {
    let function = context.function()?;
    let mut output = json!({
        "Configuration": function.describe(context.service, context.clock),
        "Code": { "Location": format!("file://{}", function.config.command.display()) },
        "Tags": {},
    });
    if let Some(reserved) = function.config.reserved_concurrency {
        output["Concurrency"] = json!({ "ReservedConcurrentExecutions": reserved });
    }
    context.output(&output)
}

pub(super) fn list(context: &mut Context<'_>) -> Answer {
    let functions = context.service.functions.iter();
    let described: Vec<Value> =
        functions.map(|function| function.describe(context.service, context.clock)).collect();
    context.page("Functions", described, LARGEST_PAGE)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::client;

    #[test]
    fn a_function_is_described_by_its_configuration() {
        let mut client = client();
        let said = client.get("/2015-03-31/functions/worker/configuration");
        for (name, value) in [
            ("FunctionArn", json!("arn:aws:lambda:eu-west-1:123456789012:function:worker")),
            ("Timeout", json!(3)),
            ("MemorySize", json!(128)),
            ("Runtime", json!("provided.al2023")),
            ("Handler", json!("bootstrap")),
            ("LastModified", json!("2026-11-21T12:00:00.000+0000")),
            ("Environment", json!({ "Variables": { "SHOP": "tea" } })),
            ("LoggingConfig", json!({ "LogFormat": "Text", "LogGroup": "/aws/lambda/worker" })),
        ] {
            assert_eq!(said[name], value, "{name}");
        }
        let whole = client.get("/2015-03-31/functions/worker:$LATEST");
        assert_eq!((&whole["Configuration"], whole.get("Concurrency")), (&said, None));
        let listed = client.get("/2015-03-31/functions/");
        assert_eq!(listed["Functions"][0], said);
        assert_eq!(listed["Functions"][1]["LoggingConfig"]["LogGroup"], "/desk");
    }

    #[test]
    fn a_version_is_not_found() {
        let mut client = client();
        let arn = "arn:aws:lambda:eu-west-1:123456789012:function:worker:7";
        for path in ["/2015-03-31/functions/worker?Qualifier=7", "/2015-03-31/functions/worker%3A7"] {
            let (status, shape, said) = client.refuses("GET", path, "");
            assert_eq!((status, shape.as_str()), (404, "ResourceNotFoundException"));
            assert_eq!(said, format!("Function not found: {arn}"));
        }
    }
}
