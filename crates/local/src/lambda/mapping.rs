//! An event source mapping as clients see it.

use std::time::SystemTime;

use serde_json::{Value, json};
use uuid::Uuid;

use super::Lambda;
use crate::clock::ClientClock;
use crate::mapping::MappingConfig;

/// An event source mapping, with its present configuration and a change under way.
#[derive(Debug)]
pub(crate) struct EventSourceMapping {
    pub(super) id: String,
    pub(crate) config: MappingConfig,
    state: MappingState,
    modified: SystemTime,
}

/// <https://docs.aws.amazon.com/lambda/latest/api/API_EventSourceMappingConfiguration.html>
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MappingState {
    Enabled,
    Disabled,
    Enabling,
    Disabling,
    Updating,
}

impl EventSourceMapping {
    pub(super) fn new(config: MappingConfig, now: SystemTime) -> Self {
        Self {
            id: Uuid::new_v4().to_string(),
            state: if config.enabled { MappingState::Enabled } else { MappingState::Disabled },
            config,
            modified: now,
        }
    }

    /// Returns true while a change is under way. No other change is accepted then.
    pub(super) fn is_busy(&self) -> bool {
        !matches!(self.state, MappingState::Enabled | MappingState::Disabled)
    }

    /// Starts a change of the configuration, which ends when the driver calls [`settle`](Self::settle).
    pub(super) fn change(&mut self, config: MappingConfig, now: SystemTime) {
        self.state = match (self.config.enabled, config.enabled) {
            (false, true) => MappingState::Enabling,
            (true, false) => MappingState::Disabling,
            (true, true) | (false, false) => MappingState::Updating,
        };
        self.config = config;
        self.modified = now;
    }

    pub(super) fn settle(&mut self, now: SystemTime) {
        if self.is_busy() {
            self.state = if self.config.enabled { MappingState::Enabled } else { MappingState::Disabled };
            self.modified = now;
        }
    }

    pub(super) fn describe(&self, lambda: &Lambda, clock: ClientClock) -> Value {
        let MappingConfig { queue, function, batch_size, window, filters, .. } = &self.config;
        let modified = clock.to_client(self.modified).duration_since(SystemTime::UNIX_EPOCH);
        let types: &[&str] =
            if self.config.report_batch_item_failures { &["ReportBatchItemFailures"] } else { &[] };
        let mut mapping = json!({
            "UUID": self.id,
            "EventSourceMappingArn": lambda.arn(&format!("event-source-mapping:{}", self.id)),
            "EventSourceArn": lambda.queue_arn(queue),
            "FunctionArn": lambda.function_arn(function),
            "BatchSize": batch_size,
            "MaximumBatchingWindowInSeconds": window.as_secs(),
            "FunctionResponseTypes": types,
            "State": format!("{:?}", self.state),
            "StateTransitionReason": "USER_INITIATED",
            "LastModified": modified.unwrap_or_default().as_millis() as f64 / 1_000.0,
        });
        if let Some(most) = self.config.maximum_concurrency {
            mapping["ScalingConfig"] = json!({ "MaximumConcurrency": most });
        }
        if !filters.is_empty() {
            let patterns: Vec<_> =
                filters.iter().map(|filter| json!({ "Pattern": filter.as_str() })).collect();
            mapping["FilterCriteria"] = json!({ "Filters": patterns });
        }
        mapping
    }
}
