//! `RedrivePolicy` and `RedriveAllowPolicy`, the two attributes of a queue that are JSON.
//! <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html>

use serde::Deserialize;
use serde_json::{Value, json};

use crate::limits::{MAX_RECEIVE_COUNT, in_words};

/// Most queues that a redrive allow policy can name.
pub const MAX_SOURCES: usize = 10;

/// A redrive policy: the dead-letter queue, and the receives after which a message moves there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedrivePolicy {
    /// The ARN of the dead-letter queue.
    pub dead_letter_target_arn: String,
    /// Receives of a message before it moves: 1 to 1,000.
    pub max_receive_count: u32,
}

/// A redrive allow policy: the queues that may name this one in their redrive policy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(clippy::exhaustive_enums, reason = "SQS has no other")]
pub enum RedriveAllowPolicy {
    /// All queues of the account and region.
    #[default]
    AllowAll,
    /// No queue.
    DenyAll,
    /// The queues with these ARNs, 1 to 10.
    ByQueue(Vec<String>),
}

/// The reason why SQS refuses a policy, in its words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidPolicy(String);

impl RedrivePolicy {
    /// Reads the attribute, whose count may be a number or a string.
    ///
    /// # Errors
    /// Returns an error if the text is not a JSON object, if a field is missing, or if the count is out of range.
    pub fn parse(text: &str) -> Result<Self, InvalidPolicy> {
        let refused = |reason: String| Err(InvalidPolicy(reason));
        let Ok(Value::Object(policy)) = serde_json::from_str(text) else {
            return refused("Redrive policy is not a valid JSON map.".to_owned());
        };
        let mandatory = |name: &str| {
            let reason = format!("Redrive policy does not contain mandatory attribute: {name}.");
            policy.get(name).ok_or(InvalidPolicy(reason))
        };
        let Some(target_arn) = mandatory("deadLetterTargetArn")?.as_str() else {
            return refused("Invalid value for deadLetterTargetArn.".to_owned());
        };
        let count = match mandatory("maxReceiveCount")? {
            Value::String(count) => count.clone(),
            count => count.to_string(),
        };
        match count.parse() {
            Ok(max_receive_count) if MAX_RECEIVE_COUNT.contains(&max_receive_count) => {
                Ok(Self { dead_letter_target_arn: target_arn.to_owned(), max_receive_count })
            }
            _ => refused(format!(
                "Invalid value for maxReceiveCount: {count}, valid values are from {} both inclusive.",
                in_words(&MAX_RECEIVE_COUNT)
            )),
        }
    }

