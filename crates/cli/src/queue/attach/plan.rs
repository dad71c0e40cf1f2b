//! Plans the attachment of a dead-letter queue, with warnings. Pure.

use anyhow::bail;
use aws_sdk_sqs::types::QueueAttributeName;
use redrive_sqs::{MAX_SOURCES, RedriveAllowPolicy, is_fifo, is_queue_name, queue_name};
use serde_json::json;

use crate::find::Queue;
use crate::shell::word;
use crate::span::span;

/// Default for maxReceiveCount.
const DEFAULT_COUNT: u32 = 10;

/// The requested settings, completed with the current ones.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Name, URL or ARN of the dead-letter queue.
    pub(super) dead_letter_queue: String,
    pub(super) max_receive_count: u32,
}

/// The dead-letter queue to attach.
#[derive(Debug)]
pub(super) enum Dead {
    Is(Queue),
    /// A queue to create with this name.
    Missing(String),
}

/// The planned change.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) max_receive_count: u32,
    /// True if nothing has to change.
    pub(super) is_none: bool,
    pub(super) warnings: Vec<String>,
}

impl Wanted {
    /// # Errors
    /// No name can be made from the queue's.
    pub(super) fn new(source: &Queue, dead: Option<&str>, count: Option<u32>) -> anyhow::Result<Self> {
        let policy = source.redrive_policy();
        let has = policy.as_ref().map(|policy| policy.dead_letter_target_arn.clone());
        let dead_letter_queue = dead.map(str::to_owned).or(has).unwrap_or_else(|| dead_name(source.name()));
        if dead_letter_queue.len() > 80 && !dead_letter_queue.contains(':') {
            bail!("{dead_letter_queue} is longer than the 80 characters of a name: pass --dead-letter-queue");
        }
        let max_receive_count =
            count.or(policy.map(|policy| policy.max_receive_count)).unwrap_or(DEFAULT_COUNT);
        Ok(Self { dead_letter_queue, max_receive_count })
    }
}

impl Dead {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Is(queue) => queue.name(),
            Self::Missing(name) => name,
        }
    }
}

impl Change {
    /// # Errors
    /// SQS would refuse the change, and why.
    pub(super) fn new(source: &Queue, dead: &Dead, max_receive_count: u32) -> anyhow::Result<Self> {
        match dead {
            Dead::Is(dead) => refuse(source, dead)?,
            Dead::Missing(name) if !is_queue_name(name) => {
                bail!("there is no queue {name}; to create it, pass only its name")
            }
            Dead::Missing(name) => same_type(source, name)?,
        }
        let policy = source.redrive_policy();
        let is_none = policy.as_ref().is_some_and(|policy| {
            let is_target = matches!(dead, Dead::Is(dead) if dead.arn == policy.dead_letter_target_arn);
            is_target && policy.max_receive_count == max_receive_count
        });
        let warnings = if is_none { Vec::new() } else { warnings(source, dead, max_receive_count) };
        Ok(Self { max_receive_count, is_none, warnings })
    }
}

/// Returns `orders-dead` for `orders`, and `orders-dead.fifo` for `orders.fifo`.
fn dead_name(source: &str) -> String {
    match source.strip_suffix(".fifo") {
        Some(stem) => format!("{stem}-dead.fifo"),
        None => format!("{source}-dead"),
    }
}

fn refuse(source: &Queue, dead: &Queue) -> anyhow::Result<()> {
    if source.arn == dead.arn {
        bail!("{} cannot be its own dead-letter queue", source.name());
    }
    same_type(source, dead.name())?;
    if home(&source.arn) != home(&dead.arn) {
        bail!("{} and {} must be of the same account and region", source.arn, dead.arn);
    }
    let allowed = dead.redrive_allow_policy();
    if allowed.allows(&source.arn) {
        return Ok(());
    }
    let mut sources = if let RedriveAllowPolicy::ByQueue(sources) = allowed { sources } else { Vec::new() };
    if sources.len() >= MAX_SOURCES {
        bail!(
            "the redrive allow policy of {} already lists {MAX_SOURCES} queues, the maximum: {} cannot be added",
            dead.name(),
            source.name()
        );
    }
    sources.push(source.arn.clone());
    let policy = RedriveAllowPolicy::ByQueue(sources).to_json();
    let attributes = json!({ "RedriveAllowPolicy": policy });
    bail!(
        "the redrive allow policy of {} does not let {} use it; to allow it: \
         aws sqs set-queue-attributes --queue-url {} --attributes {}",
        dead.name(),
        source.name(),
        word(&dead.url),
        word(&attributes.to_string())
    )
}

fn same_type(source: &Queue, dead: &str) -> anyhow::Result<()> {
    match (source.is_fifo(), is_fifo(dead)) {
        (true, false) => {
            bail!("{} is a FIFO queue and {dead} is not: the name must end in .fifo", source.name())
        }
        (false, true) => bail!("{dead} is a FIFO queue and {} is not", source.name()),
        (true, true) | (false, false) => Ok(()),
    }
}

/// Returns the partition, region and account of an ARN.
fn home(arn: &str) -> Vec<&str> {
    arn.split(':').take(5).collect()
}

fn warnings(source: &Queue, dead: &Dead, count: u32) -> Vec<String> {
    let mut warnings = Vec::new();
    let policy = source.redrive_policy();
    let messages: u64 = [
        QueueAttributeName::ApproximateNumberOfMessages,
        QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
        QueueAttributeName::ApproximateNumberOfMessagesDelayed,
    ]
    .iter()
    .map(|name| source.count(name))
    .sum();
    let is_lowered = policy.as_ref().is_none_or(|policy| policy.max_receive_count > count);
    if is_lowered && messages > 0 {
        warnings.push(format!(
            "messages in {} ({messages} now) that were received {count} times or more go to {} at their next receive",
            source.name(),
            dead.name()
        ));
    }
    if let Dead::Is(dead) = dead {
        if let Some(next) = dead.redrive_policy() {
            warnings.push(format!(
                "chained dead-letter queues: {} has a redrive policy of its own, so letters received {} times move on to {}",
                dead.name(),
                next.max_receive_count,
                next.dead_letter_target_arn
            ));
        }
        if !source.is_fifo() && dead.retention() <= source.retention() {
            warnings.push(format!(
                "{} keeps letters for {} from when they were first sent, {} keeps messages for {}: letters may \
                 expire before anyone sees them",
                dead.name(),
                span(dead.retention()),
                source.name(),
                span(source.retention())
            ));
        }
    }
    let has = policy.map(|policy| policy.dead_letter_target_arn);
    if let Some(before) = has.filter(|arn| queue_name(arn) != dead.name()) {
        warnings.push(format!("letters that are in {before} stay there"));
    }
    warnings
}

#[cfg(test)]
mod tests;
