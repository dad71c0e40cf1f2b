//! `redrive doctor`: finds and reports problems of a deployment.

mod accept;
pub(crate) mod checks;
mod feed;
mod finding;
mod flags;
mod page;
mod paths;
mod print;
mod report;
mod sarif;
mod variants;
mod words;

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::Args;
use redrive_iac::{is_pseudo, parse};
use redrive_sqs::Quoted;

use crate::aws::Aws;
use crate::counted::counted;
use crate::deployed::Account;
use crate::input;
use crate::output;
use crate::problem::{OrProblem, Problem};
use crate::target::Target;
use crate::wait::wait;
use finding::Counts;
use flags::{Chosen, Format, code};
use paths::Files;
use report::{Checked, Report};

#[cfg(test)]
use report::run_checks;

/// Finds known ways to lose or delay messages, in templates and in deployed stacks.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  redrive doctor
      checks template.yaml with the defaults of its parameters
  redrive doctor shop.yaml --parameter Stage=prod --region eu-west-1
      checks what a deployment would create from it
  redrive doctor infrastructure cdk.out --format github
      checks all templates in two folders, for a pull request
  redrive doctor --stack shop
      checks what is deployed; role permissions are read from the stack's template
  redrive doctor --all --region eu-west-1
      checks all queues in an account and region, worst first
  redrive doctor --explain visibility-too-short
      explains what a finding means, why it matters and how to fix it

