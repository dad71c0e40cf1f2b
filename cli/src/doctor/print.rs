//! Findings told: as text for people, as JSON for programs.

use anstyle::{AnsiColor, Style};
use serde_json::json;

use super::closing::closing;
use super::finding::{Counts, Finding, Level};
use crate::output::{self, Line, Stream};
use crate::subject::Subject;
use crate::width::Width;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const BOLD: Style = Style::new().bold();

/// Findings on stdout, errors first; what was not looked at on stderr. As wide as the terminal, if it is one.
pub(super) fn text(subject: &Subject, findings: &[Finding]) -> anyhow::Result<()> {
    let width = Width::of(Stream::Stdout);
    let found: Vec<Line> = findings.iter().flat_map(|finding| paragraph(subject, finding, width)).collect();
    output::print_all(&found)?;
    let width = Width::of(Stream::Stderr);
    let unseen = subject.not_seen.iter().flat_map(|unseen| width.wrap("not looked at: ", "  ", unseen));
    let closing = closing(subject, findings).into_iter().flat_map(|closing| width.wrap("", "  ", closing));
    Ok(output::tell_all(&unseen.chain(closing).collect::<Vec<_>>())?)
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
pub(super) fn end(subject: &Subject, counts: Counts) -> anyhow::Result<()> {
    let said = match counts {
        Counts { errors: 0, warnings: 0 } if subject.mappings.is_empty() => {
            format!("no queue feeds a function in {}, and nothing else is wrong there", subject.name)
        }
        Counts { errors: 0, warnings: 0 } => format!("nothing found in {}", subject.name),
        Counts { .. } => format!("{counts} in {}", subject.name),
    };
    Ok(output::tell_all(&Width::of(Stream::Stderr).wrap("", "  ", said))?)
}

/// One object on stdout.
pub(super) fn json(subject: &Subject, findings: &[Finding]) -> anyhow::Result<()> {
    let Counts { errors, warnings } = Counts::of(findings);
    let told: Vec<_> = findings
        .iter()
        .map(|finding| {
            let (check, found) = (finding.check, &finding.found);
            let file = found.file.as_ref().or(found.line.map(|_| &subject.name));
            json!({
                "code": check.code,
                "level": check.level.word(),
                "title": check.title,
                "what": found.what,
                "place": { "id": found.id, "file": file, "line": found.line },
                "why": finding.why(),
                "link": check.link,
                "fix": finding.fix(),
            })
        })
        .collect();
    let report = json!({
        "subject": subject.name,
        "errors": errors,
        "warnings": warnings,
        "findings": told,
        "not_seen": subject.not_seen,
        "with_redrive": closing(subject, findings),
    });
    Ok(output::print_json(&report)?)
}
