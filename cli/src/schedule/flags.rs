//! What was typed, as terms: the flags before what was read, and what was read before the defaults. Pure.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{anyhow, bail};
use clap::Args;
use redrive::tools::Retries;
use redrive_sqs::{MESSAGE_RETENTION_PERIOD, in_words, is_fifo};

use super::course::{Rule, Terms};
use crate::span;

/// As in redrive's own template.
const MAX_RECEIVE_COUNT: u32 = 10;
const VISIBILITY_TIMEOUT: Duration = Duration::from_secs(480);
const RETENTION: Duration = Duration::from_secs(7 * 86_400);
const DEAD_LETTER_RETENTION: Duration = Duration::from_secs(14 * 86_400);

/// Stands for any dead-letter queue, where only whether there is one matters.
const ANY_DEAD_LETTER_QUEUE: &str = "https://sqs.us-east-1.amazonaws.com/123456789012/dead-letters";

/// What may be said about the queue and the function.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Queue and function")]
pub(super) struct Flags {
    /// Deliveries allowed by the redrive policy, 1 to 1000, or none [default: 10]
    #[arg(long, value_name = "COUNT")]
    max_receive_count: Option<MaxReceiveCount>,

    /// Visibility timeout of the queue; with the longest delay at most 12 hours [default: 8m]
    #[arg(long, value_name = "TIME", value_parser = span::parse)]
    visibility_timeout: Option<Duration>,

    /// How long the queue keeps messages [default: 7d]
    #[arg(long, value_name = "TIME", value_parser = retention)]
    retention: Option<Duration>,

    /// How long the dead-letter queue keeps letters [default: 14d]
    #[arg(long, value_name = "TIME", value_parser = retention)]
    dead_letter_retention: Option<Duration>,

    /// Backoff as JSON, as in REDRIVE_BACKOFF, even for a function that does not run redrive [default: 2^attempt seconds]
    #[arg(long, value_name = "JSON")]
    backoff: Option<String>,

    /// How long each attempt takes before it fails
    #[arg(long, value_name = "TIME", value_parser = span::parse, default_value = "0")]
    attempt_duration: Duration,

    /// Assume a FIFO queue, for which redrive itself sends the dead letter
    #[arg(long)]
    fifo: bool,
}

/// A number of deliveries, or that there is no redrive policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MaxReceiveCount {
    Of(u32),
    None,
}

impl FromStr for MaxReceiveCount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(count) if redrive_sqs::MAX_RECEIVE_COUNT.contains(&count) => Ok(Self::Of(count)),
            _ if text == "none" => Ok(Self::None),
            _ => Err(format!("allowed: {}, or none", in_words(&redrive_sqs::MAX_RECEIVE_COUNT))),
        }
    }
}

fn retention(text: &str) -> Result<Duration, String> {
    let time = span::parse(text)?;
    let (least, most) = (MESSAGE_RETENTION_PERIOD.start(), MESSAGE_RETENTION_PERIOD.end());
    if !(Duration::from_secs(*least)..=Duration::from_secs(*most)).contains(&time) {
        return Err("allowed: 1m to 14d".to_owned());
    }
    Ok(time)
}

/// What is known of a queue and its function before the flags are looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Known {
    /// The queue as people know it.
    pub(crate) name: String,
    /// The queue's ARN or name.
    pub(crate) queue: String,
    /// None without a redrive policy.
    pub(crate) max_receive_count: Option<u32>,
    pub(crate) visibility_timeout: Duration,
    pub(crate) retention: Duration,
    /// None if it was not seen.
    pub(crate) dead_letter_retention: Option<Duration>,
    pub(crate) consumer: Consumer,
    /// The function's, or what stands for it.
    pub(crate) variables: BTreeMap<String, String>,
}

/// What receives the messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Consumer {
    Redrive,
    /// Another function, or one that nobody knows: why it is taken for none of redrive's, in words for people.
    Other(String),
}

