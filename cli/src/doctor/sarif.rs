//! Findings in SARIF 2.1.0, the format of code scanning.
//! <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::{Value, json};

use super::checks::ALL;
use super::finding::{Check, Finding};
use super::report::Report;
use crate::output;
use crate::subject::Subject;

/// What a path must not have in a URI reference.
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

/// One log with one run on stdout.
pub(super) fn print(reports: &[Report]) -> anyhow::Result<()> {
    Ok(output::print_json(&log(reports))?)
}

fn log(reports: &[Report]) -> Value {
    let results = reports.iter().flat_map(|Report { subject, findings, accepted, .. }| {
        let found = findings.iter().map(|finding| result(subject, finding, None));
        found.chain(accepted.iter().map(|(finding, reason)| result(subject, finding, Some(reason))))
    });
    let notes = reports.iter().flat_map(|Report { subject, .. }| {
        let text = |unseen: &String| format!("not looked at: {}: {unseen}", subject.name);
        subject
            .not_seen
            .iter()
            .map(move |unseen| json!({ "level": "note", "message": { "text": text(unseen) } }))
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
            "invocations": [{ "executionSuccessful": true, "toolExecutionNotifications": notes.collect::<Vec<_>>() }],
            "results": results.collect::<Vec<_>>(),
        }],
    })
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

fn result(subject: &Subject, finding: &Finding, accepted_for: Option<&str>) -> Value {
    let found = &finding.found;
    let mut location = json!({ "logicalLocations": [{ "name": found.id, "kind": "resource" }] });
    if let Some(file) = finding.file(subject) {
        let uri = utf8_percent_encode(file, NOT_IN_PATHS).to_string();
        location["physicalLocation"] = json!({ "artifactLocation": { "uri": uri } });
        if let Some(line) = found.line {
            location["physicalLocation"]["region"] = json!({ "startLine": line });
        }
    }
    let mut result = json!({
        "ruleId": finding.check.code,
        "ruleIndex": ALL.iter().position(|check| check.code == finding.check.code),
        "level": finding.check.level.word(),
        "message": { "text": format!("{} Fix: {}", found.what, finding.fix()) },
        "locations": [location],
    });
    if let Some(reason) = accepted_for {
        result["suppressions"] = json!([{ "kind": "inSource", "justification": reason }]);
    }
    result
}
