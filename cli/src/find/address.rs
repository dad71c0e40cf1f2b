//! How a queue can be called: by its name, its URL, or its ARN.

use anyhow::bail;

/// What a queue was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Address<'given> {
    Url(&'given str),
    Arn { region: &'given str, account: &'given str, name: &'given str },
    Name(&'given str),
}

impl<'given> Address<'given> {
    /// # Errors
    /// It is none of the three.
    pub(super) fn parse(given: &'given str) -> anyhow::Result<Self> {
        match given.split(':').collect::<Vec<_>>().as_slice() {
            ["http" | "https", ..] if !name_in(given).is_empty() => Ok(Self::Url(given)),
            ["arn", _, "sqs", region, account, name] => Ok(Self::Arn { region, account, name }),
            [name] if is_name(name) => Ok(Self::Name(name)),
            _ => bail!("the queue is {given:?}, allowed: a name, a URL, or arn:aws:sqs:REGION:ACCOUNT:NAME"),
        }
    }

    /// The region, where the address says it.
    pub(super) fn region(self) -> Option<&'given str> {
        match self {
            Self::Url(url) => region_of_url(url),
            Self::Arn { region, .. } => Some(region),
            Self::Name(_) => None,
        }
    }
}

/// For clap: a queue that was typed.
pub(crate) fn queue(given: &str) -> Result<String, String> {
    match Address::parse(given) {
        Ok(_) => Ok(given.to_owned()),
        Err(_) => Err("allowed: a name, a URL, or arn:aws:sqs:REGION:ACCOUNT:NAME".to_owned()),
    }
}

/// The last part of a URL.
pub(super) fn name_in(url: &str) -> &str {
    url.rsplit('/').next().unwrap_or(url)
}

/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_CreateQueue.html>
pub(crate) fn is_name(name: &str) -> bool {
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
    fn a_queue_is_called_by_name_url_or_arn() {
        assert_eq!(Address::parse("orders.fifo").unwrap(), Address::Name("orders.fifo"));
        assert_eq!(
            Address::parse("arn:aws-cn:sqs:cn-north-1:1:orders").unwrap(),
            Address::Arn { region: "cn-north-1", account: "1", name: "orders" }
        );
        let url = "http://127.0.0.1:4566/1/orders";
        assert_eq!(Address::parse(url).unwrap(), Address::Url(url));
        for wrong in
            ["", "a b", "arn:aws:sns:eu-west-1:1:orders", "orders.txt", "http://host/", &"a".repeat(81)]
        {
            let error = Address::parse(wrong).unwrap_err().to_string();
            assert!(error.contains("allowed: a name, a URL, or arn:aws:sqs:"), "{error}");
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
