//! What a [`Local`](super::Local) runs: queues, functions, the mappings between them, and alarms.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::clock::Speed;
use crate::cloudwatch::{Comparison, MissingData, Statistic};
use crate::mapping::Filter;

/// Everything that one local account and region consists of.
#[derive(Debug, Clone)]
pub struct Config {
    /// The region in ARNs and in the functions' environment, such as `eu-west-1`.
    pub region: String,
    /// The account in ARNs and queue URLs: twelve digits.
    pub account: String,
    /// The queues, dead-letter queues before the queues that name them.
    pub queues: Vec<QueueConfig>,
    /// The functions.
    pub functions: Vec<FunctionConfig>,
    /// Which queue feeds which function.
    pub mappings: Vec<MappingConfig>,
    /// The alarms, evaluated at each simulated minute.
    pub alarms: Vec<AlarmConfig>,
    /// How fast time passes while no invocation runs.
    pub speed: Speed,
    /// The port of the AWS endpoint on 127.0.0.1; 0 takes any free one.
    pub port: u16,
    /// What CloudFormation says of all this; none to know of no stack.
    pub stack: Option<StackConfig>,
}

/// Nothing, in `us-east-1` and the account 000000000000, in real time on any free port.
impl Default for Config {
    fn default() -> Self {
        Self {
            region: "us-east-1".to_owned(),
            account: "000000000000".to_owned(),
            queues: Vec::new(),
            functions: Vec::new(),
            mappings: Vec::new(),
            alarms: Vec::new(),
            speed: Speed::Times(1.0),
            port: 0,
            stack: None,
        }
    }
}

/// The CloudFormation stack that the rest has come from.
#[derive(Debug, Clone, Default)]
pub struct StackConfig {
    /// Its name.
    pub name: String,
    /// The template's text.
    pub template: String,
    /// The values of its parameters.
    pub parameters: BTreeMap<String, String>,
    /// Its outputs, in the template's order.
    pub outputs: Vec<StackOutput>,
    /// Its resources, in the template's order.
    pub resources: Vec<StackResource>,
}

/// An output of a stack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StackOutput {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: String,
    /// What the template says of it.
    pub description: Option<String>,
}

/// A resource of a stack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StackResource {
    /// Its name in the template.
    pub logical_id: String,
    /// Its name on AWS: what `Ref` gives.
    pub physical_id: String,
    /// Its type, such as `AWS::SQS::Queue`.
    pub kind: String,
}

/// A queue.
#[derive(Debug, Clone, Default)]
pub struct QueueConfig {
    /// Its name; a FIFO queue's ends in `.fifo`.
    pub name: String,
    /// Its attributes as SQS names and writes them: `VisibilityTimeout` -> `480`, `RedrivePolicy` -> JSON.
    pub attributes: BTreeMap<String, String>,
}

/// A function: an executable that speaks the Lambda Runtime API, unmodified.
#[derive(Debug, Clone)]
pub struct FunctionConfig {
    /// Its name.
    pub name: String,
    /// The executable, such as a `bootstrap`; it gets no arguments and only the environment that Lambda would give it.
    pub command: PathBuf,
    /// Its own environment variables; they win over those set for it.
    pub environment: BTreeMap<String, String>,
    /// How long an invocation may take, in real time; then the process is killed and replaced.
    pub timeout: Duration,
    /// At most this many invocations at once, over all mappings (`ReservedConcurrentExecutions`); none to leave that to
    /// the mappings. A batch beyond it is throttled: it waits until its messages are visible again, and has then used up
    /// one of their deliveries.
    pub reserved_concurrency: Option<usize>,
    /// What `AWS_LAMBDA_FUNCTION_MEMORY_SIZE` says, in MB; not enforced.
    pub memory_mb: u32,
    /// Whether lines that it writes to stdout and stderr become [`EventKind::Output`](super::EventKind::Output).
    pub show_output: bool,
    /// The log group of what it writes (`LoggingConfig`), `/aws/lambda/NAME` if there is none.
    pub log_group: Option<String>,
}

/// What Lambda gives a function that asks for nothing: 3 s and 128 MB.
impl Default for FunctionConfig {
    fn default() -> Self {
        Self {
            name: String::new(),
            command: PathBuf::new(),
            environment: BTreeMap::new(),
            timeout: Duration::from_secs(3),
            reserved_concurrency: None,
            memory_mb: 128,
            show_output: false,
            log_group: None,
        }
    }
}

impl FunctionConfig {
    pub(crate) fn log_group(&self) -> String {
        self.log_group.clone().unwrap_or_else(|| format!("/aws/lambda/{}", self.name))
    }
}

/// An event source mapping: a queue whose messages invoke a function.
#[derive(Debug, Clone)]
pub struct MappingConfig {
    /// The queue's name.
    pub queue: String,
    /// The function's name.
    pub function: String,
    /// At most this many messages in a batch: 1 to 10,000; above 10 only with a window and never on a FIFO queue.
    pub batch_size: usize,
    /// How long a batch may wait to fill: 0 to 300 s, 0 on a FIFO queue.
    pub window: Duration,
    /// At most this many invocations, and so processes, at once: up to 1,000; 5 is a good default. AWS takes no less than
    /// 2; with 1, what happens here has one order.
    pub maximum_concurrency: usize,
    /// Whether the function's response names the messages that failed (`ReportBatchItemFailures`).
    pub report_batch_item_failures: bool,
    /// Up to five filters; a message that matches none of them is deleted without an invocation. No filter lets all pass.
    pub filters: Vec<Filter>,
    /// A disabled mapping leaves its queue alone.
    pub enabled: bool,
}

/// What Lambda gives a mapping that asks for nothing: batches of ten, no window, no partial responses.
impl Default for MappingConfig {
    fn default() -> Self {
        Self {
            queue: String::new(),
            function: String::new(),
            batch_size: 10,
            window: Duration::ZERO,
            maximum_concurrency: 5,
            report_batch_item_failures: false,
            filters: Vec::new(),
            enabled: true,
        }
    }
}

/// A CloudWatch alarm on one metric.
#[derive(Debug, Clone)]
pub struct AlarmConfig {
    /// Its name.
    pub name: String,
    /// The metric's namespace, such as `AWS/SQS`.
    pub namespace: String,
    /// The metric's name.
    pub metric: String,
    /// The metric's dimensions, all of them.
    pub dimensions: BTreeMap<String, String>,
    /// What is made of the values of a period.
    pub statistic: Statistic,
    /// The length of a period: whole minutes.
    pub period: Duration,
    /// How many periods are looked at.
    pub evaluation_periods: u32,
    /// How many of them must breach.
    pub datapoints_to_alarm: u32,
    /// What the statistic is compared to.
    pub threshold: f64,
    /// How it is compared.
    pub comparison: Comparison,
    /// What a period without values counts as.
    pub missing: MissingData,
}
