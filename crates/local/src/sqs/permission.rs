//! Permissions by label, stored as statements of the attribute `Policy`. They are not enforced here.
//!
//! <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_AddPermission.html>

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde_json::{Value, json};

use super::Sqs;
use crate::protocol::AwsError;
use crate::queue::error;

const MOST_ACTIONS: usize = 7;

impl Sqs {
    /// Allows accounts some actions on a queue, under a label.
    ///
    /// # Errors
    /// Returns an error for a label that is taken or invalid, and for more than seven actions.
    pub(crate) fn add_permission(
        &mut self,
        queue: &str,
        label: &str,
        accounts: &[String],
        actions: &[String],
        now: SystemTime,
    ) -> Result<(), AwsError> {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if !(1..=80).contains(&label.len()) || !label.bytes().all(is_word) {
            let reason =
                "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length.";
            return Err(error::invalid("Label", label, reason));
        }
        if actions.len() > MOST_ACTIONS {
            let message = format!("{} actions, maximum is {MOST_ACTIONS} per statement.", actions.len());
            return Err(error::OVER_LIMIT.error(message));
        }
        let mut policy = self.policy(queue)?;
        let statements = statements(&mut policy);
        if statements.iter().any(|statement| statement["Sid"] == label) {
            return Err(error::invalid("Label", label, "Already exists."));
        }
        let principals = accounts.iter().map(|account| format!("arn:aws:iam::{account}:root"));
        statements.push(json!({
            "Sid": label,
            "Effect": "Allow",
            "Principal": { "AWS": one_or_all(principals) },
            "Action": one_or_all(actions.iter().map(|action| format!("SQS:{action}"))),
            "Resource": self.arn(queue),
        }));
        self.set_policy(queue, policy.to_string(), now)
    }

    /// Removes a permission.
    ///
    /// # Errors
    /// Returns an error if the label does not exist.
    pub(crate) fn remove_permission(
        &mut self,
        queue: &str,
        label: &str,
        now: SystemTime,
    ) -> Result<(), AwsError> {
        let mut policy = self.policy(queue)?;
        let statements = statements(&mut policy);
        let before = statements.len();
        statements.retain(|statement| statement["Sid"] != label);
        if statements.len() == before {
            return Err(error::invalid("Label", label, "can't find label."));
        }
        let policy = if statements.is_empty() { String::new() } else { policy.to_string() };
        self.set_policy(queue, policy, now)
    }

    fn policy(&self, queue: &str) -> Result<Value, AwsError> {
        let attributes = self.entry(queue)?.queue.settings().attributes();
        let policy = attributes.get("Policy").and_then(|policy| serde_json::from_str(policy).ok());
        Ok(policy.unwrap_or_else(
            || json!({ "Version": "2008-10-17", "Id": format!("{}/SQSDefaultPolicy", self.arn(queue)) }),
        ))
    }

    fn set_policy(&mut self, queue: &str, policy: String, now: SystemTime) -> Result<(), AwsError> {
        self.set_attributes(queue, &BTreeMap::from([("Policy".to_owned(), policy)]), now)
    }
}

/// Returns the statements of a policy. A single statement may lack the list around it.
fn statements(policy: &mut Value) -> &mut Vec<Value> {
    let statements = &mut policy["Statement"];
    if !statements.is_array() {
        let alone = statements.take();
        *statements = Value::Array(if alone.is_null() { Vec::new() } else { vec![alone] });
    }
    statements.as_array_mut().expect("it was made a list if it was none")
}

fn one_or_all(values: impl Iterator<Item = String>) -> Value {
    match &values.collect::<Vec<_>>()[..] {
        [one] => json!(one),
        all => json!(all),
    }
}
