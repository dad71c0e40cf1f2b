//! The one line that ends what is said of functions without redrive.

use super::finding::Finding;
use crate::subject::Subject;

/// Codes, and what redrive would do about them.
const INSTEAD: [(&str, &str); 7] = [
    ("batch-response-missing", "reports failed messages one by one"),
    ("visibility-too-short", "gives each retry a delay of its own, whatever the visibility timeout is"),
    (
        "max-receive-count-low",
        "delays each retry longer than the last, so that ten deliveries take 17 \
                               minutes",
    ),
    ("retries-outlive-retention", "gives each retry a delay of its own, whatever the visibility timeout is"),
    ("fifo-batch-uses-deliveries", "lets a failed message of a FIFO group come back alone"),
    ("sends-to-own-source", "delays a message without sending it again"),
    (
        "redrive-policy-missing",
        "sends messages that cannot succeed to the dead-letter queue at once, with \
                                the cause",
    ),
];

/// About the first finding that redrive has an answer to, where no function runs it yet.
pub(super) fn closing(subject: &Subject, findings: &[Finding]) -> Option<String> {
    if !subject.workers.is_empty() || subject.functions.iter().any(|function| function.may_run_redrive()) {
        return None;
    }
    let answer = |finding: &Finding| INSTEAD.iter().find(|(code, _)| *code == finding.check.code);
    let (code, what) = findings.iter().find_map(answer)?;
    Some(format!("redrive, a framework for such functions in Rust, {what} ({code})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::checks::ALL;

    #[test]
    fn the_codes_are_those_of_checks() {
        assert!(INSTEAD.iter().all(|(code, _)| ALL.iter().any(|check| check.code == *code)));
    }
}
