//! Findings that a template itself accepts, each with a reason: in a comment, or where there are none (JSON), in Metadata.

use std::sync::LazyLock;

use anyhow::{bail, ensure};
use regex::Regex;

use super::checks::ALL;
use super::finding::Finding;
use redrive_sqs::Quoted;
use redrive_stack::template::{Node, parse};

/// `# redrive:accept=CODE: REASON` within a resource.
static COMMENT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:^|\s)#\s*redrive:accept=([^\s:]*)(?::\s*(.*?))?\s*$").expect("the expression is right")
});

/// A finding that the authors of a template know of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Acceptance {
    resource: String,
    pub(super) code: &'static str,
    pub(super) reason: String,
    pub(super) line: usize,
}

impl Acceptance {
    /// Whether this is about that: the same code at the same resource, or at a part of it.
    pub(super) fn accepts(&self, finding: &Finding) -> bool {
        let id = &finding.found.id;
        let resource = id.split_once('.').map_or(id.as_str(), |(resource, _)| resource);
        finding.check.code == self.code && resource == self.resource
    }
}

/// All that a template accepts; nothing of what is no template.
///
/// # Errors
/// A code that is none, no reason, or a comment outside of any resource.
pub(super) fn read(text: &str) -> anyhow::Result<Vec<Acceptance>> {
    let Some(document) = parse(text).ok().filter(|document| document.get("Resources").is_some()) else {
        return Ok(Vec::new());
    };
    let resources = document.get("Resources").map(Node::entries).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if let Some(comment) = COMMENT.captures(line) {
            let meant = meant_by(&lines, index);
            let begins = |(name, resource): &&(String, Node)| first_line(&lines, name, resource) <= meant;
            let Some((resource, _)) =
                resources.iter().filter(begins).max_by_key(|(_, resource)| resource.line)
            else {
                bail!("line {}: redrive:accept must stand in a resource, or above it", index + 1);
            };
            let reason = comment.get(2).map_or("", |reason| reason.as_str());
            found.push(acceptance(resource, &comment[1], reason, index + 1)?);
        }
    }
    for (name, resource) in resources {
        let accepted = ["Metadata", "redrive", "accept"].iter().try_fold(resource, |node, key| node.get(key));
        for (code, reason) in accepted.map(Node::entries).unwrap_or_default() {
            found.push(acceptance(name, code, reason.as_text().unwrap_or_default(), reason.line)?);
        }
    }
    Ok(found)
}

/// The index of the line that a comment is about: its own, or if it is a line of its own, the next that is none.
fn meant_by(lines: &[&str], comment: usize) -> usize {
    let says_nothing = |line: &str| line.trim_start().is_empty() || line.trim_start().starts_with('#');
    (comment..lines.len()).find(|index| !says_nothing(lines[*index])).unwrap_or(comment)
}

/// The index of the line with a resource's name, which its first property may follow.
fn first_line(lines: &[&str], name: &str, resource: &Node) -> usize {
    let quotes = ['"', '\''];
    let is_name = |line: &str| {
        let rest = line.trim_start().trim_start_matches(quotes).strip_prefix(name);
        rest.is_some_and(|rest| rest.trim_start_matches(quotes).trim_start().starts_with(':'))
    };
    let last = resource.line.min(lines.len());
    (0..last).rev().find(|index| is_name(lines[*index])).unwrap_or(last)
}

fn acceptance(resource: &str, code: &str, reason: &str, line: usize) -> anyhow::Result<Acceptance> {
    let Some(check) = ALL.iter().find(|check| check.code == code) else {
        bail!("line {line}: redrive:accept of {}, which is no code: see redrive doctor --list", Quoted(code));
    };
    ensure!(
        !reason.is_empty(),
        "line {line}: redrive:accept of {code} without a reason: write `{code}: REASON`"
    );
    Ok(Acceptance { resource: resource.to_owned(), code: check.code, reason: reason.to_owned(), line })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(text: &str) -> Vec<(String, &'static str, String)> {
        let found = read(text).unwrap();
        found.into_iter().map(|it| (it.resource, it.code, it.reason)).collect()
    }

    #[test]
    fn a_comment_is_about_the_resource_that_it_stands_in_or_above() {
        let text = "\
Resources:
  # redrive:accept=redrive-policy-missing: read again each night
  # it is above its resource

  Orders:
    # redrive:accept=visibility-too-short: nothing is throttled
    Type: AWS::SQS::Queue
    Properties:
      VisibilityTimeout: 30 # redrive:accept=mapping-disabled: until the move
  \"Dead\": {Type: AWS::SQS::Queue} # redrive:accept=dead-letter-alarm-missing: watched elsewhere: by hand
";
        let of = |resource: &str, code, reason: &str| (resource.to_owned(), code, reason.to_owned());
        assert_eq!(
            accepted(text),
            [
                of("Orders", "redrive-policy-missing", "read again each night"),
                of("Orders", "visibility-too-short", "nothing is throttled"),
                of("Orders", "mapping-disabled", "until the move"),
                of("Dead", "dead-letter-alarm-missing", "watched elsewhere: by hand"),
            ]
        );
    }

    #[test]
    fn json_accepts_in_metadata() {
        let text = r#"{"Resources": {"Orders": {"Type": "AWS::SQS::Queue",
            "Metadata": {"redrive": {"accept": {"queue-shared": "they take turns"}}}}}}"#;
        assert_eq!(accepted(text), [("Orders".to_owned(), "queue-shared", "they take turns".to_owned())]);
        assert_eq!(accepted("{}"), []);
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (comment, said) in [
            (
                "redrive:accept=mapping-disabled",
                "line 3: redrive:accept of mapping-disabled without a reason",
            ),
            ("redrive:accept=mapping-disabled:", "without a reason"),
            ("redrive:accept=mapping: x", r#"line 3: redrive:accept of "mapping", which is no code"#),
        ] {
            let error =
                read(&format!("Resources:\n  Q: {{}}\n  # {comment}\n  R: {{}}\n")).unwrap_err().to_string();
            assert!(error.starts_with("line 3") && error.contains(said), "{error}");
        }
        let error = read("# redrive:accept=mapping-disabled: x\nResources:\n").unwrap_err().to_string();
        assert_eq!(error, "line 1: redrive:accept must stand in a resource, or above it");
    }
}
