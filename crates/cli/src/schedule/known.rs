//! The settings of one queue and its function: from flags, else from a template or a stack, else defaults. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use redrive::tools::{Retries, variable_of_queue};
use redrive_iac::deployment::{Deployment, Queue};
use redrive_sqs::{MAX_RECEIVE_COUNT, MESSAGE_RETENTION_PERIOD, Quoted, in_words};

use crate::span;

/// What may be said about the queue and the function.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Queue and function")]
pub(crate) struct Flags {
    /// Deliveries allowed by the redrive policy, 1 to 1000 [default: 10]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    max_receive_count: Option<u32>,

    /// Visibility timeout of the queue; with the longest delay at most 12 hours [default: 8m]
    #[arg(long, value_name = "TIME", value_parser = span::parse)]
    visibility_timeout: Option<Duration>,

    /// How long the queue keeps messages [default: 7d]
    #[arg(long, value_name = "TIME", value_parser = retention)]
    retention: Option<Duration>,

    /// Backoff as JSON, as in REDRIVE_BACKOFF, even for a function that does not run redrive [default: 2^attempt seconds]
    #[arg(long, value_name = "JSON")]
    backoff: Option<String>,

    /// How long each attempt takes before it fails
    #[arg(long, value_name = "TIME", value_parser = span::parse, default_value = "0")]
    pub(super) attempt_duration: Duration,
}

fn retention(text: &str) -> Result<Duration, String> {
    let time = span::parse(text)?;
    match MESSAGE_RETENTION_PERIOD.contains(&time.as_secs()) {
        true => Ok(time),
        false => Err("allowed: 1m to 14d".to_owned()),
    }
}

/// The settings of a queue and its function.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    /// Name of the queue for people.
    pub(crate) name: String,
    /// ARN or name of the queue.
    pub(crate) queue: String,
    /// None without a redrive policy.
    pub(crate) max_receive_count: Option<u32>,
    pub(crate) visibility_timeout: Duration,
    pub(crate) retention: Duration,
    /// None if the queue was not read.
    pub(crate) dead_letter_retention: Option<Duration>,
    pub(crate) consumer: Consumer,
    /// Variables of the function, or substitutes for them.
    variables: BTreeMap<String, String>,
    /// Variables that flags replace.
    from_flags: BTreeMap<&'static str, String>,
}

/// The consumer of the messages.
#[derive(Debug, Clone)]
pub(crate) enum Consumer {
    Redrive,
    /// Another or an unknown function, with the reason why it is not taken for one of redrive's.
    Other(String),
}

/// The settings of redrive's own template.
impl Default for Known {
    fn default() -> Self {
        let variables = [
            ("REDRIVE_MAX_RECEIVE_COUNT", "10"),
            ("REDRIVE_VISIBILITY_TIMEOUT", "480"),
            // Its value does not matter, only that it exists.
            (
                "REDRIVE_DEAD_LETTER_QUEUE_URL",
                "https://sqs.us-east-1.amazonaws.com/123456789012/dead-letters",
            ),
        ];
        Self {
            name: "a queue".to_owned(),
            queue: "queue".to_owned(),
            max_receive_count: Some(10),
            visibility_timeout: Duration::from_secs(480),
            retention: Duration::from_secs(7 * 86_400),
            dead_letter_retention: Some(Duration::from_secs(14 * 86_400)),
            consumer: Consumer::Redrive,
            variables: variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            from_flags: BTreeMap::new(),
        }
    }
}

impl Known {
    /// Returns the value of a variable for this queue.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        let variable = |name: &str| self.variables.get(name).cloned();
        let own = || variable_of_queue(&self.queue, name, variable).filter(|_| name != "REDRIVE_QUEUES");
        self.from_flags.get(name).cloned().or_else(own)
    }
}

impl Flags {
    /// Replaces values that were read with the flags. Sets the count's variable for a function that does not run redrive.
    pub(super) fn replace(&self, known: &mut Known) {
        known.max_receive_count = self.max_receive_count.or(known.max_receive_count);
        known.visibility_timeout = self.visibility_timeout.unwrap_or(known.visibility_timeout);
        known.retention = self.retention.unwrap_or(known.retention);
        let is_other = matches!(known.consumer, Consumer::Other(_));
        let count = known.max_receive_count.filter(|_| self.max_receive_count.is_some() || is_other);
        let from_flags = [
            ("REDRIVE_MAX_RECEIVE_COUNT", count.map(|count| count.to_string())),
            (
                "REDRIVE_VISIBILITY_TIMEOUT",
                self.visibility_timeout.map(|timeout| timeout.as_secs().to_string()),
            ),
            ("REDRIVE_BACKOFF", self.backoff.clone()),
        ];
        known.from_flags = from_flags.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        if self.backoff.is_some() {
            known.consumer = Consumer::Redrive;
        }
    }

