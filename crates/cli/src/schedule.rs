//! `redrive schedule`.

mod course;
mod json;
mod known;
mod text;

use std::path::Path;

use anyhow::{Context, anyhow};
use clap::Args;
use redrive_iac::deployment::Deployment;

use crate::flags::Output;
use crate::output::{self, Stream};
use crate::problem::{OrProblem, Problem};
use crate::target::Target;
use crate::tell::tell;
use crate::width::Width;
use course::Schedule;
pub(crate) use known::{Consumer, Flags, Known};

/// Shows when each retry of a failing message happens, and when it is dead-lettered or expires.
#[derive(Debug, Args)]
#[command(mut_arg("json", |json| json.help("Print a JSON object, with all times in seconds").help_heading("Output")), after_help = "\
Examples:
  redrive schedule
      uses ./template.yaml; without that file, ten deliveries with a backoff of 2^attempt seconds
  redrive schedule --template template.yaml --parameter MaxReceiveCount=16
      uses the values of a template; flags override them
  redrive schedule --stack shop --attempt-duration 20s
      uses a deployed stack and attempts that take 20 seconds
  redrive schedule --max-receive-count 20 --backoff '{\"delay\": 5, \"max\": 900, \"jitter\": \"equal\"}'
      shows the earliest and the latest time of each attempt

redrive assumes that the message fails every time. Retries wait for redrive's backoff if the function's Cargo.toml depends
on redrive or the function has a REDRIVE_ variable, and otherwise for the visibility timeout of the queue. redrive schedule
cannot see settings made in code or delays requested by message attributes: pass them as flags.

Exit codes: 0 done, 1 failed, 2 wrong usage or input.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,

    /// Queue, if several feed functions
    #[arg(long, value_name = "NAME", help_heading = "Where to look")]
    queue: Option<String>,

    #[command(flatten)]
    flags: Flags,

    #[command(flatten)]
    output: Output,
}

/// Default template, as for `redrive local` and `redrive doctor`.
const TEMPLATE: &str = "template.yaml";

pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    let (_, known) = read(&arguments.target, arguments.queue.as_deref(), &arguments.flags)?;
    let schedule = Schedule::of(known, &arguments.flags).or_input()?;
    let written = match arguments.output.json {
        true => output::print_json(&json::json(&schedule)),
        false => output::print_all(&text::text(&schedule, Width::of(Stream::Stdout))),
    };
    written.context("could not write").or_failed()
}

/// Reads the settings of the queue, and the subject. Flags replace values that were read, and these replace defaults.
pub(crate) fn read(
    target: &Target,
    queue: Option<&str>,
    flags: &Flags,
) -> Result<(Option<Deployment>, Known), Problem> {
    let here = Some(Path::new(TEMPLATE)).filter(|path| target.names_nothing() && path.exists());
    let subject = target.read(here)?;
    // A default template without a queue that feeds a function is not for this verb, which is not an error.
    let subject = subject.filter(|subject| here.is_none() || known::has_source(subject));
    if subject.is_some() && here.is_some() {
        tell(format_args!("reading {TEMPLATE}, because no --template, --stack or --function is given"));
    }
    let mut known = match &subject {
        Some(subject) => known::known(subject, queue, flags).or_input()?,
        None if queue.is_some() => {
            return Err(Problem::Input(anyhow!("--queue requires --template, --stack or --function")));
        }
        None => Known::default(),
    };
    flags.replace(&mut known);
    for note in subject.iter().flat_map(known::notes) {
        tell(format_args!("unknown: {note}"));
    }
    Ok((subject, known))
}
