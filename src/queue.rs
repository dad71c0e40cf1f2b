//! What the ARN of a queue tells: its URL in any partition, its name, and whether it is FIFO.

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

#[cfg(test)]
mod tests {
    use super::*;

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
