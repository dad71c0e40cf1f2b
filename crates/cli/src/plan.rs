//! `redrive plan`.

mod figures;
mod limit;
mod scenario;
mod simulate;
mod svg;
mod terms;
mod text;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;
use serde_json::json;

use crate::flags::Output;
use crate::output::{self, Stream};
use crate::problem::{OrProblem, Problem};
use crate::schedule::{self, Consumer, Flags};
use crate::span;
use crate::target::Target;
use crate::tell::tell;
use crate::width::Width;
use figures::{Choice, Figures};
use limit::Limit;
use scenario::{Errors, Load, Scenario};
use terms::Terms;

/// Simulates outages, bursts and noisy tenants, and finds the cheapest settings that lose nothing.
#[derive(Debug, Args)]
#[command(mut_arg("json", |json| json.help("Print a JSON object, with times in seconds").help_heading("Output")), after_help = "\
Examples:
  redrive plan
      uses ./template.yaml, and ten messages a second
  redrive plan template.yaml --parameter MaxReceiveCount=5 --outage 8h --svg plan.svg
      draws what an outage of 8 hours does to the queue
  redrive plan --scenario outage --errors outage --fail-if 'dead > 0' --fail-if 'recovery > 1h'
      fails a build whose settings would lose messages

Scenarios: in outage, all calls fail for --outage; in burst, ten times as many messages arrive for 10 minutes; in noisy, one
tenant sends 9 of 10 messages for an hour, and its calls fail after ten times --call. The real library handles the messages,
on a simulated clock. It handles --messages of them, spread evenly; a burst is made shorter. Settings made in code are
unknown. Costs are for SQS and Lambda on arm64 in us-east-1, without sending.

Exit codes: 0 done, 1 failed or a condition of --fail-if is met, 2 wrong usage or input.")]
pub(crate) struct Arguments {
    /// SAM or CloudFormation template, or a Terraform plan as JSON [default: template.yaml, if there is one]
    #[arg(value_name = "TEMPLATE", id = "path", conflicts_with_all = ["template", "stack", "function"])]
    path: Option<PathBuf>,

    #[command(flatten)]
    target: Target,

    /// Queue, if several feed functions
    #[arg(long, value_name = "NAME", help_heading = "Where to look")]
    queue: Option<String>,

    #[command(flatten)]
    load: Load,

    /// Simulate only this scenario (may be repeated)
    #[arg(long = "scenario", value_enum, value_name = "SCENARIO", help_heading = "Scenarios")]
    scenarios: Vec<Scenario>,

    /// Simulate only handlers that return any error (retry) or Failure::outage (outage) [default: both]
    #[arg(long, value_enum, value_name = "ERRORS", help_heading = "Scenarios")]
    errors: Option<Errors>,

    /// Fail if this condition is met in a scenario (may be repeated). FIELD is dead, expired, recovery, calls or cost
    /// (dollars per million messages), OPERATOR is =, !=, <, <=, > or >=
    #[arg(long, value_name = "'FIELD OPERATOR VALUE'", help_heading = "Output")]
    fail_if: Vec<Limit>,

    /// Write an SVG chart of the queue, the dead letters and the calls over time to this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    svg: Option<PathBuf>,

    #[command(flatten)]
    output: Output,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    let mut target = arguments.target.clone();
    target.template = arguments.path.clone().or(target.template);
    let (subject, known) = schedule::read(&target, arguments.queue.as_deref(), &Flags::default())?;
    if let Consumer::Other(why) = &known.consumer {
        tell(format_args!("{why}: this is a plan for a function that does"));
    }
    let terms = Terms::of(subject.as_ref(), known).or_input()?;
    let chosen =
        |scenario: &Scenario| arguments.scenarios.is_empty() || arguments.scenarios.contains(scenario);
    let may_return = |errors: &Errors| arguments.errors.is_none_or(|only| only == *errors);
    let mut runs = Vec::new();
    for scenario in Scenario::ALL.into_iter().filter(chosen) {
        for errors in scenario.errors().iter().copied().filter(may_return) {
            runs.push(simulate::run(&terms, &arguments.load, scenario, errors).or_input()?);
        }
    }
    let choices = match chosen(&Scenario::Outage) {
        true => Some(lossless(&terms, &arguments.load, &runs, may_return).or_input()?),
        false => None,
    };
    if let Some(path) = &arguments.svg {
        let written = std::fs::write(path, svg::svg(&runs));
        written.with_context(|| format!("could not write {}", path.display())).or_failed()?;
    }
    let written = match arguments.output.json {
        true => output::print_json(&json!({
            "queue": terms.known.name,
            "worker": arguments.load.worker,
            "max_receive_count": terms.max_receive_count,
            "scenarios": runs,
            "lossless": choices,
        })),
        false => output::print_all(&text::text(
            &terms,
            arguments.load.worker,
            &runs,
            choices.as_deref(),
            Width::of(Stream::Stdout),
        )),
    };
    written.context("could not write").or_failed()?;
    let met = arguments.fail_if.iter().flat_map(|limit| runs.iter().filter_map(|run| limit.met(run)));
    let met: Vec<String> = met.collect();
    if met.is_empty() { Ok(()) } else { Err(Problem::Failed(anyhow!("--fail-if: {}", met.join("; ")))) }
}

/// Values that are tried besides the current maxReceiveCount.
const COUNTS: [u32; 4] = [3, 5, 10, 20];

/// Finds the settings with which no message of the outage is lost, the cheapest first.
fn lossless(
    terms: &Terms,
    load: &Load,
    runs: &[Figures],
    may_return: impl Fn(&Errors) -> bool,
) -> anyhow::Result<Vec<Choice>> {
    let mut counts = COUNTS.to_vec();
    counts.push(terms.max_receive_count);
    counts.sort_unstable_by(|one, other| other.cmp(one));
    counts.dedup();
    let mut choices = Vec::new();
    for errors in Scenario::Outage.errors().iter().copied().filter(may_return) {
        for &count in &counts {
            let run = runs.iter().find(|run| run.scenario == Scenario::Outage && run.errors == errors);
            let run = match run.filter(|_| count == terms.max_receive_count) {
                Some(run) => run.clone(),
                None => simulate::run(&terms.with_count(count), load, Scenario::Outage, errors)?,
            };
            // With fewer deliveries, no more messages survive.
            if run.lost() > 0 {
                break;
            }
            let Figures { calls, recovery, cost, .. } = run;
            choices.push(Choice { max_receive_count: count, errors, calls, recovery, cost });
        }
    }
    let changes = |choice: &Choice| choice.max_receive_count != terms.max_receive_count;
    choices.sort_by(|one, other| {
        one.cost.total_cmp(&other.cost).then_with(|| changes(one).cmp(&changes(other)))
    });
    Ok(choices)
}

/// Parses a time for a simulation.
fn time(text: &str) -> Result<Duration, String> {
    let (least, most) = (Duration::from_millis(1), Duration::from_secs(3 * 86_400));
    let time = span::parse(text)?;
    if (least..=most).contains(&time) { Ok(time) } else { Err("allowed: 1ms to 3d".to_owned()) }
}
