//! `redrive schedule`.

mod axis;
mod course;
mod flags;
mod json;
mod known;
mod plan;
mod plot;
mod text;

use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, anyhow};
use clap::Args;
use redrive_template::subject::Subject;

use crate::flags::Output;
use crate::output::{self, Stream};
use crate::problem::{OrProblem, Problem};
use crate::target::Target;
use crate::tell::tell;
use crate::width::Width;
use flags::Flags;
pub(crate) use flags::{Consumer, Known};
use plan::Plan;

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
on redrive or the function has a REDRIVE_ variable, and otherwise for the visibility timeout of the queue. In the plot, o is
an attempt, = its delay, and ~ the possible jitter. redrive schedule cannot see settings made in code or delays requested by
message attributes: pass them as flags.

Exit codes: 0 done, 1 failed, 2 wrong usage or input.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,

    /// Queue, if several feed functions
    #[arg(long, value_name = "NAME", help_heading = "Where to look")]
    queue: Option<String>,

    #[command(flatten)]
    flags: Flags,

    /// When the message is sent, such as 2026-11-21T10:00:00Z; adds the time of each attempt
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Output")]
    at: Option<SystemTime>,

    #[command(flatten)]
    output: Output,
}

/// What is read if nothing is named, as `redrive local` and `redrive doctor` do.
const TEMPLATE: &str = "template.yaml";

pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    let (_, known) = read(&arguments.target, arguments.queue.as_deref())?;
    let name = known.name.clone();
    let plan = Plan::of(name, arguments.flags.terms(known).or_input()?);
    let written = if arguments.output.json {
        output::print_json(&json::json(&plan, arguments.at))
    } else {
        output::print_all(&text::text(&plan, arguments.at, Width::of(Stream::Stdout)))
    };
    written.context("could not write").or_failed()
}

/// What is known of the queue that is meant, with all that was read. Defaults, if nothing was.
pub(crate) fn read(target: &Target, queue: Option<&str>) -> Result<(Option<Subject>, Known), Problem> {
    let here = Some(Path::new(TEMPLATE)).filter(|path| target.names_nothing() && path.exists());
    let subject = target.read(here)?;
    // Of a template that somebody else needs nothing is known here, and that is no mistake.
    let subject = subject.filter(|subject| here.is_none() || known::has_source(subject));
    if subject.is_some() && here.is_some() {
        tell(format_args!("reading {TEMPLATE}, because no --template, --stack or --function is given"));
    }
    let known = match &subject {
        Some(subject) => known::known(subject, queue).or_input()?,
        None if queue.is_some() => {
            return Err(Problem::Input(anyhow!("--queue requires --template, --stack or --function")));
        }
        None => Known::default(),
    };
    for note in subject.iter().flat_map(known::notes) {
        tell(format_args!("unknown: {note}"));
    }
    Ok((subject, known))
}

/// After it there is time for all attempts and for the retention of their letter.
const LAST_SENT: &str = "9000-01-01T00:00:00Z";

fn time(text: &str) -> Result<SystemTime, String> {
    let expected = || "allowed: a time such as 2026-11-21T10:00:00Z".to_owned();
    let time = humantime::parse_rfc3339_weak(text).map_err(|_| expected())?;
    // All that is added has to end before the year 10000, the last that can be written.
    let last = humantime::parse_rfc3339(LAST_SENT).map_err(|_| expected())?;
    if time > last { Err(format!("expected a time no later than {LAST_SENT}")) } else { Ok(time) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_after_which_the_calendar_ends_is_refused() {
        assert!(time("2026-11-21T10:00:00Z").is_ok() && time(LAST_SENT).is_ok());
        assert_eq!(
            time("9999-12-31T23:59:59Z").unwrap_err(),
            "expected a time no later than \
                                                               9000-01-01T00:00:00Z"
        );
        assert!(time("tomorrow").is_err());
    }
}
