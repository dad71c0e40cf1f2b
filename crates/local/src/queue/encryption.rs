//! The attributes of encryption at rest. Here they only change the attributes that a queue reports.
//!
//! <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-server-side-encryption.html>

use std::collections::BTreeMap;

use super::error;
use crate::protocol::AwsError;

const KEY: &str = "KmsMasterKeyId";
const KEY_REUSE: &str = "KmsDataKeyReusePeriodSeconds";
const BY_SQS: &str = "SqsManagedSseEnabled";

/// Completes a change: a key of KMS replaces that of SQS, and the reverse (which is unverified). Without either a queue is
/// not encrypted, as AWS was observed to report after a key was removed.
///
/// # Errors
/// Returns an error if the change requests both. AWS was observed to refuse that with this code:
/// <https://github.com/localstack/localstack/blob/8b9a79f/tests/aws/services/sqs/test_sqs.snapshot.json>
pub(super) fn complete(changes: &mut BTreeMap<String, String>) -> Result<(), AwsError> {
    let has_key = changes.get(KEY).is_some_and(|key| !key.is_empty());
    let by_sqs = changes.get(BY_SQS).is_some_and(|by_sqs| by_sqs == "true");
    if has_key && by_sqs {
        let message = "You can use one type of server-side encryption (SSE) at one time. You can either enable KMS \
                       SSE or SQS SSE.";
        return Err(error::INVALID_ATTRIBUTE_NAME.error(message));
    }
    if has_key {
        changes.insert(BY_SQS.to_owned(), "false".to_owned());
    } else if by_sqs {
        changes.insert(KEY.to_owned(), String::new());
    }
    Ok(())
}

/// Completes the reported attributes. Only a queue with a key of KMS reports how long it uses a data key.
pub(super) fn complete_reported(attributes: &mut BTreeMap<String, String>) {
    if !attributes.contains_key(KEY) {
        attributes.remove(KEY_REUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Settings;
    use super::super::testing::map;
    use super::*;

    #[test]
    fn one_key_replaces_the_other() {
        let settings = Settings::new("q", &map(&[])).unwrap();
        let told = |settings: &Settings| {
            let attributes = settings.attributes();
            [BY_SQS, KEY, KEY_REUSE].map(|name| attributes.get(name).cloned().unwrap_or_default())
        };
        assert_eq!(told(&settings), ["true", "", ""]);
        let with_key = settings.changed(&map(&[(KEY, "alias/k"), (KEY_REUSE, "6000")])).unwrap();
        assert_eq!(told(&with_key), ["false", "alias/k", "6000"]);
        let without = with_key.changed(&map(&[(KEY, "")])).unwrap();
        assert_eq!(told(&without), ["false", "", ""]);
        assert_eq!(told(&with_key.changed(&map(&[(BY_SQS, "true")])).unwrap()), ["true", "", ""]);
    }
}
