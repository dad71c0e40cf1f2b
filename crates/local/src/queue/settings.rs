//! Reads and checks the attributes that a queue's owner sets.

use std::collections::BTreeMap;
use std::time::Duration;

use redrive_sqs::{InvalidPolicy, QUEUE_NUMBERS, RedriveAllowPolicy, RedrivePolicy, is_fifo, is_queue_name};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::encryption;
use super::error;
use crate::protocol::AwsError;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(into = "Given", try_from = "Given")]
pub(crate) struct Settings {
    /// The given attributes by SQS's names, from which the fields below are read.
    given: BTreeMap<String, String>,
    pub(crate) fifo: bool,
    pub(crate) visibility_timeout: Duration,
    pub(super) delay: Duration,
    pub(super) retention: Duration,
    pub(super) maximum_message_size: usize,
    /// Default wait of a receive.
    pub(crate) receive_wait: Duration,
    pub(crate) redrive_policy: Option<RedrivePolicy>,
    pub(crate) redrive_allow_policy: RedriveAllowPolicy,
    pub(super) content_based_deduplication: bool,
    /// True if a deduplication id counts within its group only.
    pub(super) deduplication_by_group: bool,
}

/// What all settings follow from.
#[derive(Serialize, Deserialize)]
struct Given {
    fifo: bool,
    attributes: BTreeMap<String, String>,
    content_based_deduplication: bool,
    deduplication_by_group: bool,
}

impl From<Settings> for Given {
    fn from(settings: Settings) -> Self {
        let Settings { fifo, given, content_based_deduplication, deduplication_by_group, .. } = settings;
        Self { fifo, attributes: given, content_based_deduplication, deduplication_by_group }
    }
}

impl TryFrom<Given> for Settings {
    type Error = AwsError;

    fn try_from(given: Given) -> Result<Self, AwsError> {
        let Given { fifo, attributes, content_based_deduplication, deduplication_by_group } = given;
        let read = Self::read(fifo, attributes)?;
        Ok(Self { content_based_deduplication, deduplication_by_group, ..read })
    }
}

/// Values of FIFO attributes, the default first. True and false can be written in any case on any queue.
const FIFO_WORDS: [(&str, [&str; 2]); 3] = [
    ("ContentBasedDeduplication", ["false", "true"]),
    ("DeduplicationScope", ["queue", "messageGroup"]),
    ("FifoThroughputLimit", ["perQueue", "perMessageGroupId"]),
];

const TRUTH_VALUES: [&str; 3] = ["ContentBasedDeduplication", "FifoQueue", "SqsManagedSseEnabled"];

impl Settings {
    /// Returns the settings of a new queue.
    ///
    /// # Errors
    /// Returns an error for a name or an attribute that SQS refuses.
    pub(crate) fn new(name: &str, attributes: &BTreeMap<String, String>) -> Result<Self, AwsError> {
        let mut given = lower_case(attributes);
        let fifo = match given.remove("FifoQueue").as_deref() {
            None => false,
            Some("true") => true,
            Some(_) => return Err(unknown("FifoQueue")),
        };
        check_name(name, fifo)?;
        check_given(fifo, &given)?;
        encryption::complete(&mut given)?;
        Self::read(fifo, given)
    }

    /// Returns these settings with some attributes changed. An empty value removes an attribute. The rules for duplicates
    /// stay as they were when the queue was created, even if the attributes change:
    /// <https://github.com/localstack/localstack/blob/8b9a79f/tests/aws/services/sqs/test_sqs.snapshot.json>
    pub(crate) fn changed(&self, attributes: &BTreeMap<String, String>) -> Result<Self, AwsError> {
        let mut changes = lower_case(attributes);
        if self.fifo && changes.remove("FifoQueue").is_some_and(|fifo| fifo != "true") {
            let message =
                "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.";
            return Err(error::INVALID_ATTRIBUTE_VALUE.error(message));
        }
        check_given(self.fifo, &changes)?;
        encryption::complete(&mut changes)?;
        let mut given = self.given.clone();
        given.extend(changes);
        Ok(Self { deduplication_by_group: self.deduplication_by_group, ..Self::read(self.fifo, given)? })
    }

    /// Returns the settings by SQS's names, defaults included.
    pub(crate) fn attributes(&self) -> BTreeMap<String, String> {
        let numbers =
            QUEUE_NUMBERS.iter().map(|(name, _, default)| ((*name).to_owned(), default.to_string()));
        let mut attributes: BTreeMap<_, _> = numbers.collect();
        attributes.insert("SqsManagedSseEnabled".to_owned(), "true".to_owned());
        if self.fifo {
            attributes.insert("FifoQueue".to_owned(), "true".to_owned());
            attributes.extend(FIFO_WORDS.map(|(name, [default, _])| (name.to_owned(), default.to_owned())));
        }
        attributes.extend(self.given.clone());
        if let Some(policy) = &self.redrive_policy {
            attributes.insert("RedrivePolicy".to_owned(), policy.to_json());
        }
        encryption::complete_reported(&mut attributes);
        attributes
    }

