//! Consumers with everything around them, as a template would deploy them or as they are deployed. Pure values, which the doctor
//! checks and from which the schedule is computed.
//!
//! A value that could not be read is `None` or [`Seen::Unknown`], so that no check takes it for absent.

mod arn;
mod index;
pub mod kubernetes;
mod mapping;
mod not_read;
mod process;
mod table;
pub mod template;
pub mod terraform;
mod worker;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

pub use arn::not_an_arn;
pub use arn::{Arn, function_name};
pub use index::Index;
pub use mapping::{
    BATCH_SIZE, BATCHING_WINDOW, MAXIMUM_CONCURRENCY, MAXIMUM_POLLERS, MINIMUM_POLLERS, Mapping, Pollers,
};
pub use not_read::{MayHold, NotRead};
pub use process::{Process, Statement};
use redrive_sqs::{RedriveAllowPolicy, is_fifo, queue_name};
pub use table::{IDEMPOTENCY_TABLE, Table};
pub use template::{
    ASYNCHRONOUS_LIMITS, HOLDERS, QUEUE_PROPERTIES, RECEIVERS, Sender, open_actions, policy_allows_others,
};
pub use worker::{Platform, Probe, Scaler, Worker};

use crate::{Absent, Node, Varying};

/// Everything that the doctor checks.
#[derive(Debug, Clone, Default)]
pub struct Deployment {
    /// The template's path, or the name of the stack or function.
    pub name: String,
    /// True for a file whose JSON is on one line, as Terraform prints it.
    pub is_plan: bool,
    pub queues: Vec<Queue>,
    pub functions: Vec<Function>,
    /// Mappings of SQS queues only.
    pub mappings: Vec<Mapping>,
    /// Containers that poll a queue themselves.
    pub workers: Vec<Worker>,
    /// Scalers of the workers.
    pub scalers: Vec<Scaler>,
    pub tables: Vec<Table>,
    /// None if alarms could not be read.
    pub alarms: Option<Vec<Alarm>>,
    /// True if there may be more alarms, which a condition, a macro or another stack decides.
    pub hides_alarms: bool,
    /// Differences between deployed resources and their stack's template.
    pub drift: Vec<Drift>,
    /// Resources that do not exist with these values of a template's parameters.
    pub absent: Vec<Absent>,
    /// Properties that have other values with other values of a template's parameters.
    pub varying: Vec<Varying>,
    /// Parts that were not read, and the reasons.
    pub not_seen: Vec<NotRead>,
    /// Other remarks: rules that are not met, and text that CloudFormation reads differently than it looks.
    pub notes: Vec<String>,
    /// For frequent lookups.
    #[doc(hidden)]
    pub index: Index,
}

/// A difference between a template and what is deployed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    /// Name of the resource.
    pub id: String,
    pub what: String,
}

/// A value that may be absent or unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Seen<T> {
    There(T),
    Absent,
    #[default]
    Unknown,
}

/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html>
#[derive(Debug, Clone, Default)]
pub struct Queue {
    pub arn: String,
    pub url: String,
    pub visibility_timeout: Option<Duration>,
    pub retention: Option<Duration>,
    pub redrive_policy: Seen<PartialRedrivePolicy>,
    pub redrive_allow_policy: Seen<RedriveAllowPolicy>,
    /// `KmsMasterKeyId`: an id, an ARN or an alias.
    pub kms_key: Seen<String>,
    /// Size in bytes.
    pub maximum_message_size: Option<u32>,
    /// True if something other than a queue sends its letters here: a subscription, a rule or a function.
    pub takes_other_letters: bool,
    /// Rules, topics and buckets of the template that send to it.
    pub senders: Vec<Sender>,
    /// Its own policy, with the statements of all its policies.
    pub policy: Seen<Node>,
    /// Id of a receiver that is neither a mapping nor a worker.
    pub other_receiver: Option<String>,
    /// True if a custom resource names it, and so may watch it.
    pub may_be_watched_elsewhere: bool,
    /// True if its own policy allows something to roles or accounts, which are not read.
    pub policy_allows_others: bool,
    /// Actions that it allows to everybody, such as `sqs:SendMessage`.
    pub open_actions: BTreeSet<&'static str>,
    /// Line of the template.
    pub line: Option<usize>,
    /// Logical id in the template, else the name.
    pub id: String,
}

/// A redrive policy as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartialRedrivePolicy {
    pub dead_letter_target_arn: Option<String>,
    pub max_receive_count: Option<u32>,
}

#[derive(Debug, Clone, Default)]
pub struct Function {
    pub name: String,
    /// `provided.al2023` and others; none for an image.
    pub runtime: Option<String>,
    pub timeout: Option<Duration>,
    /// Memory in MB.
    pub memory: Option<u32>,
    pub reserved_concurrency: Seen<u32>,
    /// True if it has a layer. None if that is unknown.
    pub has_layers: Option<bool>,
    /// The command that replaces the entry point of the image.
    pub entry_point: Option<String>,
    /// True if it runs on Lambda Managed Instances.
    pub has_capacity_provider: bool,
    pub process: Process,
    /// ARNs of queues, topics and others that Lambda itself sends to: the function's own dead-letter queue and
    /// destinations, which serve asynchronous invocations only.
    pub asynchronous_dead_letters: Vec<String>,
    /// The properties that limit retries of asynchronous invocations.
    pub asynchronous_limits: Vec<&'static str>,
    /// True if something invokes it asynchronously.
    pub invoked_asynchronously: bool,
    /// True if the Cargo project beside the template depends on redrive.
    pub depends_on_redrive: bool,
    /// Panic settings of the release build, for a template beside a Cargo project.
    pub panics: Option<Panics>,
    pub line: Option<usize>,
    pub id: String,
}

