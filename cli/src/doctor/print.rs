//! Findings told: as text for people, as JSON for programs.

use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};

use super::closing::closing;
use super::finding::{Counts, Finding, Level};
use super::report::Report;
use crate::counted::counted;
use crate::output::{self, Line, Stream};
use crate::subject::Subject;
use crate::width::Width;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const BOLD: Style = Style::new().bold();

/// Findings on stdout, errors first; what else is to be said on stderr. As wide as the terminal, if it is one.
pub(super) fn text(reports: &[Report]) -> anyhow::Result<()> {
    let width = Width::of(Stream::Stdout);
    let found = reports.iter().flat_map(|report| {
        report.findings.iter().flat_map(move |finding| paragraph(&report.subject, finding, width))
    });
    output::print_all(&found.collect::<Vec<_>>())?;
    let width = Width::of(Stream::Stderr);
    let told = reports.iter().flat_map(|report| notes(report, reports.len() > 1));
    Ok(output::tell_all(&told.flat_map(|note| width.wrap("", "  ", note)).collect::<Vec<_>>())?)
}

/// What was accepted and what was not looked at, after the template's name if there are several.
fn notes(report: &Report, is_one_of_several: bool) -> Vec<String> {
    let Report { subject, findings, accepted, not_found } = report;
    let of = if is_one_of_several { format!("{}: ", subject.name) } else { String::new() };
    let accepted = accepted.iter().map(|(finding, reason)| {
        format!("accepted: {} at {}: {reason}", finding.check.code, finding.place(subject))
    });
    let not_found = not_found
        .iter()
        .map(|it| format!("accepted, but not found: {} at {}:{}", it.code, subject.name, it.line));
    let not_seen = subject.not_seen.iter().map(|unseen| format!("not looked at: {of}{unseen}"));
    let notes = subject.notes.iter().map(|note| format!("note: {of}{note}"));
    let closing = closing(subject, findings).map(|closing| format!("{of}{closing}"));
    accepted.chain(not_found).chain(not_seen).chain(notes).chain(closing).collect()
}

fn paragraph(subject: &Subject, finding: &Finding, width: Width) -> Vec<Line> {
    let (check, place) = (finding.check, finding.place(subject));
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

/// What a run that does not fail ends with.
pub(super) fn end(reports: &[Report], counts: Counts) -> anyhow::Result<()> {
    let what = all(reports);
    let said = match counts {
        Counts { errors: 0, warnings: 0 } if reports.iter().all(|it| it.subject.mappings.is_empty()) => {
            format!("no queue feeds a function in {what}, and nothing else is wrong there")
        }
        Counts { errors: 0, warnings: 0 } => format!("nothing found in {what}"),
        Counts { .. } => format!("{counts} in {what}"),
    };
    Ok(output::tell_all(&Width::of(Stream::Stderr).wrap("", "  ", said))?)
}

/// What to call all that was looked at.
pub(super) fn all(reports: &[Report]) -> String {
    match reports {
        [report] => report.subject.name.clone(),
        reports => counted(reports.len(), "template"),
    }
}

/// An object for each subject on stdout.
pub(super) fn json(reports: &[Report]) -> anyhow::Result<()> {
    reports.iter().try_for_each(|report| Ok(output::print_json(&object(report))?))
}

fn object(report: &Report) -> Value {
    let Report { subject, findings, accepted, .. } = report;
    let Counts { errors, warnings } = report.counts();
    let told = |finding: &Finding| {
        let (check, found) = (finding.check, &finding.found);
        json!({
            "code": check.code,
            "level": check.level.word(),
            "title": check.title,
            "what": found.what,
            "place": { "id": found.id, "file": finding.file(subject), "line": found.line },
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
        "subject": subject.name,
        "errors": errors,
        "warnings": warnings,
        "findings": findings.iter().map(told).collect::<Vec<_>>(),
        "accepted": accepted.iter().map(reasoned).collect::<Vec<_>>(),
        "not_seen": subject.not_seen,
        "notes": subject.notes,
        "with_redrive": closing(subject, findings),
    })
}

/// A workflow command for each finding.
/// <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands>
pub(super) fn github(reports: &[Report]) -> anyhow::Result<()> {
    let data = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |text: &str| data(text).replace(':', "%3A").replace(',', "%2C");
    let line = |report: &Report, finding: &Finding| {
        let (found, level) = (&finding.found, finding.check.level.word());
        let file = finding.file(&report.subject).map(|file| format!("file={},", property(file)));
        let at = found.line.map(|line| format!("line={line},"));
        let text = data(&format!("{} Fix: {}", found.what, finding.fix()));
        let (file, at, code) = (file.unwrap_or_default(), at.unwrap_or_default(), finding.check.code);
        format!("::{level} {file}{at}title={code}::{text}")
    };
    let lines =
        reports.iter().flat_map(|report| report.findings.iter().map(move |it| Line::from(line(report, it))));
    Ok(output::print_all(&lines.collect::<Vec<_>>())?)
}