Values known only at deployment (another stack's outputs, parameters without a value) are listed, not checked. To accept a
finding, put a comment in or above its resource: # redrive:accept=CODE: REASON

The last line says how many queues, functions and workers were checked.

Exit codes: 0 no problems, or warnings only; 1 errors, with --strict also warnings, and a queue, function or mapping that may be in
what was not read; 2 wrong usage or input.")]
pub(crate) struct Arguments {
    /// SAM or CloudFormation templates, Terraform plans as JSON, Kubernetes manifests, folders with them, or - for stdin [default: template.yaml]
    #[arg(value_name = "PATH", conflicts_with_all = ["template", "stack", "function"])]
    paths: Vec<PathBuf>,

    /// File or folder to skip within the folders (may be repeated)
    #[arg(long, value_name = "PATH", requires = "paths")]
    exclude: Vec<PathBuf>,

    #[command(flatten)]
    chosen: Chosen,

    /// Fail on warnings too, and if something was not read that can hold a queue, a function or a mapping
    #[arg(long)]
    strict: bool,

    /// Format of the findings
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    format: Format,

    /// Print JSON, as --format json does
    #[arg(long, conflicts_with = "format")]
    json: bool,

    /// Explain a code instead of checking anything
    #[arg(long, value_name = "CODE", value_parser = code, conflicts_with_all = ["paths", "template", "stack", "function", "list"])]
    explain: Option<&'static str>,

    /// List all codes instead of checking anything, one per line
    #[arg(long, conflicts_with_all = ["template", "stack", "function"])]
    list: bool,

    /// Check all queues in the account and region, with the functions that they feed
    #[arg(long, help_heading = "Where to look", conflicts_with_all = ["paths", "template", "parameters", "stack", "function", "explain", "list"])]
    all: bool,

    #[command(flatten)]
    target: Target,
}

struct CheckResult {
    /// A report for each subject.
    reports: Vec<Report>,
    /// Name of everything that was checked.
    name: String,
    /// Reasons why some subjects could not be read.
    unread: Vec<Problem>,
    /// Hints on files that must be converted before they can be read.
    not_yet: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    if let Some(code) = arguments.explain {
        return output::print_own(&page::explanation(code)).or_failed();
    }
    if arguments.list {
        return output::print_own(&page::list()).or_failed();
    }
    let format = if arguments.json { Format::Json } else { arguments.format };
    let is_deployed =
        arguments.all || arguments.target.stack.is_some() || arguments.target.function.is_some();
    if is_deployed && format == Format::Sarif {
        let why = "SARIF reports findings in files only: use --format json for deployed resources";
        return Err(Problem::Input(anyhow!("--format sarif: {why}")));
    }
    let CheckResult { reports, name, mut unread, not_yet } = arguments.check()?;
    // If nothing could be read, there is no report to print.
    if !reports.is_empty() || unread.is_empty() {
        let printed = match format {
            Format::Text => print::text(&reports, &name),
            Format::Json => print::json(&reports),
            Format::Sarif => sarif::print(&reports, &unread),
            Format::Github => print::github(&reports, &name),
        };
        printed.or_failed()?;
    }
    not_yet.iter().for_each(|hint| output::tell(format!("not checked: {hint}")));
    let last = if reports.is_empty() { unread.pop() } else { None };
    unread.iter().for_each(|problem| output::tell(format!("redrive: {problem}")));
    if let Some(problem) = last {
        return Err(problem);
    }
    let counts: Counts = reports.iter().map(Report::counts).sum();
    let may_hold_more = !not_yet.is_empty() || reports.iter().any(|it| it.deployment.may_hold_more());
    let seen = arguments.coverage(&reports, not_yet.len());
    let total = format!("{counts} in {name}; {seen}");
    if !unread.is_empty() {
        return Err(Problem::Input(anyhow!("{total}; {} could not be read", counted(unread.len(), "file"))));
    }
    match counts {
        Counts { errors: 1.., .. } => Err(Problem::Failed(anyhow!(total))),
        Counts { warnings, .. } if arguments.strict && (warnings > 0 || may_hold_more) => {
            Err(Problem::Failed(anyhow!(total)))
        }
        _ if format != Format::Text => Ok(()),
        Counts { warnings: 1.., .. } => print::end(&total).or_failed(),
        _ => print::end(&format!("{}; {seen}", arguments.nothing_found(&reports, &name))).or_failed(),
    }
}

/// Formats `1 resource was`, `2 resources were`.
fn were(count: usize) -> String {
    format!("{} {}", counted(count, "resource"), if count == 1 { "was" } else { "were" })
}

impl Arguments {
    /// Returns the last line of a run without findings.
    fn nothing_found(&self, reports: &[Report], name: &str) -> String {
        let is_known = !reports.iter().any(|report| report.deployment.may_hold_more());
        // An account is not a template in which somebody forgot a mapping.
        match !self.all && is_known && reports.iter().all(Report::is_idle) {
            true => {
                format!("no queue feeds a function or a worker in {name}, and no other problem was found")
            }
            false => format!("no problems found in {name}"),
        }
    }

    /// Describes the checked resources, and counts the lines about parts that were not read.
    fn coverage(&self, reports: &[Report], more_lines: usize) -> String {
        let checked = reports.iter().fold(Checked::default(), |all, report| {
            // Two groups of an account may share a queue.
            let name = if self.all { "" } else { &report.deployment.name };
            all.and(name, report.checked())
        });
        let lines = more_lines + reports.iter().map(|it| it.deployment.not_seen.len()).sum::<usize>();
        match lines {
            0 => format!("checked {checked}"),
            1 => format!("checked {checked}; 1 line above says what was not read"),
            lines => format!("checked {checked}; {lines} lines above say what was not read"),
        }
    }

    fn check(&self) -> Result<CheckResult, Problem> {
        if self.all {
            return self.check_account();
        }
        if self.paths.is_empty() {
            let report = self.check_target(&self.target)?;
            return Ok(CheckResult {
                name: report.deployment.name.clone(),
                reports: vec![report],
                unread: Vec::new(),
                not_yet: Vec::new(),
            });
        }
        let Files { found, unread, not_yet, .. } = Files::of(&self.paths, &self.exclude);
        let mut unread: Vec<_> = unread.into_iter().map(Problem::Input).collect();
        let mut reports = Vec::new();
        let targets = self.targets(found)?;
        for target in targets {
            match self.check_target(&target) {
                Ok(report) => reports.push(report),
                Err(problem) => unread.push(problem),
            }
        }
        let name = match &reports[..] {
            [report] => report.deployment.name.clone(),
            reports => counted(reports.len(), "template"),
        };
        Ok(CheckResult { reports, name, unread, not_yet })
    }

    /// Returns a target for each file. If there are several, each gets the parameters that it declares.
    fn targets(&self, files: Vec<PathBuf>) -> Result<Vec<Target>, Problem> {
        let given = &self.target.parameters;
        let of = |file, parameters| Target { template: Some(file), parameters, ..self.target.clone() };
        if files.len() < 2 || given.is_empty() {
            return Ok(files.into_iter().map(|file| of(file, given.clone())).collect());
        }
        let declares = |file: &Path, name: &str| {
            let document = input::template(file).ok().and_then(|text| parse(&text).ok());
            let has = |section: &str| document.as_ref().and_then(|it| it.get(section));
            match is_pseudo(name) {
                true => has("Resources").is_some(),
                false => has("Parameters").is_some_and(|it| it.get(name).is_some()),
            }
        };
        for (name, _) in given {
            if !files.iter().any(|file| declares(file, name)) {
                let files = counted(files.len(), "template");
                return Err(Problem::Input(anyhow!("no parameter {} in any of {files}", Quoted(name))));
            }
        }
        let declared = |file: PathBuf| {
            let parameters = given.iter().filter(|(name, _)| declares(&file, name)).cloned().collect();
            of(file, parameters)
        };
        Ok(files.into_iter().map(declared).collect())
    }

    /// Reports on an account: its groups, the worst first, and at the end the findings about the whole.
    fn check_account(&self) -> Result<CheckResult, Problem> {
        let Account { whole, groups } = wait(async {
            let aws = Aws::connect(&self.target.place).await.or_input()?;
            Account::read(&aws).await.or_failed()
        })?;
        let report = |deployment| Report::new(deployment, Vec::new(), &self.chosen, Vec::new());
        let mut reports: Vec<Report> = groups.into_iter().map(report).collect();
        reports.sort_by_cached_key(|report| {
            let Counts { errors, warnings } = report.counts();
            (Reverse(errors), Reverse(warnings), report.deployment.name.clone())
        });
        let name = whole.name.clone();
        reports.push(report(whole));
        Ok(CheckResult { reports, name, unread: Vec::new(), not_yet: Vec::new() })
    }

    /// Reports on a target, by default on this directory's template.yaml.
    fn check_target(&self, target: &Target) -> Result<Report, Problem> {
        let otherwise = Path::new("template.yaml");
        let deployment = target.read(Some(otherwise))?;
        let mut deployment = deployment
            .context("nothing to check: pass --template, --stack, --function or --all")
            .or_input()?;
        let variants = variants::read(&mut deployment, target, otherwise);
        let is_deployed = target.stack.is_some() || target.function.is_some();
        let accepted = match target.template.as_deref().or((!is_deployed).then_some(otherwise)) {
            Some(path) => input::mentioned(path).map_or(Ok(Vec::new()), |text| accept::read(&text)),
            None => Ok(Vec::new()),
        };
        let accepted = accepted.with_context(|| deployment.name.clone()).or_input()?;
        Ok(Report::new(deployment, variants, &self.chosen, accepted))
    }
}

#[cfg(test)]
mod own_template;
