//! The ARN of a queue, and the facts that its name contains.

/// The DNS suffix of each partition that does not use `amazonaws.com`.
/// <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html>
const SUFFIXES: [(&str, &str); 6] = [
    ("aws-cn", "amazonaws.com.cn"),
    ("aws-iso", "c2s.ic.gov"),
    ("aws-iso-b", "sc2s.sgov.gov"),
    ("aws-iso-e", "cloud.adc-e.uk"),
    ("aws-iso-f", "csp.hci.ic.gov"),
    ("aws-eusc", "amazonaws.eu"),
];

/// `arn:PARTITION:sqs:REGION:ACCOUNT:NAME`
/// <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html>
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueArn<'a> {
    /// `aws`, `aws-cn`, `aws-us-gov` and so on.
    pub partition: &'a str,
    /// Such as `eu-central-1`.
    pub region: &'a str,
    /// The account id, of twelve digits on AWS.
    pub account: &'a str,
    /// The name of the queue.
    pub name: &'a str,
}

impl<'a> QueueArn<'a> {
    /// Parses an ARN. Returns None if it is not the ARN of a queue, or if a part is empty.
    #[must_use]
    pub fn parse(arn: &'a str) -> Option<Self> {
        let mut parts = arn.split(':');
        let mut part = || parts.next().filter(|part| !part.is_empty());
        let (Some("arn"), Some(partition), Some("sqs"), Some(region), Some(account), Some(name), None) =
            (part(), part(), part(), part(), part(), part(), part())
        else {
            return None;
        };
        Some(Self { partition, region, account, name })
    }

    /// Returns the URL of the queue on AWS.
    #[must_use]
    pub fn url(&self) -> String {
        let suffix = dns_suffix(self.partition);
        format!("https://sqs.{}.{suffix}/{}/{}", self.region, self.account, self.name)
    }
}

/// Returns the DNS suffix of a partition's hosts.
#[must_use]
pub fn dns_suffix(partition: &str) -> &'static str {
    let own = SUFFIXES.iter().find(|(name, _)| *name == partition);
    own.map_or("amazonaws.com", |(_, suffix)| suffix)
}

/// Returns the queue name in an ARN or a URL. A name is returned as it is.
#[must_use]
pub fn queue_name(queue: &str) -> &str {
    queue.rsplit([':', '/']).next().unwrap_or(queue)
}

/// Returns true if the name, ARN or URL is that of a FIFO queue. A message group proves nothing, because messages of a
/// standard queue can have one (fair queues).
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-fair-queues.html>
#[must_use]
pub fn is_fifo(queue: &str) -> bool {
    queue.ends_with(".fifo")
}

/// Returns true if an ARN and a URL have the same account and queue name.
#[must_use]
pub fn is_same_queue(arn: &str, url: &str) -> bool {
    arn.rsplitn(3, ':').take(2).eq(url.trim_end_matches('/').rsplitn(3, '/').take(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_partition_has_its_suffix() {
        for (arn, url) in [
            ("arn:aws:sqs:eu-central-1:1:a.fifo", "https://sqs.eu-central-1.amazonaws.com/1/a.fifo"),
            ("arn:aws-cn:sqs:cn-north-1:1:a", "https://sqs.cn-north-1.amazonaws.com.cn/1/a"),
            ("arn:aws-us-gov:sqs:us-gov-west-1:1:a", "https://sqs.us-gov-west-1.amazonaws.com/1/a"),
        ] {
            assert_eq!(QueueArn::parse(arn).unwrap().url(), url);
        }
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
    fn an_arn_of_anything_else_is_not_parsed() {
        let sns = "arn:aws:sns:eu-central-1:123456789012:orders";
        for arn in ["", "orders", sns, "arn:aws:sqs:::", "arn:aws:sqs:a:b:c:d"] {
            assert_eq!(QueueArn::parse(arn), None, "{arn}");
        }
    }
}
