//! ARNs, and the places of resources in them.

use redrive_sqs::{Address, Quoted};

use crate::{ACCOUNT, REGION, partition_of};

/// `arn:PARTITION:SERVICE:REGION:ACCOUNT:REST`
/// <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html>
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arn<'a> {
    pub partition: &'a str,
    pub service: &'a str,
    pub region: &'a str,
    pub account: &'a str,
    pub rest: &'a str,
}

impl<'a> Arn<'a> {
    pub fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.splitn(6, ':');
        let mut part = || parts.next();
        if part()? != "arn" {
            return None;
        }
        Some(Self { partition: part()?, service: part()?, region: part()?, account: part()?, rest: part()? })
    }

    /// Parses a queue's URL: `https://sqs.REGION.amazonaws.com/ACCOUNT/NAME` or one of the older forms.
    /// <https://docs.aws.amazon.com/general/latest/gr/sqs-service.html>
    pub fn of_queue_url(url: &'a str) -> Option<Self> {
        let url = url.trim_end_matches('/');
        let (host, name) = url.rsplit_once('/')?;
        let (_, account) = host.split_once("://")?.1.rsplit_once('/')?;
        let region = Address::parse(url).ok()?.region().unwrap_or(REGION);
        Some(Self { partition: partition_of(region), service: "sqs", region, account, rest: name })
    }

    /// Returns true if both may be the same queue, as far as both are known.
    pub fn may_be(&self, other: &Arn<'_>) -> bool {
        let is_same = self.service == other.service && self.rest == other.rest;
        is_same
            && !self.differs_in_partition(other)
            && !self.differs_in_region(other)
            && !self.differs_in_account(other)
    }

    /// Returns true if the partitions differ, which only known regions tell.
    pub fn differs_in_partition(&self, other: &Arn<'_>) -> bool {
        self.partition != other.partition && self.region != REGION && other.region != REGION
    }

    pub fn differs_in_region(&self, other: &Arn<'_>) -> bool {
        self.region != other.region && self.region != REGION && other.region != REGION
    }

    pub fn differs_in_account(&self, other: &Arn<'_>) -> bool {
        self.account != other.account && self.account != ACCOUNT && other.account != ACCOUNT
    }
}

/// Returns true if a text is the ARN or the URL of a queue, or contains such a URL.
pub(super) fn is_of_a_queue(text: &str) -> bool {
    let is_arn = || Arn::parse(text).is_some_and(|arn| arn.service == "sqs");
    let has_region = || Address::parse(text).is_ok_and(|it| it.region().is_some());
    text.contains("://sqs.") || is_arn() || has_region()
}

/// Describes a text in the place of a queue's ARN, or returns `None` for an ARN. `queues` are the template's, by their logical ids,
/// with their URLs.
pub fn not_an_arn(text: &str, queues: &[(String, String)]) -> Option<String> {
    if text.starts_with("arn:") {
        return None;
    }
    if let Some((id, url)) = queues.iter().find(|(_, url)| url == text) {
        return Some(format!("{url} is the URL of {id}, not its ARN: write !GetAtt {id}.Arn"));
    }
    let named = text.trim_start_matches("${").trim_end_matches('}').trim_end_matches(".Arn");
    Some(match queues.iter().find(|(id, _)| id == named) {
        Some((id, _)) => format!("{} is a string, not an ARN: write !GetAtt {id}.Arn", Quoted(text)),
        None => format!("{} is not an ARN", Quoted(text)),
    })
}

/// Returns the name in `arn:aws:lambda:REGION:ACCOUNT:function:NAME[:VERSION]`, or in a name.
pub fn function_name(arn: &str) -> &str {
    let name = arn.split_once(":function:").map_or(arn, |(_, name)| name);
    name.split(':').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_the_same_by_its_arn_and_by_each_form_of_its_url() {
        let queue = Arn::parse("arn:aws:sqs:eu-west-1:123456789012:orders").unwrap();
        for url in [
            "https://sqs.eu-west-1.amazonaws.com/123456789012/orders",
            "https://eu-west-1.queue.amazonaws.com/123456789012/orders",
            "http://127.0.0.1:9324/123456789012/orders",
            "http://localhost:4566/queue/123456789012/orders/",
            "https://sqs.REGION.amazonaws.com/ACCOUNT/orders",
        ] {
            assert!(queue.may_be(&Arn::of_queue_url(url).unwrap()), "{url}");
        }
        for url in [
            "https://sqs.eu-west-2.amazonaws.com/123456789012/orders",
            "https://sqs.eu-west-1.amazonaws.com/999999999999/orders",
            "https://sqs.eu-west-1.amazonaws.com/123456789012/others",
        ] {
            assert!(!queue.may_be(&Arn::of_queue_url(url).unwrap()), "{url}");
        }
        assert_eq!((Arn::parse("orders"), Arn::of_queue_url("orders")), (None, None));
    }
}
