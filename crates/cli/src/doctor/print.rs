//! Prints findings: text for people, JSON for programs, workflow commands for GitHub.

use anstyle::{AnsiColor, Style};
use redrive_iac::deployment::Deployment;
use serde_json::{Value, json};

use super::finding::{Counts, Finding, Level};
use super::report::Report;
use crate::output::{self, Line, Stream};
use crate::width::Width;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const BOLD: Style = Style::new().bold();

/// Prints findings to stdout, errors first, and notes to stderr. Wraps lines at the terminal's width.
pub(super) fn text(reports: &[Report], whole: &str) -> anyhow::Result<()> {
    let width = Width::of(Stream::Stdout);
    let found = reports.iter().flat_map(|report| {
        report.findings.iter().flat_map(move |finding| {
            paragraph(&report.deployment, finding, group(report, finding, whole), width)
        })
    });
    output::print_all(&found.collect::<Vec<_>>())?;
    let width = Width::of(Stream::Stderr);
    let told = reports.iter().flat_map(|report| notes(report, whole));
    Ok(output::tell_all(&told.flat_map(|note| width.wrap("", "  ", note)).collect::<Vec<_>>())?)
}

/// Returns notes on what was accepted and what was not read. They name the template if it is one of several.
fn notes(report: &Report, whole: &str) -> Vec<String> {
    let Report { deployment, accepted, not_found, .. } = report;
    let of = if deployment.name == whole { String::new() } else { format!("{}: ", deployment.name) };
    let accepted = accepted.iter().map(|(finding, reason)| {
        format!("accepted: {} at {}: {reason}", finding.check.code, finding.place(deployment))
    });
    let not_found = not_found
        .iter()
        .map(|it| format!("accepted, but not found: {} at {}:{}", it.code, deployment.name, it.line));
    let not_seen = deployment.lines_not_read().into_iter().map(|unseen| format!("not checked: {of}{unseen}"));
    let notes = deployment.notes.iter().map(|note| format!("note: {of}{note}"));
    accepted.chain(not_found).chain(not_seen).chain(notes).collect()
}

/// Returns the queue whose group in an account a finding belongs to, unless the finding is at that queue.
fn group<'a>(report: &'a Report, finding: &Finding, whole: &str) -> Option<&'a str> {
    let name = &report.deployment.name;
    let is_group = name != whole && finding.file(&report.deployment).is_none();
    (is_group && finding.found.id != *name).then_some(name)
}

fn paragraph(deployment: &Deployment, finding: &Finding, group: Option<&str>, width: Width) -> Vec<Line> {
    let (check, mut place) = (finding.check, finding.place(deployment));
    if let Some(group) = group {
        place = format!("{place} ({group})");
    }
    let style = if check.level == Level::Error { ERROR } else { WARNING };
    let (level, code) = (check.level.word(), check.code);
    let title = Line::styled(style, level).and(" ").and(Line::styled(BOLD, code)).and(format!(" at {place}"));
    [
        width.wrap("", "  ", title),
        width.wrap("  ", "  ", &finding.found.what),
        width.wrap("  why:  ", "        ", finding.why()),
        vec![format!("        {}", check.link).into()],
        width.wrap("  fix:  ", "        ", finding.fix()),
        vec![Line::default()],
    ]
    .concat()
}

/// Prints the last line of a run that does not fail.
pub(super) fn end(said: &str) -> anyhow::Result<()> {
    Ok(output::tell_all(&Width::of(Stream::Stderr).wrap("", "  ", said))?)
}

/// Prints a JSON object for each deployment to stdout.
pub(super) fn json(reports: &[Report]) -> anyhow::Result<()> {
    reports.iter().try_for_each(|report| Ok(output::print_json(&object(report))?))
}

fn object(report: &Report) -> Value {
    let Report { deployment, findings, accepted, not_found, .. } = report;
    let Counts { errors, warnings } = report.counts();
    let told = |finding: &Finding| {
        let (check, found) = (finding.check, &finding.found);
        json!({
            "code": check.code,
            "level": check.level.word(),
            "title": check.title,
            "what": found.what,
            "place": { "id": found.id, "file": finding.file(deployment), "line": found.line },
            "why": finding.why(),
            "link": check.link,
            "fix": finding.fix(),
        })
    };
    let reasoned = |(finding, reason): &(Finding, String)| {
        let mut finding = told(finding);
        finding["reason"] = json!(reason);
        finding
    };
    json!({
        "subject": deployment.name,
        "errors": errors,
        "warnings": warnings,
        "findings": findings.iter().map(told).collect::<Vec<_>>(),
        "accepted": accepted.iter().map(reasoned).collect::<Vec<_>>(),
        "accepted_but_not_found":
            not_found.iter().map(|it| json!({ "code": it.code, "line": it.line })).collect::<Vec<_>>(),
        "checked": report.checked().to_json(),
        "not_seen": deployment.lines_not_read(),
        "resources_not_checked": report.unchecked().map(|it| &it.id).collect::<Vec<_>>(),
        "notes": deployment.notes,
    })
}

/// Prints a workflow command for each finding and each note.
/// <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands>
pub(super) fn github(reports: &[Report], whole: &str) -> anyhow::Result<()> {
    let data = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |text: &str| data(text).replace(':', "%3A").replace(',', "%2C");
    let line = |report: &Report, finding: &Finding| {
        let (found, level) = (&finding.found, finding.check.level.word());
        let file = finding.file(&report.deployment).map(|file| format!("file={},", property(file)));
        let at = found.line.map(|line| format!("line={line},"));
        let group = group(report, finding, whole).map(|group| format!("{group}: ")).unwrap_or_default();
        let text = data(&format!("{group}{} Fix: {}", found.what, finding.fix()));
        let (file, at, code) = (file.unwrap_or_default(), at.unwrap_or_default(), finding.check.code);
        format!("::{level} {file}{at}title={code}::{text}")
    };
    let notice = |note: String| format!("::notice title=redrive doctor::{}", data(&note));
    let lines = reports.iter().flat_map(|report| {
        let found = report.findings.iter().map(move |it| line(report, it));
        found.chain(notes(report, whole).into_iter().map(notice))
    });
    Ok(output::print_all(&lines.map(Line::from).collect::<Vec<_>>())?)
}
