//! Findings that a template accepts with a reason: in a comment or, because JSON has no comments, in Metadata.

use std::sync::LazyLock;

use anyhow::{anyhow, bail, ensure};
use redrive_iac::deployment::kubernetes;
use redrive_iac::{Comment, Node, comments, parse};
use redrive_sqs::Quoted;
use regex::Regex;

use super::finding::Finding;
use super::flags;

/// A comment that accepts a finding.
static COMMENT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*redrive:accept=([^\s:]+):\s*(.*?)\s*$").expect("the expression is right")
});

/// A comment that is meant to accept a finding, well-formed or not.
static MEANT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)^\s*redrive\s*:\s*accept\b").expect("the expression is right"));

/// Lines to search for a name above its first property. The bound keeps a stranger's template, with many resources on one line
/// behind many empty ones, from taking long.
const MOST_BETWEEN: usize = 100;

/// A finding that a template's authors accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Acceptance {
    resource: String,
    pub(super) code: &'static str,
    pub(super) reason: String,
    pub(super) line: usize,
}

impl Acceptance {
    /// Returns the code and the resource that it accepts.
    pub(super) fn key(&self) -> (&str, &str) {
        (self.code, &self.resource)
    }

    /// Returns the key of an acceptance that covers a finding at a resource or at a part of it.
    pub(super) fn key_of(finding: &Finding) -> (&str, &str) {
        let id = &finding.found.id;
        (finding.check.code, id.split_once('.').map_or(id.as_str(), |(resource, _)| resource))
    }
}

/// Reads what a template or manifests accept. Returns nothing for other files.
///
/// # Errors
/// A code is unknown, a reason is missing, or a comment belongs to no resource.
pub(super) fn read(text: &str) -> anyhow::Result<Vec<Acceptance>> {
    if kubernetes::is_kubernetes(text) {
        let resources = kubernetes::resources(text).unwrap_or_default();
        // Each resource is a document, below its unindented comments.
        let names = resources.iter().map(|(name, resource)| (resource.line, 0, name.as_str())).collect();
        return commented(text, &Places { names, end: usize::MAX });
    }
    let Some(document) = parse(text).ok().filter(|document| document.get("Resources").is_some()) else {
        return Ok(Vec::new());
    };
    let resources = document.entries_at("Resources");
    let mut found = commented(text, &Places::of(text, resources))?;
    for (name, resource) in resources {
        let accepted = ["Metadata", "redrive", "accept"].iter().try_fold(resource, |node, key| node.get(key));
        let Some(accepted) = accepted else { continue };
        ensure!(
            !accepted.entries().is_empty(),
            "line {}: Metadata.redrive.accept must be a map of CODE: REASON",
            accepted.line
        );
        for (code, reason) in accepted.entries() {
            found.push(acceptance(name, code, reason.as_text().unwrap_or_default(), reason.line)?);
        }
    }
    Ok(found)
}

fn commented(text: &str, places: &Places<'_>) -> anyhow::Result<Vec<Acceptance>> {
    let mut found = Vec::new();
    for comment in comments(text).into_iter().filter(|comment| MEANT.is_match(&comment.text)) {
        let line = comment.line;
        let Some(parts) = COMMENT.captures(&comment.text) else {
            bail!(
                "line {line}: {} is invalid: write redrive:accept=CODE: REASON",
                Quoted(comment.text.trim())
            );
        };
        let Some(resource) = places.about(&comment) else {
            bail!("line {line}: redrive:accept must be in a resource, or right above it");
        };
        found.push(acceptance(resource, &parts[1], &parts[2], line)?);
    }
    Ok(found)
}

/// Lines (from 1) and columns (from 0) of resources' names, in order, and the line after the last resource.
struct Places<'a> {
    names: Vec<(usize, usize, &'a str)>,
    end: usize,
}

impl<'a> Places<'a> {
    fn of(text: &str, resources: &'a [(String, Node)]) -> Self {
        let lines: Vec<&str> = text.lines().collect();
        let mut names: Vec<_> =
            resources.iter().map(|(name, resource)| place(&lines, name, resource)).collect();
        names.sort_unstable();
        let last = names.last().map_or(0, |(line, ..)| *line);
        let begins_anew = |line: &str| line.starts_with(|c: char| !c.is_whitespace() && c != '#' && c != '}');
        let end = (last..lines.len())
            .find(|index| begins_anew(lines[*index]))
            .map_or(usize::MAX, |index| index + 1);
        Self { names, end }
    }

    /// Returns the resource that a comment is about: the one that contains it, or the next one if the comment is not indented
    /// deeper than a resource's name.
    fn about(&self, comment: &Comment) -> Option<&'a str> {
        let before = self.names.iter().rev().find(|(line, ..)| *line <= comment.line);
        let next = self.names.iter().find(|(line, ..)| *line > comment.line);
        let column = self.names.first().map_or(0, |(_, column, _)| *column);
        let is_inside = comment.is_behind || comment.column > column;
        let found = if is_inside {
            before.filter(|_| comment.line < self.end)
        } else {
            next.filter(|_| comment.column == column)
        };
        found.map(|(_, _, name)| *name)
    }
}

