//! What the ARN of a queue tells (its URL in any partition, its name, whether it is FIFO), and what a refusal means.

/// The DNS suffix of each partition that has one of its own.
/// <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html>
const SUFFIXES: [(&str, &str); 6] = [
    ("aws-cn", "amazonaws.com.cn"),
    ("aws-iso", "c2s.ic.gov"),
    ("aws-iso-b", "sc2s.sgov.gov"),
    ("aws-iso-e", "cloud.adc-e.uk"),
    ("aws-iso-f", "csp.hci.ic.gov"),
    ("aws-eusc", "amazonaws.eu"),
];

/// Nothing if it is not the ARN of a queue.
pub(crate) fn queue_url(arn: &str) -> Option<String> {
    let mut parts = arn.split(':');
    let mut part = || parts.next().filter(|part| !part.is_empty());
    let (Some("arn"), Some(partition), Some("sqs"), Some(region), Some(account), Some(name), None) =
        (part(), part(), part(), part(), part(), part(), part())
    else {
        return None;
    };
    let suffix =
        SUFFIXES.iter().find(|(name, _)| *name == partition).map_or("amazonaws.com", |(_, suffix)| suffix);
    Some(format!("https://sqs.{region}.{suffix}/{account}/{name}"))
}

/// The last part of an ARN, or of anything else that separates by colons.
pub(crate) fn queue_name(arn: &str) -> &str {
    arn.rsplit(':').next().unwrap_or(arn)
}

/// A FIFO queue is known by its name alone: messages of a standard queue may carry a group too (fair queues).
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-fair-queues.html>
pub(crate) fn is_fifo(queue: &str) -> bool {
    queue.ends_with(".fifo")
}

/// Whether an ARN and a URL name the same queue, as far as account and name tell.
pub(crate) fn is_same_queue(arn: &str, url: &str) -> bool {
    arn.rsplitn(3, ':').take(2).eq(url.trim_end_matches('/').rsplitn(3, '/').take(2))
}

/// What SQS had against a call, or against an entry of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Nothing: the next try may go better.
    ForNow,
    /// The queue, its key, or who calls it: no entry can help that.
    OfTheCaller,
    /// What an entry has in it.
    OfTheEntry,
}

/// What passes, by the names of the protocols that SQS and KMS speak.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/CommonErrors.html>
const FOR_NOW: [&str; 16] = [
    "BandwidthLimitExceeded",
    "InternalError",
    "InternalFailure",
    "InternalServerError",
    "KmsThrottled",
    "OverLimit",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestTimeout",
    "RequestTimeoutException",
    "ServiceUnavailable",
    "ServiceUnavailableException",
    "ThrottledException",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
];

/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html#API_SendMessageBatch_Errors>
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

/// What an error code means, whoever is blamed: AWS calls throttling the sender's fault at times.
pub(crate) fn refusal(code: &str) -> Refusal {
    // `AWS.SimpleQueueService.NonExistentQueue`, `com.amazonaws.sqs#QueueDoesNotExist`.
    let name = code.rsplit(['.', '#']).next().unwrap_or(code);
    if FOR_NOW.contains(&name) {
        Refusal::ForNow
    } else if OF_THE_CALLER.contains(&name) {
        Refusal::OfTheCaller
    } else {
        Refusal::OfTheEntry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_for_now_or_of_the_caller_or_of_the_entry() {
        use Refusal::{ForNow, OfTheCaller, OfTheEntry};
        for (code, expected) in [
            ("RequestThrottled", ForNow),
            ("AWS.SimpleQueueService.RequestThrottled", ForNow),
            ("Throttling", ForNow),
            ("ThrottlingException", ForNow),
            ("KMS.ThrottlingException", ForNow),
            ("KmsThrottled", ForNow),
            ("com.amazonaws.sqs#KmsThrottled", ForNow),
            ("ServiceUnavailable", ForNow),
            ("InternalError", ForNow),
            ("InternalFailure", ForNow),
            ("AccessDenied", OfTheCaller),
            ("AWS.SimpleQueueService.NonExistentQueue", OfTheCaller),
            ("KmsAccessDenied", OfTheCaller),
            ("InvalidClientTokenId", OfTheCaller),
            ("InvalidParameterValue", OfTheEntry),
            ("InvalidMessageContents", OfTheEntry),
            ("AWS.SimpleQueueService.BatchRequestTooLong", OfTheEntry),
            ("ReceiptHandleIsInvalid", OfTheEntry),
            ("MissingParameter", OfTheEntry),
            ("", OfTheEntry),
        ] {
            assert_eq!(refusal(code), expected, "{code}");
        }
    }

    #[test]
    fn every_partition_has_its_suffix() {
        let url = |arn| queue_url(arn).unwrap_or_default();
        assert_eq!(
            url("arn:aws:sqs:eu-central-1:123456789012:orders.fifo"),
            "https://sqs.eu-central-1.amazonaws.com/123456789012/orders.fifo"
        );
        assert_eq!(
            url("arn:aws-cn:sqs:cn-north-1:123456789012:orders"),
            "https://sqs.cn-north-1.amazonaws.com.cn/123456789012/orders"
        );
        assert!(
            url("arn:aws-us-gov:sqs:us-gov-west-1:123456789012:orders")
                .contains("us-gov-west-1.amazonaws.com/")
        );
    }

    #[test]
    fn a_queue_is_the_same_by_account_and_name() {
        let arn = "arn:aws:sqs:eu-central-1:123456789012:orders";
        assert!(is_same_queue(arn, "https://sqs.eu-central-1.amazonaws.com/123456789012/orders"));
        assert!(is_same_queue(arn, "http://127.0.0.1:4566/123456789012/orders/"));
        assert!(!is_same_queue(arn, "https://sqs.eu-central-1.amazonaws.com/123456789012/orders-dead"));
        assert!(!is_same_queue(arn, "https://sqs.eu-central-1.amazonaws.com/210987654321/orders"));
    }

    #[test]
    fn what_is_not_the_arn_of_a_queue_has_no_url() {
        for arn in [
            "",
            "orders",
            "arn:aws:sns:eu-central-1:123456789012:orders",
            "arn:aws:sqs:::",
            "arn:aws:sqs:a:b:c:d",
        ] {
            assert_eq!(queue_url(arn), None, "{arn}");
        }
    }
}
