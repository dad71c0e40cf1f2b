//! `redrive doctor`: a subject, what is wrong with it, and that told.

pub(crate) mod checks;
mod closing;
mod feed;
mod finding;
mod page;
mod print;
mod words;

use std::path::Path;

use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};

use crate::flags::Output;
use crate::output;
use crate::problem::{OrProblem, Problem};
use crate::subject::{Subject, Target};
use finding::{Counts, Finding};

/// Finds every known way to lose or delay messages, in a template or in a deployed stack.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  redrive doctor
      checks template.yaml with the defaults of its parameters
  redrive doctor --template shop.yaml --parameter Stage=prod --region eu-west-1
      checks what a deployment would create from it
  redrive doctor --stack shop
      checks what is deployed; the permissions of roles are taken from the stack's template
  redrive doctor --explain visibility-too-short
      explains what a finding means, why it matters and how to fix it

Values known only at deployment (another stack's outputs, parameters without a value) are listed, not checked.

Exit codes: 0 nothing found, or warnings only; 1 errors, with --strict warnings too; 2 wrong usage or input.")]
pub(crate) struct Arguments {
    /// Code of findings to leave out (may be repeated)
    #[arg(long, value_name = "CODE", value_parser = code)]
    ignore: Vec<&'static str>,

    /// Fail on warnings too
    #[arg(long)]
    strict: bool,

    #[command(flatten)]
    output: Output,

    /// Explain a code instead of checking anything
    #[arg(long, value_name = "CODE", value_parser = code, conflicts_with_all = ["template", "stack", "function", "list"])]
    explain: Option<&'static str>,

    /// List all codes instead of checking anything: one per line, or as the page docs/doctor.md
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, default_missing_value = "text", conflicts_with_all = ["template", "stack", "function"])]
    list: Option<ListFormat>,

    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ListFormat {
    Text,
    Markdown,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    if let Some(code) = arguments.explain {
        return output::print_own(&page::explanation(code)).or_failed();
    }
    match arguments.list {
        Some(ListFormat::Text) => return output::print_own(&page::list()).or_failed(),
        Some(ListFormat::Markdown) => return output::print_own(&page::markdown()).or_failed(),
        None => {}
    }
    let subject = subject(arguments)?;
    let mut findings = judge(&subject);
    findings.retain(|finding| !arguments.ignore.contains(&finding.check.code));
    if arguments.output.json {
        print::json(&subject, &findings).or_failed()?;
    } else {
        print::text(&subject, &findings).or_failed()?;
    }
    let counts = Counts::of(&findings);
    if counts.errors > 0 || (arguments.strict && counts.warnings > 0) {
        return Err(Problem::Failed(anyhow!("{counts} in {}", subject.name)));
    }
    if !arguments.output.json {
        print::end(&subject, counts).or_failed()?;
    }
    Ok(())
}

/// This directory's template.yaml if nothing is said.
fn subject(arguments: &Arguments) -> Result<Subject, Problem> {
    let read = arguments.target.read(Some(Path::new("template.yaml")))?;
    read.context("nothing to judge: give --template, --stack or --function").or_input()
}

/// All that is wrong, errors first, else in the order of the checks.
fn judge(subject: &Subject) -> Vec<Finding> {
    let mut findings: Vec<Finding> = checks::ALL.iter().flat_map(|check| check.findings(subject)).collect();
    findings.sort_by_key(|finding| finding.check.level);
    findings
}

fn code(text: &str) -> Result<&'static str, String> {
    let found = checks::ALL.iter().find(|check| check.code == text);
    found.map(|check| check.code).ok_or_else(|| "no such code: see redrive doctor --list".to_owned())
}

#[cfg(test)]
mod mutations;
#[cfg(test)]
mod ours;
#[cfg(test)]
mod shapes;