/// Returns the place of a resource's name. Its first property may be on a later line.
fn place<'a>(lines: &[&str], name: &'a str, resource: &Node) -> (usize, usize, &'a str) {
    let quotes = ['"', '\''];
    let column = |line: &str| {
        let text = line.trim_start();
        let rest = text.trim_start_matches(quotes).strip_prefix(name)?;
        rest.trim_start_matches(quotes).trim_start().starts_with(':').then(|| line.len() - text.len())
    };
    let last = resource.line.min(lines.len());
    let found = (0..last).rev().take(MOST_BETWEEN).find_map(|index| Some((index + 1, column(lines[index])?)));
    let (line, column) = found.unwrap_or((resource.line, 0));
    (line, column, name)
}

fn acceptance(resource: &str, code: &str, reason: &str, line: usize) -> anyhow::Result<Acceptance> {
    let code =
        flags::code(code).map_err(|why| anyhow!("line {line}: redrive:accept of {}: {why}", Quoted(code)))?;
    ensure!(
        !reason.is_empty(),
        "line {line}: redrive:accept of {code} has no reason: write `{code}: REASON`"
    );
    Ok(Acceptance { resource: resource.to_owned(), code, reason: reason.to_owned(), line })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(text: &str) -> Vec<(String, &'static str, String)> {
        let found = read(text).unwrap();
        found.into_iter().map(|it| (it.resource, it.code, it.reason)).collect()
    }

    #[test]
    fn a_comment_is_about_the_resource_that_it_is_in_or_right_above() {
        let text = "\
Resources:
  # redrive:accept=redrive-policy-missing: read again each night
  # it is above its resource

  Orders:
    # redrive:accept=visibility-too-short: nothing is throttled
    Type: AWS::SQS::Queue
    Properties:
      VisibilityTimeout: 30 # redrive:accept=mapping-disabled: until the move
      # redrive:accept=queue-shared: they take turns
  \"Dead\": {Type: AWS::SQS::Queue} # redrive:accept=dead-letter-alarm-missing: watched elsewhere: by hand
  Code:
    Type: AWS::Lambda::Function
    Properties:
      Description: '# redrive:accept=x'
      Code:
        ZipFile: |
          # redrive:accept=nonsense: of no account
";
        let of = |resource: &str, code, reason: &str| (resource.to_owned(), code, reason.to_owned());
        assert_eq!(
            accepted(text),
            [
                of("Orders", "redrive-policy-missing", "read again each night"),
                of("Orders", "visibility-too-short", "nothing is throttled"),
                of("Orders", "mapping-disabled", "until the move"),
                of("Orders", "queue-shared", "they take turns"),
                of("Dead", "dead-letter-alarm-missing", "watched elsewhere: by hand"),
            ]
        );
    }

    #[test]
    fn a_manifest_accepts_above_a_document_or_in_it() {
        let text = "\
# redrive:accept=probes-missing: nothing hangs here
apiVersion: apps/v1
kind: Deployment
metadata:
  name: orders # redrive:accept=lease-short: short on purpose
---
# redrive:accept=scales-on-in-flight: it never backs off
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: scaled}
";
        let of = |resource: &str, code, reason: &str| (resource.to_owned(), code, reason.to_owned());
        assert_eq!(
            accepted(text),
            [
                of("orders", "probes-missing", "nothing hangs here"),
                of("orders", "lease-short", "short on purpose"),
                of("scaled", "scales-on-in-flight", "it never backs off"),
            ]
        );
        let below = format!("{text}# redrive:accept=lease-short: x\n");
        assert!(read(&below).is_err(), "it is above nothing");
    }

    #[test]
    fn json_accepts_in_metadata() {
        let text = r#"{"Resources": {"Orders": {"Type": "AWS::SQS::Queue",
            "Metadata": {"redrive": {"accept": {"queue-shared": "they take turns"}}}}}}"#;
        assert_eq!(accepted(text), [("Orders".to_owned(), "queue-shared", "they take turns".to_owned())]);
        assert_eq!(accepted("{}"), []);
    }

    #[test]
    fn malformed_acceptances_are_refused() {
        for (comment, said) in [
            ("redrive:accept=mapping-disabled:", "line 3: redrive:accept of mapping-disabled has no reason"),
            (
                "redrive:accept=mapping: x",
                r#"line 3: redrive:accept of "mapping": no such code: see redrive doctor --list"#,
            ),
            ("redrive:accept=mapping-disabled", "is invalid: write redrive:accept=CODE: REASON"),
            ("redrive:accept=mapping-disabled : x", "is invalid"),
            ("Redrive: accept=mapping-disabled: x", "is invalid"),
        ] {
            let error =
                read(&format!("Resources:\n  Q: {{}}\n  # {comment}\n  R: {{}}\n")).unwrap_err().to_string();
            assert!(error.starts_with("line 3") && error.contains(said), "{error}");
        }
        let comment = "# redrive:accept=mapping-disabled: x";
        for text in [
            format!("{comment}\nResources:\n  Q: {{}}\n"),
            format!("Resources:\n  Q: {{}}\nOutputs:\n  {comment}\n  O: {{}}\n"),
            format!("Resources:\n  Q: {{}}\nOutputs:\n  O: {{}} {comment}\n"),
            format!("Resources:\n  Q: {{}}\n  {comment}\n"),
        ] {
            let error = read(&text).unwrap_err().to_string();
            assert!(error.ends_with("redrive:accept must be in a resource, or right above it"), "{error}");
        }
        let metadata = "Resources: {Q: {Metadata: {redrive: {accept: [mapping-disabled]}}}}";
        assert!(read(metadata).unwrap_err().to_string().contains("must be a map of CODE: REASON"));
    }
}