    fn read(fifo: bool, mut given: BTreeMap<String, String>) -> Result<Self, AwsError> {
        given.retain(|_, value| !value.is_empty());
        check_throughput(&given)?;
        let number = |name: &str| given.get(name).and_then(|value| value.parse().ok());
        let [delay, _, size, retention, receive_wait, visibility_timeout] =
            QUEUE_NUMBERS.map(|(name, _, default)| number(name).unwrap_or(default));
        let is = |name: &str, value: &str| given.get(name).is_some_and(|given| given == value);
        Ok(Self {
            fifo,
            visibility_timeout: Duration::from_secs(visibility_timeout),
            delay: Duration::from_secs(delay),
            retention: Duration::from_secs(retention),
            maximum_message_size: usize::try_from(size).unwrap_or(usize::MAX),
            receive_wait: Duration::from_secs(receive_wait),
            redrive_policy: policy(&given, "RedrivePolicy", RedrivePolicy::parse)?,
            redrive_allow_policy: policy(&given, "RedriveAllowPolicy", RedriveAllowPolicy::parse)?
                .unwrap_or_default(),
            content_based_deduplication: is("ContentBasedDeduplication", "true"),
            deduplication_by_group: is("DeduplicationScope", "messageGroup"),
            given,
        })
    }
}

fn lower_case(attributes: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let value = |(name, value): (&String, &String)| {
        let is_truth = TRUTH_VALUES.contains(&name.as_str());
        (name.clone(), if is_truth { value.to_ascii_lowercase() } else { value.clone() })
    };
    attributes.iter().map(value).collect()
}

fn check_given(fifo: bool, attributes: &BTreeMap<String, String>) -> Result<(), AwsError> {
    let mut given = attributes.iter().filter(|(_, value)| !value.is_empty());
    given.try_for_each(|(name, value)| check_attribute(fifo, name, value))
}

fn check_attribute(fifo: bool, name: &str, value: &str) -> Result<(), AwsError> {
    let is_allowed = if let Some((_, range, _)) = QUEUE_NUMBERS.iter().find(|(number, ..)| *number == name) {
        value.parse().is_ok_and(|value| range.contains(&value))
    } else if let Some((_, words)) = FIFO_WORDS.iter().find(|(word, _)| fifo && *word == name) {
        words.contains(&value)
    } else {
        match name {
            "SqsManagedSseEnabled" => ["true", "false"].contains(&value),
            "Policy" => serde_json::from_str(value).is_ok_and(|policy: Value| policy.is_object()),
            "KmsMasterKeyId" | "RedrivePolicy" | "RedriveAllowPolicy" => true,
            "DeduplicationScope" | "FifoThroughputLimit" => {
                let message = format!("You can specify the {name} only when FifoQueue is set to true.");
                return Err(error::INVALID_ATTRIBUTE_NAME.error(message));
            }
            _ => return Err(unknown(name)),
        }
    };
    if is_allowed { Ok(()) } else { Err(invalid(name)) }
}

/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html>
fn check_throughput(given: &BTreeMap<String, String>) -> Result<(), AwsError> {
    let is = |name: &str, value: &str| given.get(name).is_some_and(|given| given == value);
    let is_by_group = is("DeduplicationScope", "messageGroup");
    if is("FifoThroughputLimit", "perMessageGroupId") && !is_by_group {
        return Err(invalid("FifoThroughputLimit"));
    }
    Ok(())
}

fn invalid(attribute: &str) -> AwsError {
    let message = format!("Invalid value for the parameter {attribute}.");
    error::INVALID_ATTRIBUTE_VALUE.error(message)
}

fn unknown(attribute: &str) -> AwsError {
    error::INVALID_ATTRIBUTE_NAME.error(format!("Unknown Attribute {attribute}."))
}

/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-queues.html>
fn check_name(name: &str, fifo: bool) -> Result<(), AwsError> {
    if is_queue_name(name) && is_fifo(name) == fifo {
        return Ok(());
    }
    let message = if fifo {
        "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end \
         with .fifo suffix and be 1 to 80 in length."
    } else {
        "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length."
    };
    Err(error::INVALID_PARAMETER_VALUE.error(message))
}

/// Parses a policy among the attributes. The error is in SQS's words.
fn policy<T>(
    given: &BTreeMap<String, String>,
    name: &str,
    parse: impl FnOnce(&str) -> Result<T, InvalidPolicy>,
) -> Result<Option<T>, AwsError> {
    let read = |text: &String| parse(text).map_err(|reason| error::invalid(name, text, reason));
    given.get(name).map(read).transpose()
}

#[cfg(test)]
mod tests {
    use super::super::testing::map;
    use super::*;

    #[test]
    fn truth_values_may_be_written_in_any_case() {
        let settings = Settings::new("a.fifo", &map(&[("FifoQueue", "True")])).unwrap();
        assert_eq!(settings.attributes()["FifoQueue"], "true");
    }
}
