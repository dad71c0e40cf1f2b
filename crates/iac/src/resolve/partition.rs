//! The part of AWS that a region is in. Pure.
//! <https://docs.aws.amazon.com/whitepapers/latest/aws-fault-isolation-boundaries/partitions.html>

/// How the regions of a partition begin, and its name. All others are in `aws`.
const PARTITIONS: [(&str, &str); 7] = [
    ("cn-", "aws-cn"),
    ("us-gov-", "aws-us-gov"),
    ("us-iso-", "aws-iso"),
    ("us-isob-", "aws-iso-b"),
    ("eu-isoe-", "aws-iso-e"),
    ("us-isof-", "aws-iso-f"),
    ("eusc-", "aws-eusc"),
];

pub(crate) fn partition_of(region: &str) -> &'static str {
    let own = PARTITIONS.iter().find(|(prefix, _)| region.starts_with(prefix));
    own.map_or("aws", |(_, partition)| partition)
}
