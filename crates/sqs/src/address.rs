//! The name, URL or ARN by which a user names a queue.

use crate::arn::QueueArn;

/// A queue as somebody typed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "SQS has no other")]
pub enum Address<'given> {
    /// An `http` or `https` URL that ends with a name, without a slash at its end.
    Url(&'given str),
    /// An ARN.
    Arn(QueueArn<'given>),
    /// A name.
    Name(&'given str),
}

/// The error for text that does not name a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("allowed: a name, a URL, or arn:aws:sqs:REGION:ACCOUNT:NAME")]
pub struct InvalidAddress;

impl<'given> Address<'given> {
    /// # Errors
    /// Returns an error if the text is not a queue's name, URL or ARN.
    pub fn parse(given: &'given str) -> Result<Self, InvalidAddress> {
        if given.starts_with("http:") || given.starts_with("https:") {
            let url = given.trim_end_matches('/');
            let path = url.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
            return if path.is_some() { Ok(Self::Url(url)) } else { Err(InvalidAddress) };
        }
        let name = Some(Self::Name(given)).filter(|_| is_queue_name(given));
        name.or_else(|| QueueArn::parse(given).map(Self::Arn)).ok_or(InvalidAddress)
    }

    /// Returns the region in the address, if it has one. The letters keep their case.
    #[must_use]
    pub fn region(self) -> Option<&'given str> {
        match self {
            Self::Url(url) => region_of_url(url),
            Self::Arn(arn) => Some(arn.region),
            Self::Name(_) => None,
        }
    }
}

/// Returns true if SQS accepts this as the name of a queue.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_CreateQueue.html>
#[must_use]
pub fn is_queue_name(name: &str) -> bool {
    let stem = name.strip_suffix(".fifo").unwrap_or(name);
    let allowed = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    !stem.is_empty() && name.len() <= 80 && stem.chars().all(allowed)
}

/// Returns the region in a queue's URL. In all partitions, with FIPS, IPv6 or a VPC endpoint, it follows the service:
/// `sqs.REGION.amazonaws.com`, `sqs-fips.REGION.api.aws`, `ID.sqs.REGION.vpce.amazonaws.com`. In the older
/// `REGION.queue.amazonaws.com` it stands before it. Without a region there, the queue is in us-east-1.
/// <https://docs.aws.amazon.com/general/latest/gr/sqs-service.html>
fn region_of_url(url: &str) -> Option<&str> {
    let host = url.split("://").nth(1)?.split(['/', ':']).next()?;
    let labels: Vec<&str> = host.split('.').collect();
    let is = |label: &str, names: &[&str]| names.iter().any(|name| label.eq_ignore_ascii_case(name));
    if labels.iter().any(|label| is(label, &["localhost"])) {
        return None;
    }
    let found = labels.windows(2).find_map(|pair| match pair {
        [service, region] if is(service, &["sqs", "sqs-fips"]) => Some(*region),
        [region, service] if is(service, &["queue"]) => Some(*region),
        _ => None,
    });
    found
        .filter(|region| is_region(region))
        .or_else(|| is(host, &["queue.amazonaws.com"]).then_some("us-east-1"))
}

/// Returns true for a name such as `eu-west-1` or `us-iso-east-1`.
fn is_region(name: &str) -> bool {
    let Some((place, number)) = name.rsplit_once('-') else { return false };
    let is_word =
        |word: &str| !word.is_empty() && word.chars().all(|character| character.is_ascii_alphabetic());
    place.contains('-') && place.split('-').all(is_word) && number.parse::<u8>().is_ok()
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
        assert_eq!(Address::parse(&format!("{url}/")).unwrap(), Address::Url(url));
        for wrong in [
            "",
            "a b",
            "arn:aws:sns:eu-west-1:1:orders",
            "orders.txt",
            "http://host/",
            "https:",
            &"a".repeat(81),
        ] {
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
            ("https://queue.amazonaws.com/1/orders", Some("us-east-1")),
            ("https://sqs.us-west-2.api.aws/1/orders", Some("us-west-2")),
            ("https://sqs-fips.us-west-2.api.aws/1/orders/", Some("us-west-2")),
            ("https://sqs.cn-north-1.api.amazonwebservices.com.cn/1/orders", Some("cn-north-1")),
            ("https://sqs.us-iso-east-1.c2s.ic.gov/1/orders", Some("us-iso-east-1")),
            ("https://sqs.us-isob-east-1.sc2s.sgov.gov/1/orders", Some("us-isob-east-1")),
            ("https://sqs.eusc-de-east-1.amazonaws.eu/1/orders", Some("eusc-de-east-1")),
            ("https://SQS.EU-WEST-1.AMAZONAWS.COM/1/orders", Some("EU-WEST-1")),
            ("https://sqs.corp.internal/1/orders", None),
            ("http://127.0.0.1:9324/1/orders", None),
            ("http://sqs.eu-west-1.localhost.localstack.cloud:4566/1/orders", None),
        ] {
            assert_eq!(Address::parse(url).unwrap().region(), region, "{url}");
        }
    }
}
