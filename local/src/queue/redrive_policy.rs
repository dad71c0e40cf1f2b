//! `RedrivePolicy` and `RedriveAllowPolicy`, the two attributes that are JSON.

use serde::Deserialize;
use serde_json::{Value, json};

use super::error::SqsError;

/// After how many receives a message goes to which queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RedrivePolicy {
    pub(crate) target_arn: String,
    /// 1 to 1,000.
    pub(crate) max_receive_count: u32,
}

impl RedrivePolicy {
    /// Reads the attribute, whose count may be a number or a string.
    pub(super) fn parse(text: &str) -> Result<Self, SqsError> {
        let refused = |reason: &str| SqsError::invalid("RedrivePolicy", text, reason);
        let Ok(Value::Object(policy)) = serde_json::from_str(text) else {
            return Err(refused("Redrive policy is not a valid JSON map."));
        };
        let mandatory = |name: &str| {
            let reason = format!("Redrive policy does not contain mandatory attribute: {name}.");
            policy.get(name).ok_or_else(|| refused(&reason))
        };
        let Some(target_arn) = mandatory("deadLetterTargetArn")?.as_str() else {
            return Err(refused("Invalid value for deadLetterTargetArn."));
        };
        let count = match mandatory("maxReceiveCount")? {
            Value::String(count) => count.clone(),
            count => count.to_string(),
        };
        match count.parse() {
            Ok(max_receive_count @ 1..=1_000) => {
                Ok(Self { target_arn: target_arn.to_owned(), max_receive_count })
            }
            _ => Err(refused(&format!(
                "Invalid value for maxReceiveCount: {count}, valid values are from 1 to 1000 both inclusive."
            ))),
        }
    }

    /// The attribute as SQS gives it back, with the count as a number.
    pub(crate) fn to_json(&self) -> String {
        let (target, count) = (&self.target_arn, self.max_receive_count);
        json!({ "deadLetterTargetArn": target, "maxReceiveCount": count }).to_string()
    }
}

/// Which queues may name this one in their redrive policy.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(tag = "redrivePermission")]
pub(crate) enum RedriveAllowPolicy {
    #[default]
    #[serde(rename = "allowAll")]
    AllowAll,
    #[serde(rename = "denyAll")]
    DenyAll,
    #[serde(rename = "byQueue")]
    ByQueue {
        #[serde(rename = "sourceQueueArns")]
        source_queue_arns: Vec<String>,
    },
}

impl RedriveAllowPolicy {
    pub(super) fn parse(text: &str) -> Result<Self, SqsError> {
        let refused = |reason: String| SqsError::invalid("RedriveAllowPolicy", text, reason);
        let given: Value = serde_json::from_str(text).map_err(|error| refused(error.to_string()))?;
        let names_queues = given.get("sourceQueueArns").is_some();
        match Self::deserialize(given).map_err(|error| refused(error.to_string()))? {
            Self::AllowAll | Self::DenyAll if names_queues => {
                Err(refused("sourceQueueArns goes with byQueue only.".to_owned()))
            }
            Self::ByQueue { source_queue_arns } if !(1..=10).contains(&source_queue_arns.len()) => {
                Err(refused("sourceQueueArns must name 1 to 10 queues.".to_owned()))
            }
            policy => Ok(policy),
        }
    }

    pub(crate) fn allows(&self, source_arn: &str) -> bool {
        match self {
            Self::AllowAll => true,
            Self::DenyAll => false,
            Self::ByQueue { source_queue_arns } => source_queue_arns.iter().any(|arn| arn == source_arn),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_may_be_a_number_or_a_string_and_comes_back_as_a_number() {
        for count in ["3", "\"3\""] {
            let policy =
                RedrivePolicy::parse(&format!(r#"{{"maxReceiveCount":{count},"deadLetterTargetArn":"a"}}"#))
                    .unwrap();
            assert_eq!(policy.to_json(), r#"{"deadLetterTargetArn":"a","maxReceiveCount":3}"#);
        }
    }

    #[test]
    fn a_policy_that_is_incomplete_or_out_of_range_is_refused_with_the_reason() {
        let range = "valid values are from 1 to 1000 both inclusive";
        for (text, reason) in [
            ("[]", "not a valid JSON map"),
            ("{", "not a valid JSON map"),
            (r#"{"deadLetterTargetArn":"a"}"#, "does not contain mandatory attribute: maxReceiveCount"),
            (r#"{"maxReceiveCount":3}"#, "does not contain mandatory attribute: deadLetterTargetArn"),
            (r#"{"deadLetterTargetArn":"a","maxReceiveCount":0}"#, range),
            (r#"{"deadLetterTargetArn":"a","maxReceiveCount":1001}"#, range),
            (r#"{"deadLetterTargetArn":"a","maxReceiveCount":"many"}"#, range),
            (r#"{"deadLetterTargetArn":"a","maxReceiveCount":1.5}"#, range),
        ] {
            let error = RedrivePolicy::parse(text).unwrap_err();
            assert_eq!(error.code(), "InvalidParameterValue");
            assert!(error.to_string().contains(reason), "{error}");
        }
    }

    #[test]
    fn an_allow_policy_names_all_none_or_up_to_ten_queues() {
        let allows = |text: &str| RedriveAllowPolicy::parse(text).map(|policy| policy.allows("a"));
        assert_eq!(allows(r#"{"redrivePermission":"allowAll"}"#), Ok(true));
        assert_eq!(allows(r#"{"redrivePermission":"denyAll"}"#), Ok(false));
        assert_eq!(allows(r#"{"redrivePermission":"byQueue","sourceQueueArns":["a"]}"#), Ok(true));
        assert_eq!(allows(r#"{"redrivePermission":"byQueue","sourceQueueArns":["b"]}"#), Ok(false));
        for text in [
            "no",
            r#"{"redrivePermission":"byQueue","sourceQueueArns":[]}"#,
            r#"{"redrivePermission":"allowAll","sourceQueueArns":["a"]}"#,
        ] {
            assert_eq!(allows(text).unwrap_err().code(), "InvalidParameterValue");
        }
    }
}
