//! What an endpoint's URL says of whose it is. Pure.

/// The domains under which AWS's partitions have their endpoints.
/// <https://github.com/boto/botocore/blob/develop/botocore/data/partitions.json>
const AWS: [&str; 12] = [
    "amazonaws.com",
    "amazonaws.com.cn",
    "amazonaws.eu",
    "api.aws",
    "api.amazonwebservices.com.cn",
    "api.amazonwebservices.eu",
    "c2s.ic.gov",
    "sc2s.sgov.gov",
    "cloud.adc-e.uk",
    "csp.hci.ic.gov",
    "api.aws.ic.gov",
    "api.aws.scloud",
];

/// The part of a URL before its path, such as `http://127.0.0.1:9324`.
pub(super) fn base(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url[host..].find(['/', '?', '#']).map_or(url.len(), |at| host + at);
    &url[..end]
}

/// Whether AWS itself answers there, and not something that stands in for it.
pub(super) fn is_aws(endpoint: &str) -> bool {
    let authority = base(endpoint);
    let authority = authority.split_once("://").map_or(authority, |(_, rest)| rest);
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase();
    AWS.iter().any(|domain| host.strip_suffix(domain).is_some_and(|host| host.ends_with('.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_aws_is_aws() {
        for (endpoint, expected) in [
            ("https://sqs.eu-west-1.amazonaws.com", true),
            ("https://sqs.eu-west-1.amazonaws.com/", true),
            ("https://SQS.eu-west-1.AmazonAWS.com.:443/123456789012/orders", true),
            ("https://sqs-fips.us-gov-west-1.amazonaws.com", true),
            ("https://sqs.us-east-1.api.aws", true),
            ("https://sqs.cn-north-1.amazonaws.com.cn", true),
            ("https://sqs.eusc-de-east-1.amazonaws.eu", true),
            ("https://vpce-0a1b-2c3d.sqs.eu-west-1.vpce.amazonaws.com", true),
            ("https://user@sqs.eu-west-1.amazonaws.com", true),
            ("http://127.0.0.1:9324", false),
            ("http://[::1]:9324", false),
            ("http://localhost:4566", false),
            ("http://sqs.us-east-1.localhost.localstack.cloud:4566", false),
            ("http://notamazonaws.com", false),
            ("http://amazonaws.com.example.org", false),
            ("http://sqs.eu-west-1.amazonaws.com@127.0.0.1:9324", false),
            ("http://127.0.0.1:9324/sqs.eu-west-1.amazonaws.com", false),
            ("http://127.0.0.1:9324?.amazonaws.com", false),
            ("", false),
        ] {
            assert_eq!(is_aws(endpoint), expected, "{endpoint}");
        }
    }

    #[test]
    fn the_base_ends_before_the_path() {
        for (url, expected) in [
            ("http://127.0.0.1:9324/", "http://127.0.0.1:9324"),
            ("https://a.b/c/d?e", "https://a.b"),
            ("https://a.b", "https://a.b"),
            ("a.b/c", "a.b"),
        ] {
            assert_eq!(base(url), expected);
        }
    }
}
