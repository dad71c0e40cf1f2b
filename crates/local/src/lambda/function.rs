//! A function as clients see it.

use std::time::SystemTime;

use humantime::format_rfc3339_millis;
use serde_json::{Value, json};
use uuid::Uuid;

use super::Lambda;
use crate::clock::ClientClock;
use crate::runtime_api::FunctionConfig;

/// <https://docs.aws.amazon.com/lambda/latest/api/API_FunctionConfiguration.html>
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

    pub(super) fn describe(&self, lambda: &Lambda, clock: ClientClock) -> Value {
        let FunctionConfig { name, command, environment, timeout, memory_mb, .. } = &self.config;
        let created = format_rfc3339_millis(clock.to_client(self.created)).to_string();
        let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "x86_64" };
        let mut function = json!({
            "FunctionName": name,
            "FunctionArn": lambda.function_arn(name),
            "Runtime": "provided.al2023",
            "Role": format!("arn:aws:iam::{}:role/{name}", lambda.account),
            "Handler": command.file_name().unwrap_or_default().to_string_lossy(),
            // 0 if the executable has been removed since.
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