/// Panic settings in Cargo manifests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Panics {
    /// The manifest that counts: the workspace's, if there is one.
    pub manifest: PathBuf,
    /// `panic` of the release profile, with its line.
    pub strategy: Option<(String, usize)>,
    /// True if cargo-lambda builds it, which sets `panic = "abort"` unless the profile sets `panic`.
    pub by_cargo_lambda: bool,
}

/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html>
#[derive(Debug, Clone, Default)]
pub struct Alarm {
    pub name: String,
    /// Text for the people who are notified. Empty if it is absent or unknown.
    pub description: String,
    /// None for metric math, and if it is unknown.
    pub metric: Option<Metric>,
    /// True if an unknown metric may be that of a queue.
    pub may_be_of_a_queue: bool,
    /// Metrics that an expression uses. Unknown if one of them is.
    pub math: Seen<Vec<Metric>>,
    /// `Sum`, `Maximum`, ... or a percentile.
    pub statistic: String,
    pub period: Option<Duration>,
    pub evaluation_periods: Option<u32>,
    pub datapoints_to_alarm: Option<u32>,
    pub threshold: Option<f64>,
    /// `GreaterThanThreshold`, ...
    pub comparison: String,
    /// `notBreaching`, ...
    pub missing_data: String,
    /// ARNs of topics and others that it notifies. Unknown if the deployment decides that.
    pub actions: Seen<Vec<String>>,
    pub actions_enabled: bool,
    pub line: Option<usize>,
    pub id: String,
}

/// A metric that an alarm watches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metric {
    pub namespace: String,
    pub name: String,
    pub dimensions: BTreeMap<String, String>,
}

impl Metric {
    /// Returns true if an expression of metric math searches for metrics instead of naming them.
    /// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html>
    pub fn are_found_by(expression: &str) -> bool {
        ["SEARCH", "SELECT"].iter().any(|function| expression.contains(function))
    }
}

impl Deployment {
    /// Returns the queue that feeds a mapping's function.
    pub fn source_of(&self, mapping: &Mapping) -> Option<&Queue> {
        self.queue(mapping.queue_arn.as_deref()?)
    }

    /// Returns true if it has neither mappings nor workers.
    pub const fn is_idle(&self) -> bool {
        self.mappings.is_empty() && self.workers.is_empty()
    }

    /// Returns the queue that a worker polls.
    pub fn polled_by(&self, worker: &Worker) -> Option<&Queue> {
        self.queue(worker.queue_arn.as_deref()?)
    }

    pub fn function_of(&self, mapping: &Mapping) -> Option<&Function> {
        self.function(mapping.function.as_deref()?)
    }

    /// Returns a queue's dead-letter queue, if that was read.
    pub fn dead_letters_of(&self, queue: &Queue) -> Option<&Queue> {
        self.queue(queue.dead_letter_target()?)
    }
}

impl<T> Seen<T> {
    pub const fn there(&self) -> Option<&T> {
        match self {
            Self::There(value) => Some(value),
            Self::Absent | Self::Unknown => None,
        }
    }

    /// Returns the value, the default if it is absent, or `None` if it is unknown.
    pub fn or(self, default: T) -> Option<T> {
        self.map_or(default, Some)
    }

    /// Looks for something in the value.
    pub fn and_then<U>(self, look: impl FnOnce(T) -> Seen<U>) -> Seen<U> {
        match self {
            Self::There(value) => look(value),
            Self::Absent => Seen::Absent,
            Self::Unknown => Seen::Unknown,
        }
    }

    /// Reads the value. Returns `absent` if there is none, or `None` if it is unknown.
    pub fn map_or<U>(self, absent: U, read: impl FnOnce(T) -> Option<U>) -> Option<U> {
        match self {
            Self::There(value) => read(value),
            Self::Absent => Some(absent),
            Self::Unknown => None,
        }
    }

    pub const fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }
}

/// A value that was read is there or absent.
impl<T> From<Option<T>> for Seen<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Absent, Self::There)
    }
}

impl Queue {
    /// Returns the ARN of its dead-letter queue, which may be another template's.
    pub fn dead_letter_target(&self) -> Option<&str> {
        self.redrive_policy.there()?.dead_letter_target_arn.as_deref()
    }

    pub fn max_receive_count(&self) -> Option<u32> {
        self.redrive_policy.there()?.max_receive_count
    }

    /// Returns true if a URL or an ARN may be its own, as far as both are known.
    pub fn may_be_at(&self, text: &str) -> bool {
        let named = Arn::of_queue_url(text).or_else(|| Arn::parse(text));
        named.zip(Arn::parse(&self.arn)).is_some_and(|(named, own)| named.may_be(&own))
    }

    pub fn name(&self) -> &str {
        queue_name(&self.arn)
    }

    pub fn is_fifo(&self) -> bool {
        is_fifo(&self.arn)
    }
}

impl Function {
    /// Returns true if it may run redrive: it has the layer, or it is a binary on an OS-only runtime with a sign of redrive.
    pub fn may_run_redrive(&self) -> bool {
        self.process.is_behind_layer()
            || self.runtime.as_deref().is_none_or(|runtime| runtime.starts_with("provided"))
                && (self.depends_on_redrive || self.process.is_set_up())
    }
}
