//! A consumer with everything around it: what a template would deploy, or what is deployed. Pure values, which the
//! doctor judges and from which the schedule is worked out.
//!
//! What nobody could look at is `None`, so that no judge takes it for absent.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::find::RedrivePolicy;

/// All there is to judge.
#[derive(Debug, Clone, Default)]
pub(crate) struct Subject {
    /// The template's path, or the name of the stack or function.
    pub(crate) name: String,
    pub(crate) queues: Vec<Queue>,
    pub(crate) functions: Vec<Function>,
    pub(crate) mappings: Vec<Mapping>,
    /// None where alarms could not be read.
    pub(crate) alarms: Option<Vec<Alarm>>,
    /// What was not looked at, and why, in words for people.
    pub(crate) not_seen: Vec<String>,
}

/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html>
#[derive(Debug, Clone)]
pub(crate) struct Queue {
    pub(crate) arn: String,
    /// How the function's environment may name it; several forms where AWS has several.
    pub(crate) url: String,
    pub(crate) visibility_timeout: Duration,
    pub(crate) retention: Duration,
    pub(crate) redrive_policy: Option<RedrivePolicy>,
    pub(crate) redrive_allow_policy: Option<RedriveAllowPolicy>,
    /// Line of the template.
    pub(crate) line: Option<usize>,
    /// Logical id in the template, else the name.
    pub(crate) id: String,
}

/// Which queues may use this one as their dead-letter queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RedriveAllowPolicy {
    AllowAll,
    DenyAll,
    /// By their ARNs.
    ByQueue(Vec<String>),
}

#[derive(Debug, Clone)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) timeout: Duration,
    pub(crate) reserved_concurrency: Option<u32>,
    pub(crate) environment: BTreeMap<String, String>,
    /// What its role allows; none if that was not read.
    pub(crate) statements: Option<Vec<Statement>>,
    /// The Cargo project, for a template beside it.
    pub(crate) manifest: Option<PathBuf>,
    pub(crate) line: Option<usize>,
    pub(crate) id: String,
}

/// A statement of an IAM policy.
/// <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_statement.html>
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statement {
    /// `Allow`, else `Deny`.
    pub(crate) allows: bool,
    /// With `*` and `?`, such as `sqs:Send*`.
    pub(crate) actions: Vec<String>,
    pub(crate) resources: Vec<String>,
    /// Condition keys with their values, such as `cloudwatch:namespace`.
    pub(crate) conditions: BTreeMap<String, Vec<String>>,
}

/// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-parameters.html>
#[derive(Debug, Clone)]
pub(crate) struct Mapping {
    pub(crate) queue_arn: String,
    /// The function's name.
    pub(crate) function: String,
    pub(crate) batch_size: u32,
    pub(crate) window: Duration,
    pub(crate) maximum_concurrency: Option<u32>,
    /// Whether it has provisioned pollers.
    pub(crate) provisioned: bool,
    pub(crate) reports_batch_item_failures: bool,
    /// Filter patterns, as JSON.
    pub(crate) filters: Vec<String>,
    pub(crate) enabled: bool,
    pub(crate) line: Option<usize>,
    pub(crate) id: String,
}

/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html>
#[derive(Debug, Clone)]
pub(crate) struct Alarm {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) metric: String,
    pub(crate) dimensions: BTreeMap<String, String>,
    /// `Sum`, `Maximum`, ... or a percentile.
    pub(crate) statistic: String,
    pub(crate) period: Duration,
    pub(crate) evaluation_periods: u32,
    pub(crate) datapoints_to_alarm: u32,
    pub(crate) threshold: f64,
    /// `GreaterThanThreshold`, ...
    pub(crate) comparison: String,
    /// `notBreaching`, ...
    pub(crate) missing_data: String,
    /// What it does when it goes off: ARNs of topics and others.
    pub(crate) actions: Vec<String>,
    pub(crate) actions_enabled: bool,
    pub(crate) line: Option<usize>,
    pub(crate) id: String,
}
