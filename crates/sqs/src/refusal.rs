//! Sorts SQS's error codes by what a caller can do about them.
//! <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/CommonErrors.html>
//! <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html#API_SendMessageBatch_Errors>

/// The cause for which SQS refused a call or an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the last is for all other codes")]
pub enum Refusal {
    /// The rate of calls was too high: nothing was done, and the next try may succeed.
    Throttled,
    /// SQS itself failed: the next try may succeed.
    OfTheService,
    /// The queue, its key or the caller is at fault: no other entry would succeed.
    OfTheCaller,
    /// The content of an entry is at fault: other entries may succeed.
    OfTheEntry,
    /// redrive does not know the code.
    Unknown,
}

const THROTTLED: [&str; 8] = [
    "BandwidthLimitExceeded",
    "KmsThrottled",
    "RequestLimitExceeded",
    "RequestThrottled",
    "ThrottledException",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
];

const OF_THE_SERVICE: [&str; 8] = [
    "InternalError",
    "InternalFailure",
    "InternalServerError",
    "OverLimit",
    "RequestTimeout",
    "RequestTimeoutException",
    "ServiceUnavailable",
    "ServiceUnavailableException",
];

const OF_THE_CALLER: [&str; 25] = [
    "AccessDenied",
    "AccessDeniedException",
    "AuthFailure",
    "ExpiredToken",
    "ExpiredTokenException",
    "IncompleteSignature",
    "InvalidAddress",
    "InvalidClientTokenId",
    "InvalidSecurity",
    "InvalidSignatureException",
    "KmsAccessDenied",
    "KmsDisabled",
    "KmsInvalidKeyUsage",
    "KmsInvalidState",
    "KmsNotFound",
    "KmsOptInRequired",
    "MissingAuthenticationToken",
    "NonExistentQueue",
    "NotAuthorized",
    "OptInRequired",
    "QueueDeletedRecently",
    "QueueDoesNotExist",
    "RequestExpired",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
];

const OF_THE_ENTRY: [&str; 9] = [
    "BatchRequestTooLong",
    "InvalidAttributeValue",
    "InvalidMessageContents",
    "InvalidParameterCombination",
    "InvalidParameterValue",
    "MessageNotInflight",
    "MissingParameter",
    "ReceiptHandleIsInvalid",
    "UnsupportedOperation",
];

impl Refusal {
    /// Returns the cause by the code, with or without the prefix of a protocol: `AWS.SimpleQueueService.NonExistentQueue`,
    /// `com.amazonaws.sqs#QueueDoesNotExist`.
    #[must_use]
    pub fn of(code: &str) -> Self {
        let kinds: [(Self, &[&str]); 4] = [
            (Self::Throttled, &THROTTLED),
            (Self::OfTheService, &OF_THE_SERVICE),
            (Self::OfTheCaller, &OF_THE_CALLER),
            (Self::OfTheEntry, &OF_THE_ENTRY),
        ];
        let name = bare_code(code);
        kinds.iter().find(|(_, codes)| codes.contains(&name)).map_or(Self::Unknown, |(kind, _)| *kind)
    }

    /// Returns true if the same call may succeed later.
    #[must_use]
    pub fn may_pass(self) -> bool {
        matches!(self, Self::Throttled | Self::OfTheService)
    }
}

/// Returns true if the credentials have expired or a clock is wrong. The call may succeed once they are renewed or the clock
/// is set.
#[must_use]
pub fn is_expired_or_skewed(code: &str) -> bool {
    let codes = ["ExpiredToken", "ExpiredTokenException", "RequestExpired", "RequestTimeTooSkewed"];
    codes.contains(&bare_code(code))
}

/// Returns a code without the prefix of a protocol.
#[must_use]
pub fn bare_code(code: &str) -> &str {
    code.rsplit(['.', '#']).next().unwrap_or(code)
}

/// Returns true if a failed entry of a batch may succeed unchanged. AWS sometimes reports throttling as the sender's fault.
#[must_use]
pub fn may_go_better(code: &str, sender_fault: bool) -> bool {
    !sender_fault || Refusal::of(code).may_pass()
}

/// Returns true if SQS refused to change a visibility timeout because the message is deleted or visible. The invalid
/// parameter is then the receipt handle, unless SQS names the timeout.
#[must_use]
pub fn has_lease_ended(code: &str, message: Option<&str>) -> bool {
    match bare_code(code) {
        "MessageNotInflight" | "ReceiptHandleIsInvalid" => true,
        "InvalidParameterValue" => !message.is_some_and(|message| message.contains("VisibilityTimeout")),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_known_with_and_without_its_prefix() {
        use Refusal::{OfTheCaller, OfTheEntry, OfTheService, Throttled, Unknown};
        for (code, expected) in [
            ("RequestThrottled", Throttled),
            ("AWS.SimpleQueueService.RequestThrottled", Throttled),
            ("KMS.ThrottlingException", Throttled),
            ("com.amazonaws.sqs#KmsThrottled", Throttled),
            ("ServiceUnavailable", OfTheService),
            ("InternalError", OfTheService),
            ("OverLimit", OfTheService),
            ("AccessDenied", OfTheCaller),
            ("AWS.SimpleQueueService.NonExistentQueue", OfTheCaller),
            ("KmsAccessDenied", OfTheCaller),
            ("InvalidParameterValue", OfTheEntry),
            ("AWS.SimpleQueueService.BatchRequestTooLong", OfTheEntry),
            ("ReceiptHandleIsInvalid", OfTheEntry),
            ("SomethingNew", Unknown),
            ("", Unknown),
        ] {
            assert_eq!(Refusal::of(code), expected, "{code}");
        }
    }

    #[test]
    fn an_entry_that_is_throttled_may_go_better_whoever_is_blamed() {
        assert!(may_go_better("RequestThrottled", true));
        assert!(may_go_better("InternalError", true));
        assert!(may_go_better("InvalidParameterValue", false));
        assert!(!may_go_better("InvalidParameterValue", true));
    }

    #[test]
    fn a_refused_timeout_does_not_end_a_lease_but_a_gone_message_does() {
        let ended = |code, message: &str| has_lease_ended(code, Some(message));
        let gone = "Value h for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for \
                    visibility timeout change.";
        assert!(ended("InvalidParameterValue", gone));
        assert!(ended("InvalidParameterValue", "Reason: The receipt handle has expired."));
        assert!(ended("ReceiptHandleIsInvalid", "The input receipt handle is invalid."));
        assert!(has_lease_ended("AWS.SimpleQueueService.MessageNotInflight", None));
        let beyond = "Total VisibilityTimeout for the message is beyond the limit [43200 seconds]";
        assert!(!ended("InvalidParameterValue", beyond));
        assert!(!ended("RequestThrottled", "") && !ended("AccessDenied", "") && !ended("SomethingNew", ""));
    }
}
