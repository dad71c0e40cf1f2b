//! Findings told: as text for people, as JSON for programs.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use console::Term;
use serde_json::json;

use super::finding::{Counts, Finding, Level};
use crate::subject::Subject;
use crate::width::Width;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const BOLD: Style = Style::new().bold();

/// Text that somebody asked for.
pub(super) fn data(text: &str) -> anyhow::Result<()> {
    let mut stdout = anstream::stdout().lock();
    write!(stdout, "{text}")?;
    Ok(stdout.flush()?)
}

/// Findings on stdout, errors first; what was not looked at on stderr. As wide as the terminal, if it is one.
pub(super) fn text(subject: &Subject, findings: &[Finding]) -> anyhow::Result<()> {
    let mut stdout = anstream::stdout().lock();
    let width = Width::of(&Term::stdout());
    for finding in findings {
        write!(stdout, "{}", paragraph(subject, finding, width))?;
    }
    stdout.flush()?;
    let mut stderr = anstream::stderr().lock();
    let width = Width::of(&Term::stderr());
    for unseen in &subject.not_seen {
        writeln!(stderr, "{}", width.wrap("not looked at: ", "  ", unseen))?;
    }
    Ok(())
}

fn paragraph(subject: &Subject, finding: &Finding, width: Width) -> String {
    let (check, place) = (finding.check, finding.place(subject));
    let style = if check.level == Level::Error { ERROR } else { WARNING };
    let (level, code) = (check.level.word(), check.code);
    let title = format!("{style}{level}{style:#} {BOLD}{code}{BOLD:#} at {place}");
    [
        width.wrap("", "  ", &title),
        width.wrap("  ", "  ", &finding.found.what),
        width.wrap("  why:  ", "        ", check.why),
        format!("        {}", check.link),
        width.wrap("  fix:  ", "        ", check.fix),
        String::new(),
    ]
    .map(|line| line + "\n")
    .concat()
}

/// What a run that does not fail ends with.
pub(super) fn end(subject: &Subject, counts: Counts) -> anyhow::Result<()> {
    let mut stderr = anstream::stderr().lock();
    let said = match counts {
        Counts { errors: 0, warnings: 0 } => format!("nothing found in {}", subject.name),
        Counts { .. } => format!("{counts} in {}", subject.name),
    };
    Ok(writeln!(stderr, "{}", Width::of(&Term::stderr()).wrap("", "  ", &said))?)
}

/// One object on stdout.
pub(super) fn json(subject: &Subject, findings: &[Finding]) -> anyhow::Result<()> {
    let Counts { errors, warnings } = Counts::of(findings);
    let findings: Vec<_> = findings
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
                "why": check.why,
                "link": check.link,
                "fix": check.fix,
            })
        })
        .collect();
    let report = json!({
        "subject": subject.name,
        "errors": errors,
        "warnings": warnings,
        "findings": findings,
        "not_seen": subject.not_seen,
    });
    data(&format!("{report}\n"))
}
