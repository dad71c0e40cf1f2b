//! How a queue can be given: by its name, its URL, or its ARN.

use crate::arn::{QueueArn, queue_name};

/// A queue as somebody typed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Address<'given> {
    /// An `http` or `https` URL that ends with a name.
    Url(&'given str),
    /// An ARN.
    Arn(QueueArn<'given>),
    /// A name.
    Name(&'given str),
}

/// What was typed is no queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("allowed: a name, a URL, or arn:aws:sqs:REGION:ACCOUNT:NAME")]
pub struct InvalidAddress;

impl<'given> Address<'given> {
    /// # Errors
    /// It is none of the three.
    pub fn parse(given: &'given str) -> Result<Self, InvalidAddress> {
        if given.starts_with("http:") || given.starts_with("https:") {
            return if queue_name(given).is_empty() { Err(InvalidAddress) } else { Ok(Self::Url(given)) };
        }
        let name = Some(Self::Name(given)).filter(|_| is_queue_name(given));
        name.or_else(|| QueueArn::parse(given).map(Self::Arn)).ok_or(InvalidAddress)
    }

    /// The region, where the address says it.
    #[must_use]
    pub fn region(self) -> Option<&'given str> {
        match self {
            Self::Url(url) => region_of_url(url),
            Self::Arn(arn) => Some(arn.region),
            Self::Name(_) => None,
        }
    }
}

/// Whether SQS takes this as the name of a queue.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_CreateQueue.html>
#[must_use]
pub fn is_queue_name(name: &str) -> bool {
    let stem = name.strip_suffix(".fifo").unwrap_or(name);
    let allowed = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    !stem.is_empty() && name.len() <= 80 && stem.chars().all(allowed)
}

/// Only AWS's own hosts say it: `sqs.REGION.amazonaws.com`, the same for a VPC, or the older `REGION.queue.amazonaws.com`.
/// <https://docs.aws.amazon.com/general/latest/gr/sqs-service.html>
fn region_of_url(url: &str) -> Option<&str> {
    let host = url.split("://").nth(1)?.split(['/', ':']).next()?;
    let labels = host.strip_suffix(".cn").unwrap_or(host).strip_suffix(".amazonaws.com")?;
    match labels.split('.').collect::<Vec<_>>().as_slice() {
        [region, "queue"] | [.., "sqs" | "sqs-fips", region] | [.., "sqs", region, "vpce"] => Some(region),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_given_by_name_url_or_arn() {
        assert_eq!(Address::parse("orders.fifo").unwrap(), Address::Name("orders.fifo"));
        let arn = "arn:aws-cn:sqs:cn-north-1:1:orders";
        assert_eq!(Address::parse(arn).unwrap(), Address::Arn(QueueArn::parse(arn).unwrap()));
        let url = "http://127.0.0.1:4566/1/orders";
        assert_eq!(Address::parse(url).unwrap(), Address::Url(url));
        for wrong in
            ["", "a b", "arn:aws:sns:eu-west-1:1:orders", "orders.txt", "http://host/", &"a".repeat(81)]
        {
            assert_eq!(Address::parse(wrong), Err(InvalidAddress), "{wrong}");
        }
    }

    #[test]
    fn a_url_of_aws_says_its_region() {
        for (url, region) in [
            ("https://sqs.eu-west-1.amazonaws.com/1/orders", Some("eu-west-1")),
            ("https://sqs-fips.us-east-1.amazonaws.com/1/orders", Some("us-east-1")),
            ("https://sqs.cn-north-1.amazonaws.com.cn/1/orders", Some("cn-north-1")),
            ("https://eu-west-1.queue.amazonaws.com/1/orders", Some("eu-west-1")),
            ("https://vpce-1.sqs.eu-west-1.vpce.amazonaws.com/1/orders", Some("eu-west-1")),
            ("http://127.0.0.1:9324/1/orders", None),
            ("http://sqs.eu-west-1.localhost.localstack.cloud:4566/1/orders", None),
        ] {
            assert_eq!(Address::parse(url).unwrap().region(), region, "{url}");
        }
    }
}
