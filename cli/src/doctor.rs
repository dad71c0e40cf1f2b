//! `redrive doctor`: subjects, what is wrong with them, and that told.

mod accept;
pub(crate) mod checks;
mod closing;
mod feed;
mod finding;
mod flags;
mod page;
mod paths;
mod print;
mod report;
mod sarif;
mod words;

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};

use crate::input;
use crate::output;
use crate::problem::{OrProblem, Problem};
use crate::subject::Target;
use finding::Counts;
use flags::{Chosen, Format, code};
use report::Report;
#[cfg(test)]
use report::judge;

/// Finds every known way to lose or delay messages, in templates or in a deployed stack.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  redrive doctor
      checks template.yaml with the defaults of its parameters
  redrive doctor shop.yaml --parameter Stage=prod --region eu-west-1
      checks what a deployment would create from it
  redrive doctor infrastructure cdk.out --format github
      checks all templates in two folders, for a pull request
  redrive doctor --stack shop
      checks what is deployed; the permissions of roles are taken from the stack's template
  redrive doctor --explain visibility-too-short
      explains what a finding means, why it matters and how to fix it

Values known only at deployment (another stack's outputs, parameters without a value) are listed, not checked.
A template accepts a finding by a comment in or above its resource: # redrive:accept=CODE: REASON

Exit codes: 0 nothing found, or warnings only; 1 errors, with --strict warnings too; 2 wrong usage or input.")]
pub(crate) struct Arguments {
    /// SAM or CloudFormation templates, and folders with them [default: template.yaml]
    #[arg(value_name = "PATH", conflicts_with_all = ["template", "stack", "function"])]
    paths: Vec<PathBuf>,

    #[command(flatten)]
    chosen: Chosen,

    /// Fail on warnings too
    #[arg(long)]
    strict: bool,

    /// How to print what is found
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    format: Format,

    /// Print JSON, as --format json does
    #[arg(long, conflicts_with = "format")]
    json: bool,

    /// Explain a code instead of checking anything
    #[arg(long, value_name = "CODE", value_parser = code, conflicts_with_all = ["paths", "template", "stack", "function", "list"])]
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
    let (reports, unread) = arguments.reports()?;
    let format = if arguments.json { Format::Json } else { arguments.format };
    let print = match format {
        Format::Text => print::text,
        Format::Json => print::json,
        Format::Sarif => sarif::print,
        Format::Github => print::github,
    };
    // What could not be read at all needs no report.
    if !reports.is_empty() || unread.is_none() {
        print(&reports).or_failed()?;
    }
    let counts: Counts = reports.iter().map(Report::counts).sum();
    match unread {
        Some(problem) => Err(problem),
        None if counts.errors > 0 || (arguments.strict && counts.warnings > 0) => {
            Err(Problem::Failed(anyhow!("{counts} in {}", print::all(&reports))))
        }
        None if format == Format::Text => print::end(&reports, counts).or_failed(),
        None => Ok(()),
    }
}

impl Arguments {
    /// One for each subject, and why the last one could not be read that could not; of the others before it is told.
    fn reports(&self) -> Result<(Vec<Report>, Option<Problem>), Problem> {
        if self.paths.is_empty() {
            return Ok((vec![self.report(&self.target)?], None));
        }
        let found = self.paths.iter().map(|path| paths::files(path)).collect::<Result<Vec<_>, _>>();
        let files = found.or_input()?.concat();
        if files.len() > 1 && !self.target.parameters.is_empty() {
            return Err(Problem::Input(anyhow!(
                "--parameter goes with one template, not with {}",
                files.len()
            )));
        }
        let (mut reports, mut unread) = (Vec::new(), None);
        for file in files {
            match self.report(&Target { template: Some(file), ..self.target.clone() }) {
                Ok(report) => reports.push(report),
                Err(problem) => {
                    if let Some(before) = unread.replace(problem) {
                        output::tell(format!("redrive: {before}"));
                    }
                }
            }
        }
        Ok((reports, unread))
    }

    /// Of this directory's template.yaml if nothing is said.
    fn report(&self, target: &Target) -> Result<Report, Problem> {
        let otherwise = Path::new("template.yaml");
        let subject = target.read(Some(otherwise))?;
        let subject =
            subject.context("nothing to judge: give --template, --stack or --function").or_input()?;
        let is_deployed = target.stack.is_some() || target.function.is_some();
        let accepted = match target.template.as_deref().or((!is_deployed).then_some(otherwise)) {
            Some(path) => input::mentioned(path).map_or(Ok(Vec::new()), |text| accept::read(&text)),
            None => Ok(Vec::new()),
        };
        let accepted = accepted.with_context(|| subject.name.clone()).or_input()?;
        Ok(Report::new(subject, &self.chosen, accepted))
    }
}

#[cfg(test)]
mod mutations;
#[cfg(test)]
mod ours;
#[cfg(test)]
mod shapes;
