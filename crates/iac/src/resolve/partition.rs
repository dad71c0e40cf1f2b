//! The partition of AWS that contains a region. Pure.
//! <https://docs.aws.amazon.com/whitepapers/latest/aws-fault-isolation-boundaries/partitions.html>

/// Prefixes of regions, with their partitions. All other regions are in `aws`.
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
