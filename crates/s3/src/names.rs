//! Checks names of buckets and keys. The sender of a message chose them, and the SDK's client writes them into an address. It
//! panics if that is too long.

use redrive_sqs::PayloadPointer;

/// Returns true if a bucket may have this name, or an access point this ARN.
pub(crate) fn is_bucket(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_arn = name.starts_with("arn:");
    (3..=PayloadPointer::MAX_BUCKET).contains(&name.len())
        && !name.contains("..")
        && name.chars().all(|c| is_allowed(c) || is_arn && ":/".contains(c))
}

/// Describes why redrive does not read objects with this key, or returns `None` if it does.
pub(crate) fn key_problem(key: &str) -> Option<String> {
    if key.len() > PayloadPointer::MAX_KEY {
        return Some(format!("has {} bytes, allowed: at most {}", key.len(), PayloadPointer::MAX_KEY));
    }
    has_dots(key).then(|| "has the part . or .., which a proxy may resolve".to_owned())
}

/// Returns true if a proxy may resolve the key to another one and so leave the prefix, perhaps after decoding it.
fn has_dots(key: &str) -> bool {
    let decoded = key.to_ascii_lowercase().replace("%2e", ".").replace("%2f", "/").replace("%5c", "\\");
    decoded.split(['/', '\\']).any(|part| matches!(part, "." | ".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_buckets_and_arns_of_access_points_are_read_and_nothing_else() {
        let access_point = "arn:aws:s3:eu-west-1:123456789012:accesspoint/payloads";
        for name in ["payloads", "a-b.c", "Old_Bucket", "123", access_point, &"b".repeat(255)] {
            assert!(is_bucket(name), "{name}");
        }
        for name in [
            "",
            "ab",
            "a/b",
            "a:b",
            "...",
            "a..b",
            "a b",
            "a\0b",
            "aéb",
            "a?b",
            "a%b",
            "a@b",
            &"b".repeat(256),
        ] {
            assert!(!is_bucket(name), "{name}");
        }
    }

    #[test]
    fn a_key_has_1024_bytes_at_most_and_no_part_that_is_dots() {
        for key in ["k", "a/b.c", "..a/b..", "%2e%2ea", "a//b", "\0", &"é".repeat(512)] {
            assert_eq!(key_problem(key), None, "{key}");
        }
        for key in [".", "../a", "a/..", r"a\.\b", "%2E%2e/a", "a%2f.%2E%5Cb", &"é".repeat(513)] {
            assert!(key_problem(key).is_some(), "{key}");
        }
    }
}
