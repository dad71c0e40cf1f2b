//! A consumer with everything around it: what a template would deploy, or what is deployed. Pure values, which the
//! doctor judges and from which the schedule is worked out.
//!
//! What nobody could look at is `None` or [`Seen::Unknown`], so that no judge takes it for absent.

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

/// All there is to judge.
#[derive(Debug, Clone, Default)]
pub struct Subject {
    /// The template's path, or the name of the stack or function.
    pub name: String,
    /// Whether that is a file without lines of its own: Terraform prints its JSON in one.
    pub is_plan: bool,
    pub queues: Vec<Queue>,
    pub functions: Vec<Function>,
    /// Those of SQS queues only.
    pub mappings: Vec<Mapping>,
    /// Containers that poll a queue themselves.
    pub workers: Vec<Worker>,
    /// What scales those.
    pub scalers: Vec<Scaler>,
    pub tables: Vec<Table>,
    /// None where alarms could not be read.
    pub alarms: Option<Vec<Alarm>>,
    /// Whether there may be more alarms, which a condition, a macro or another stack decides.
    pub hides_alarms: bool,
    /// Where what is deployed is not as its stack's template has it.
    pub drift: Vec<Drift>,
    /// Resources that do not exist with these values of a template's parameters.
    pub absent: Vec<Absent>,
    /// Properties that have other values with other values of a template's parameters.
    pub varying: Vec<Varying>,
    /// What was not looked at, and why.
    pub not_seen: Vec<NotRead>,
    /// What else is worth a word: rules that are not met, and what CloudFormation reads otherwise than it looks.
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

/// What may be absent, and what may not have been looked at.
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
    /// In bytes.
    pub maximum_message_size: Option<u32>,
    /// Whether something else than a queue ends its letters here: a subscription, a rule or a function.
    pub takes_other_letters: bool,
    /// What sends to it: rules, topics and buckets of the template.
    pub senders: Vec<Sender>,
    /// What it allows itself, with the statements of all policies of it.
    pub policy: Seen<Node>,
    /// The id of what receives from it, but is neither a mapping nor a worker.
    pub other_receiver: Option<String>,
    /// Whether a custom resource names it, which may watch it.
    pub may_be_watched_elsewhere: bool,
    /// Whether its own policy allows something to roles or accounts, to which ones was not worked out.
    pub policy_allows_others: bool,
    /// What it allows to everybody, such as `sqs:SendMessage`.
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
    /// In MB.
    pub memory: Option<u32>,
    pub reserved_concurrency: Seen<u32>,
    /// Whether it has a layer, if that is known.
    pub has_layers: Option<bool>,
    /// The command that replaces the entry point of the image.
    pub entry_point: Option<String>,
    /// Whether it runs on Lambda Managed Instances.
    pub has_capacity_provider: bool,
    pub process: Process,
    /// ARNs of queues, topics and others that Lambda itself sends to: the function's own dead-letter queue and
    /// destinations, which serve asynchronous invocations only.
    pub asynchronous_dead_letters: Vec<String>,
    /// The properties that limit retries of asynchronous invocations.
    pub asynchronous_limits: Vec<&'static str>,
    /// Whether something invokes it asynchronously.
    pub invoked_asynchronously: bool,
    /// Whether the Cargo project beside the template depends on redrive.
    pub depends_on_redrive: bool,
    /// How the panics of a release build end, for a template beside a Cargo project.
    pub panics: Option<Panics>,
    pub line: Option<usize>,
    pub id: String,
}

/// What Cargo manifests say of panics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Panics {
    /// The manifest that counts: the workspace's, if there is one.
    pub manifest: PathBuf,
    /// `panic` of the release profile, with its line.
    pub strategy: Option<(String, usize)>,
    /// Whether cargo-lambda builds, which adds `panic = "abort"` where nothing is said.
    pub by_cargo_lambda: bool,
}

/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html>
#[derive(Debug, Clone, Default)]
pub struct Alarm {
    pub name: String,
    /// What those who are notified read. Empty if there is none, or if it is not known.
    pub description: String,
    /// None for metric math, and if a template does not say.
    pub metric: Option<Metric>,
    /// Whether the metric may be that of a queue, if it is not known.
    pub may_be_of_a_queue: bool,
    /// What an expression uses; unknown if one of its metrics is.
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
    /// What it does when it goes off: ARNs of topics and others. Unknown where that is decided at deployment.
    pub actions: Seen<Vec<String>>,
    pub actions_enabled: bool,
    pub line: Option<usize>,
    pub id: String,
}

/// What an alarm watches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metric {
    pub namespace: String,
    pub name: String,
    pub dimensions: BTreeMap<String, String>,
}

impl Metric {
    /// Whether an expression of metric math names no metrics, but searches for them.
    /// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html>
    pub fn are_found_by(expression: &str) -> bool {
        ["SEARCH", "SELECT"].iter().any(|function| expression.contains(function))
    }
}

impl Subject {
    /// The queue that feeds a mapping's function.
    pub fn source_of(&self, mapping: &Mapping) -> Option<&Queue> {
        self.queue(mapping.queue_arn.as_deref()?)
    }

    /// Whether nothing works on a queue.
    pub const fn is_idle(&self) -> bool {
        self.mappings.is_empty() && self.workers.is_empty()
    }

    /// The queue that a worker polls.
    pub fn polled_by(&self, worker: &Worker) -> Option<&Queue> {
        self.queue(worker.queue_arn.as_deref()?)
    }

    pub fn function_of(&self, mapping: &Mapping) -> Option<&Function> {
        self.function(mapping.function.as_deref()?)
    }

    /// Where a queue's letters end, if that queue was looked at.
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

    /// The value, or that which an absent one stands for.
    pub fn or(self, default: T) -> Option<T> {
        self.map_or(default, Some)
    }

    /// What is found in the value.
    pub fn and_then<U>(self, look: impl FnOnce(T) -> Seen<U>) -> Seen<U> {
        match self {
            Self::There(value) => look(value),
            Self::Absent => Seen::Absent,
            Self::Unknown => Seen::Unknown,
        }
    }

    /// What follows from the value, or what does if it is absent.
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

/// What was looked at: there or absent.
impl<T> From<Option<T>> for Seen<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Absent, Self::There)
    }
}

impl Queue {
    /// The ARN of its dead-letter queue, wherever that is.
    pub fn dead_letter_target(&self) -> Option<&str> {
        self.redrive_policy.there()?.dead_letter_target_arn.as_deref()
    }

    pub fn max_receive_count(&self) -> Option<u32> {
        self.redrive_policy.there()?.max_receive_count
    }

    /// Whether a URL or an ARN can be its own, as far as both are known.
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
    /// Whether redrive can run in it: it has the layer, or it is a binary on a runtime without a language, with a sign of redrive.
    pub fn may_run_redrive(&self) -> bool {
        self.process.is_behind_layer()
            || self.runtime.as_deref().is_none_or(|runtime| runtime.starts_with("provided"))
                && (self.depends_on_redrive || self.process.is_set_up())
    }
}