    /// Removes a variable's name from an error about a flag, because the user of the flag does not know the variable.
    pub(super) fn in_their_words(&self, said: &str) -> String {
        let flags = [
            ("REDRIVE_BACKOFF", "--backoff", self.backoff.is_some()),
            ("REDRIVE_VISIBILITY_TIMEOUT", "--visibility-timeout", self.visibility_timeout.is_some()),
        ];
        let given = flags.iter().filter(|(.., given)| *given);
        given.fold(said.to_owned(), |said, (variable, flag, _)| said.replace(variable, flag))
    }
}

/// Finds the queue that feeds a function: the only one, or the one with this name.
///
/// # Errors
/// No queue feeds a function, none has this name, or several do and none is named.
pub(super) fn known(subject: &Deployment, name: Option<&str>, flags: &Flags) -> anyhow::Result<Known> {
    let sources = sources(subject);
    let names = || sources.iter().map(|queue| queue.id.as_str()).collect::<Vec<_>>().join(", ");
    let queue = match (name, sources.as_slice()) {
        (_, []) => {
            let is_of_source =
                |line: &&str| line.starts_with("the queue of ") || line.starts_with("Queue of ");
            let why = subject.lines_not_read().into_iter().find(is_of_source);
            let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
            bail!("no queue feeds a function in {}{why}: use flags instead", subject.name)
        }
        (Some(name), sources) => {
            let is_meant = |queue: &&&Queue| {
                queue.name() == name || queue.id == name || queue.url == name || queue.arn == name
            };
            sources
                .iter()
                .find(is_meant)
                .with_context(|| format!("--queue is {}, allowed: {}", Quoted(name), names()))?
        }
        (None, [queue]) => queue,
        (None, _) => bail!("several queues feed functions in {} ({}): pass --queue", subject.name, names()),
    };
    of_queue(subject, queue, flags)
}

/// Returns true if a queue feeds a function.
pub(super) fn has_source(subject: &Deployment) -> bool {
    !sources(subject).is_empty()
}

fn sources(subject: &Deployment) -> Vec<&Queue> {
    let fed = |queue: &&Queue| {
        subject.mappings.iter().any(|mapping| mapping.queue_arn.as_deref() == Some(queue.arn.as_str()))
    };
    subject.queues.iter().filter(fed).collect()
}

/// Returns notes on parts that were not read and matter here.
pub(super) fn notes(subject: &Deployment) -> impl Iterator<Item = &str> {
    subject
        .lines_not_read()
        .into_iter()
        .filter(|note| note.contains("REDRIVE_") || note.contains("environment"))
}

fn of_queue(subject: &Deployment, queue: &Queue, flags: &Flags) -> anyhow::Result<Known> {
    let unknown =
        |what: &str| format!("{what} of {} is unknown in {}: pass it as a flag", queue.id, subject.name);
    let max_receive_count = match (flags.max_receive_count, queue.redrive_policy.there()) {
        (Some(given), _) => Some(given),
        (None, Some(policy)) => {
            let count = policy.max_receive_count.with_context(|| unknown("maxReceiveCount"))?;
            if !MAX_RECEIVE_COUNT.contains(&count) {
                bail!(
                    "maxReceiveCount of {} is {count}, allowed: {}",
                    queue.id,
                    in_words(&MAX_RECEIVE_COUNT)
                );
            }
            Some(count)
        }
        (None, None) if queue.redrive_policy.is_absent() => None,
        (None, None) => bail!("{}", unknown("the redrive policy")),
    };
    let visibility_timeout = flags.visibility_timeout.or(queue.visibility_timeout);
    let retention = flags.retention.or(queue.retention);
    let mut mappings = subject.mappings.iter();
    let mapping = mappings.find(|mapping| mapping.queue_arn.as_deref() == Some(queue.arn.as_str()));
    let function = mapping.and_then(|mapping| subject.function_of(mapping));
    let consumer = match function {
        Some(function) if function.may_run_redrive() => Consumer::Redrive,
        Some(function) => Consumer::Other(format!("{} does not run redrive", function.id)),
        None => Consumer::Other(format!("the function that it feeds is not in {}", subject.name)),
    };
    // Unknown variables count as absent.
    let variables = function.and_then(|function| function.process.environment.as_ref()).into_iter().flatten();
    let variables: BTreeMap<_, _> =
        variables.filter_map(|(name, value)| Some((name.clone(), value.clone()?))).collect();
    if variables.contains_key("REDRIVE_QUEUES") {
        Retries::from_variables(&queue.arn, |name| variables.get(name).cloned())?;
    }
    Ok(Known {
        name: queue.id.clone(),
        queue: queue.arn.clone(),
        max_receive_count,
        visibility_timeout: visibility_timeout.with_context(|| unknown("the visibility timeout"))?,
        retention: retention.with_context(|| unknown("the retention"))?,
        dead_letter_retention: subject.dead_letters_of(queue).and_then(|dead| dead.retention),
        consumer,
        variables,
        from_flags: BTreeMap::new(),
    })
}
