//! Findings in SARIF 2.1.0, the format of code scanning.
//! <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use redrive_iac::deployment::Deployment;
use serde_json::{Value, json};

use super::checks::ALL;
use super::finding::{Check, Finding};
use super::report::Report;
use crate::output;
use crate::problem::Problem;

/// Characters that a path must escape in a URI reference.
const NOT_IN_PATHS: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b']')
    .add(b'`')
    .add(b'{')
    .add(b'}')
    .add(b'\\')
    .add(b'^')
    .add(b'|')
    .add(b':');

/// Prints one log with one run to stdout.
pub(super) fn print(reports: &[Report], unread: &[Problem]) -> anyhow::Result<()> {
    Ok(output::print_json(&log(reports, unread))?)
}

/// Leaves out accepted findings: GitHub would show them as open, even if SARIF says that they are suppressed.
fn log(reports: &[Report], unread: &[Problem]) -> Value {
    let results = reports.iter().flat_map(|Report { deployment, findings, .. }| {
        findings.iter().map(|finding| result(deployment, finding))
    });
    let failed = unread.iter().map(
        |problem| json!({ "level": "error", "message": { "text": without_links(&problem.to_string()) } }),
    );
    let notes = reports.iter().flat_map(|Report { deployment, .. }| {
        let text = |unseen: &str| without_links(&format!("not checked: {}: {unseen}", deployment.name));
        let lines = deployment.lines_not_read().into_iter();
        lines.map(move |unseen| json!({ "level": "note", "message": { "text": text(unseen) } }))
    });
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "redrive doctor",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": ALL.iter().map(|check| rule(check)).collect::<Vec<_>>(),
            } },
            "invocations": [{ "executionSuccessful": unread.is_empty(), "toolExecutionNotifications": failed.chain(notes).collect::<Vec<_>>() }],
            "results": results.collect::<Vec<_>>(),
        }],
    })
}

/// Breaks links: viewers of SARIF show `[name](address)` as one, and the author of a template chooses the names in it.
fn without_links(text: &str) -> String {
    text.replace("](", "] (")
}

fn rule(check: &Check) -> Value {
    json!({
        "id": check.code,
        "shortDescription": { "text": check.title },
        "fullDescription": { "text": check.why.to(false) },
        "help": { "text": check.fix.to(false) },
        "helpUri": check.link,
        "defaultConfiguration": { "level": check.level.word() },
    })
}

/// Code scanning requires a line, so a finding without one gets line 1.
fn result(deployment: &Deployment, finding: &Finding) -> Value {
    let found = &finding.found;
    let file = finding.file(deployment).unwrap_or(&deployment.name);
    json!({
        "ruleId": finding.check.code,
        "ruleIndex": ALL.iter().position(|check| check.code == finding.check.code),
        "level": finding.check.level.word(),
        "message": { "text": without_links(&format!("{} Fix: {}", found.what, finding.fix())) },
        "locations": [{
            "physicalLocation": {
                "artifactLocation": { "uri": utf8_percent_encode(file, NOT_IN_PATHS).to_string() },
                "region": { "startLine": found.line.unwrap_or(1) },
            },
            "logicalLocations": [{ "name": found.id, "kind": "resource" }],
        }],
    })
}