    /// Returns the attribute as SQS returns it, with the count as a number.
    #[must_use]
    pub fn to_json(&self) -> String {
        let (target, count) = (&self.dead_letter_target_arn, self.max_receive_count);
        json!({ "deadLetterTargetArn": target, "maxReceiveCount": count }).to_string()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AllowPolicy {
    #[serde(default)]
    redrive_permission: Permission,
    source_queue_arns: Option<Vec<String>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
enum Permission {
    #[default]
    AllowAll,
    DenyAll,
    ByQueue,
}

impl RedriveAllowPolicy {
    /// Reads the attribute. Without a permission the policy allows all queues, which is SQS's default.
    ///
    /// # Errors
    /// Returns an error for any other JSON, for `sourceQueueArns` without `byQueue`, and for `byQueue` without 1 to 10 of
    /// them.
    pub fn parse(text: &str) -> Result<Self, InvalidPolicy> {
        let policy: AllowPolicy =
            serde_json::from_str(text).map_err(|error| InvalidPolicy(error.to_string()))?;
        let refused = |reason: &str| Err(InvalidPolicy(reason.to_owned()));
        match (policy.redrive_permission, policy.source_queue_arns) {
            (Permission::AllowAll, None) => Ok(Self::AllowAll),
            (Permission::DenyAll, None) => Ok(Self::DenyAll),
            (Permission::ByQueue, Some(arns)) if (1..=MAX_SOURCES).contains(&arns.len()) => {
                Ok(Self::ByQueue(arns))
            }
            (Permission::ByQueue, _) => {
                refused(&format!("sourceQueueArns must name 1 to {MAX_SOURCES} queues."))
            }
            (_, Some(_)) => refused("sourceQueueArns goes with byQueue only."),
        }
    }

    /// Returns true if the queue with this ARN may name the queue that has the policy.
    #[must_use]
    pub fn allows(&self, source_arn: &str) -> bool {
        match self {
            Self::AllowAll => true,
            Self::DenyAll => false,
            Self::ByQueue(arns) => arns.iter().any(|arn| arn == source_arn),
        }
    }

    /// Returns the attribute as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        match self {
            Self::AllowAll => json!({ "redrivePermission": "allowAll" }),
            Self::DenyAll => json!({ "redrivePermission": "denyAll" }),
            Self::ByQueue(arns) => json!({ "redrivePermission": "byQueue", "sourceQueueArns": arns }),
        }
        .to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_can_be_a_number_or_a_string_and_returns_as_a_number() {
        for count in ["3", "\"3\""] {
            let text = format!(r#"{{"maxReceiveCount":{count},"deadLetterTargetArn":"a"}}"#);
            let policy = RedrivePolicy::parse(&text).unwrap();
            assert_eq!(policy.to_json(), r#"{"deadLetterTargetArn":"a","maxReceiveCount":3}"#);
        }
    }

    #[test]
    fn a_policy_that_is_incomplete_or_out_of_range_is_refused_with_the_reason() {
        let range = "valid values are from 1 to 1000 both inclusive";
        for (text, reason) in [
            ("", "not a valid JSON map"),
            ("[]", "not a valid JSON map"),
            ("{", "not a valid JSON map"),
            (r#"{"deadLetterTargetArn":"a"}"#, "does not contain mandatory attribute: maxReceiveCount"),
            (r#"{"maxReceiveCount":3}"#, "does not contain mandatory attribute: deadLetterTargetArn"),
            (r#"{"deadLetterTargetArn":"a","maxReceiveCount":0}"#, range),
            (r#"{"deadLetterTargetArn":"a","maxReceiveCount":1001}"#, range),
            (r#"{"deadLetterTargetArn":"a","maxReceiveCount":"many"}"#, range),
            (r#"{"deadLetterTargetArn":"a","maxReceiveCount":1.5}"#, range),
        ] {
            let error = RedrivePolicy::parse(text).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn an_allow_policy_names_all_none_or_up_to_ten_queues() {
        let allows = |text: &str| RedriveAllowPolicy::parse(text).unwrap().allows("a");
        assert!(allows(r#"{"redrivePermission":"allowAll"}"#));
        assert!(allows("{}"));
        assert!(!allows(r#"{"redrivePermission":"denyAll"}"#));
        assert!(allows(r#"{"redrivePermission":"byQueue","sourceQueueArns":["a"]}"#));
        assert!(!allows(r#"{"redrivePermission":"byQueue","sourceQueueArns":["b"]}"#));
        for text in [
            "no",
            r#"{"redrivePermission":"some"}"#,
            r#"{"redrivePermission":"byQueue"}"#,
            r#"{"redrivePermission":"byQueue","sourceQueueArns":[]}"#,
            r#"{"redrivePermission":"allowAll","sourceQueueArns":["a"]}"#,
        ] {
            assert!(RedriveAllowPolicy::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_allow_policy_is_read_as_it_is_written() {
        let by_queue = RedriveAllowPolicy::ByQueue(vec!["a".to_owned()]);
        for policy in [RedriveAllowPolicy::AllowAll, RedriveAllowPolicy::DenyAll, by_queue] {
            assert_eq!(RedriveAllowPolicy::parse(&policy.to_json()), Ok(policy));
        }
    }
}