impl Default for Known {
    fn default() -> Self {
        let variables = [
            ("REDRIVE_MAX_RECEIVE_COUNT", MAX_RECEIVE_COUNT.to_string()),
            ("REDRIVE_VISIBILITY_TIMEOUT", VISIBILITY_TIMEOUT.as_secs().to_string()),
            ("REDRIVE_DEAD_LETTER_QUEUE_URL", ANY_DEAD_LETTER_QUEUE.to_owned()),
        ];
        Self {
            name: "a queue".to_owned(),
            queue: "queue".to_owned(),
            max_receive_count: Some(MAX_RECEIVE_COUNT),
            visibility_timeout: VISIBILITY_TIMEOUT,
            retention: RETENTION,
            dead_letter_retention: Some(DEAD_LETTER_RETENTION),
            consumer: Consumer::Redrive,
            variables: variables.map(|(name, value)| (name.to_owned(), value)).into(),
        }
    }
}

impl Flags {
    /// # Errors
    /// A flag, or a variable of the function, cannot be kept.
    pub(super) fn terms(&self, mut known: Known) -> anyhow::Result<Terms> {
        let set =
            |known: &mut Known, name: &str, value: String| known.variables.insert(name.to_owned(), value);
        match self.max_receive_count {
            Some(MaxReceiveCount::Of(count)) => {
                known.max_receive_count = Some(count);
                set(&mut known, "REDRIVE_MAX_RECEIVE_COUNT", count.to_string());
            }
            Some(MaxReceiveCount::None) => {
                known.max_receive_count = None;
                known.variables.remove("REDRIVE_MAX_RECEIVE_COUNT");
                known.variables.remove("REDRIVE_DEAD_LETTER_QUEUE_URL");
            }
            None => {}
        }
        if let Some(timeout) = self.visibility_timeout {
            known.visibility_timeout = timeout;
            set(&mut known, "REDRIVE_VISIBILITY_TIMEOUT", timeout.as_secs().to_string());
        }
        if let Some(backoff) = &self.backoff {
            set(&mut known, "REDRIVE_BACKOFF", backoff.clone());
            if let (Consumer::Other(_), Some(count)) = (&known.consumer, known.max_receive_count) {
                set(&mut known, "REDRIVE_MAX_RECEIVE_COUNT", count.to_string());
            }
            known.consumer = Consumer::Redrive;
        }
        if self.fifo && !is_fifo(&known.queue) {
            known.queue.push_str(".fifo");
        }
        if self.attempt_duration > known.visibility_timeout {
            bail!(
                "--attempt-duration is {}, allowed: at most the visibility timeout of {}, after which the \
                 message is delivered again",
                span::words(self.attempt_duration),
                span::words(known.visibility_timeout)
            );
        }
        let rule = match &known.consumer {
            Consumer::Other(since) => {
                Rule::VisibilityTimeout { timeout: known.visibility_timeout, since: since.clone() }
            }
            Consumer::Redrive => {
                let variable = |name: &str| known.variables.get(name).cloned();
                let retries = Retries::from_variables(&known.queue, variable);
                Rule::Redrive(retries.map_err(|error| self.in_words_of_flags(&error))?)
            }
        };
        Ok(Terms {
            rule,
            max_receive_count: known.max_receive_count,
            is_fifo: is_fifo(&known.queue),
            retention: self.retention.unwrap_or(known.retention),
            dead_letter_retention: self.dead_letter_retention.or(known.dead_letter_retention),
            attempt_duration: self.attempt_duration,
        })
    }

    /// Whoever typed a flag knows nothing of a variable.
    fn in_words_of_flags(&self, error: &redrive::Error) -> anyhow::Error {
        let flags = [
            ("REDRIVE_BACKOFF", "--backoff", self.backoff.is_some()),
            ("REDRIVE_VISIBILITY_TIMEOUT", "--visibility-timeout", self.visibility_timeout.is_some()),
        ];
        let said = error.to_string();
        let given = flags.iter().filter(|(.., given)| *given);
        anyhow!(given.fold(said, |said, (variable, flag, _)| said.replace(variable, flag)))
    }
}
