//! Settings by queue, for a function that several queues feed.

use std::borrow::Cow;
use std::collections::BTreeMap;

use redrive_sqs::{Quoted, cut_to, is_fifo, is_same_queue};
use serde_json::{Map, Value};

use super::table::{VARIABLES_OF_ONE_QUEUE, VARIABLES_OF_QUEUES};
use super::variable::{Fill, is_queue_arn};
use super::{InvalidSetting, QueueUrl, Settings, Value as _};

/// The variable with the settings of each queue.
pub(super) const VARIABLE: &str = "REDRIVE_QUEUES";

/// Returns the value of a `REDRIVE_*` variable for the queue with this ARN: from the queue's entry in `REDRIVE_QUEUES`, else
/// from the variable itself, unless that applies to one queue only.
///
/// ```
/// use redrive::tools::variable_of_queue;
///
/// let arn = "arn:aws:sqs:eu-west-1:123456789012:orders";
/// let variable = |name: &str| match name {
///     "REDRIVE_QUEUES" => Some(format!(r#"{{"{arn}": {{"max_receive_count": 3}}}}"#)),
///     "REDRIVE_CONCURRENCY" => Some("5".to_owned()),
///     _ => None,
/// };
/// assert_eq!(variable_of_queue(arn, "REDRIVE_MAX_RECEIVE_COUNT", variable).as_deref(), Some("3"));
/// assert_eq!(variable_of_queue(arn, "REDRIVE_CONCURRENCY", variable).as_deref(), Some("5"));
/// ```
#[must_use]
pub fn variable_of_queue(arn: &str, name: &str, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let queues = variable(VARIABLE).filter(|queues| !queues.is_empty());
    let Some(queues) = queues.and_then(|queues| parse(&queues).ok()) else { return variable(name) };
    let own = queues.get(arn).and_then(|entry| value(entry, name));
    own.or_else(|| variable(name).filter(|_| !VARIABLES_OF_ONE_QUEUE.contains(&name)))
}

type Entries = BTreeMap<String, Map<String, Value>>;

fn parse(queues: &str) -> Result<Entries, InvalidSetting> {
    serde_json::from_str(queues).map_err(|error| {
        let example =
            r#"JSON such as {"arn:aws:sqs:eu-central-1:123456789012:orders":{"max_receive_count":5}}"#;
        let allowed = format!("{example} ({})", cut_to(&error.to_string(), 256));
        InvalidSetting::new(VARIABLE, Quoted(queues), allowed)
    })
}

/// Returns a value of an entry as the text of the variable. The entry may have it as a string or as JSON.
fn value(entry: &Map<String, Value>, name: &str) -> Option<String> {
    match entry.get(&key(name))? {
        Value::String(text) => Some(text.clone()),
        value => Some(value.to_string()),
    }
}

/// Returns the key of a variable in an entry: its name without `REDRIVE_`, in lower case.
fn key(name: &str) -> String {
    name.split_once('_').map_or(name, |(_, key)| key).to_lowercase()
}

impl Settings {
    /// Reads the settings that the code has not set of the queues that the variable names.
    ///
    /// # Errors
    /// The variable does not parse. The error names the queue, the key and its value.
    pub(super) fn fill_queues(&mut self, queues: &str) -> Result<(), InvalidSetting> {
        for (arn, entry) in parse(queues)? {
            if !is_queue_arn(&arn) {
                return Err(no_arn(&format!("a queue in {VARIABLE}"), &arn));
            }
            let variable = |name: &str| value(&entry, name);
            let name = |name: &str| format!("{} of {arn} in {VARIABLE}", key(name));
            let own = self.queues.entry(arn.clone()).or_default();
            own.fill_own(&Fill { variable: &variable, name: &name })?;
            let known: Vec<_> = VARIABLES_OF_QUEUES.iter().map(|name| key(name)).collect();
            if let Some(unknown) = entry.keys().find(|key| !known.contains(key)) {
                let name = format!("a key of {arn} in {VARIABLE}");
                return Err(InvalidSetting::new(&name, Quoted(unknown), known.join(", ")));
            }
        }
        Ok(())
    }

    /// Returns the settings for the batches of a queue.
    ///
    /// # Errors
    /// Queues are named, and this is not one of them.
    pub(crate) fn of_queue(&self, arn: &str) -> Result<Cow<'_, Self>, InvalidSetting> {
        match self.queues.get(arn) {
            Some(own) => Ok(Cow::Owned(own.clone().or(self))),
            None if self.queues.is_empty() => Ok(Cow::Borrowed(self)),
            None => {
                let allowed = "a queue that REDRIVE_QUEUES or Consumer::queue names";
                Err(InvalidSetting::new("eventSourceARN", Quoted(arn), allowed))
            }
        }
    }

    /// Checks the settings of each queue.
    pub(super) fn check_queues(&self) -> Result<(), InvalidSetting> {
        if let Some(name) = self.of_one_queue().filter(|_| !self.queues.is_empty()) {
            let allowed = "not set beside REDRIVE_QUEUES and Consumer::queue, which say it for each queue";
            return Err(InvalidSetting::new(name, "set", allowed));
        }
        for arn in self.queues.keys() {
            if !is_queue_arn(arn) {
                return Err(no_arn("a queue", arn));
            }
            let own = self.of_queue(arn)?;
            own.check_dead_letter_queue(arn)?;
            if let Some(url) = own.dead_letter_queue_url.as_deref()
                && self.queues.keys().any(|queue| is_same_queue(queue, url))
            {
                let name = format!("{} of {arn}", QueueUrl::NAME);
                let allowed =
                    "a queue whose messages are not handled here, so that its letters do not come back";
                return Err(InvalidSetting::new(&name, Quoted(url), allowed));
            }
            own.check().map_err(|error| InvalidSetting(format!("settings of {arn}: {error}")))?;
        }
        Ok(())
    }

    /// Refuses the source queue as its own dead-letter queue, which would deliver each letter again at once, and a queue of the
    /// other type, which SQS does not allow.
    /// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html>
    pub(crate) fn check_dead_letter_queue(&self, source: &str) -> Result<(), InvalidSetting> {
        let Some(url) = self.dead_letter_queue_url.as_deref() else { return Ok(()) };
        let allowed = if is_same_queue(source, url) {
            format!("another queue than its source {source}")
        } else if source.is_empty() || is_fifo(source) == is_fifo(url) {
            return Ok(());
        } else {
            let kind = if is_fifo(source) { "FIFO" } else { "standard" };
            format!("a {kind} queue, as its source {source} is")
        };
        Err(InvalidSetting::new(QueueUrl::NAME, Quoted(url), allowed))
    }
}

fn no_arn(name: &str, arn: &str) -> InvalidSetting {
    let allowed = "the ARN of a queue such as arn:aws:sqs:eu-central-1:123456789012:orders";
    InvalidSetting::new(name, Quoted(arn), allowed)
}

#[cfg(test)]
mod tests;
