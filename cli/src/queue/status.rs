//! `redrive queue status`: source and dead letters at a glance.

mod expiry;
mod read;
mod report;
mod table;

use std::io;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use tokio::signal::unix::{SignalKind, signal};

use crate::aws::Aws;
use crate::find::{Pair, Which};
use crate::flags::Output;
use crate::output::{self, Line, Stream};
use crate::problem::{OrProblem, Problem};
use crate::wait::wait;
use report::Report;

/// Shows a queue, its dead letters, its mappings and its alarms at a glance.
#[derive(Debug, Args)]
#[command(mut_arg("json", |json| json.help("Print JSON; with --watch an object per line")), after_help = "\
Examples:
  redrive queue status --queue orders
  redrive queue status --stack shop --watch 10
      refreshed every 10 seconds until Ctrl-C
  redrive queue status --function shop --json | jq .dead_letter_queue.visible

No message is received. The counts are SQS's approximate numbers. The ages come from CloudWatch's
ApproximateAgeOfOldestMessage, and are unknown if it has no value in the last 5 minutes; it ignores messages that were
received three times or more, by dlq list too. On a standard queue, the retention of a letter that SQS moved counts from when
its message was first sent, which the metric does not tell: hence a range.

What cannot be read, for lack of permission or on an emulator, is shown as unknown, with the reason.

Exit codes: 0 done, 1 failed, 2 wrong usage or input.")]
pub(crate) struct Arguments {
    /// Refresh every SECONDS until Ctrl-C
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "5",
          value_parser = clap::value_parser!(u64).range(1..=3_600))]
    watch: Option<u64>,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    which: Which,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Problem> {
    wait(async {
        let (aws, pair) = arguments.which.find().await?;
        let report = Report::read(&aws, &pair).await;
        match arguments.watch {
            None => print(&report, arguments.output.json).or_failed(),
            Some(seconds) => {
                watch(&aws, pair, report, Duration::from_secs(seconds), arguments.output.json).await
            }
        }
    })
}

fn print(report: &Report, json: bool) -> io::Result<()> {
    if json { output::print_json_pretty(report) } else { output::print_all(&table::table(report)) }
}

/// In place on a terminal, else one after the other. Ctrl-C is how it is meant to end.
async fn watch(aws: &Aws, mut pair: Pair, first: Report, every: Duration, json: bool) -> Result<(), Problem> {
    let mut terminated =
        signal(SignalKind::terminate()).context("could not listen for signals").or_failed()?;
    let interrupted = tokio::signal::ctrl_c();
    tokio::pin!(interrupted);
    let screen = Screen::new(json);
    screen.show(&Ok(first)).or_failed()?;
    loop {
        // A round that hangs is ended by Ctrl-C too.
        let round = async {
            tokio::time::sleep(every).await;
            pair = pair.refresh(aws).await?;
            Ok(Report::read(aws, &pair).await)
        };
        let report: anyhow::Result<Report> = tokio::select! {
            biased;
            _ = &mut interrupted => return Ok(()),
            _ = terminated.recv() => return Ok(()),
            report = round => report,
        };
        screen.show(&report).or_failed()?;
    }
}

#[derive(Debug, Clone, Copy)]
enum Screen {
    InPlace,
    Blocks,
    Json,
}

impl Screen {
    fn new(json: bool) -> Self {
        match (json, Stream::Stdout.is_terminal()) {
            (true, _) => Self::Json,
            (false, true) => Self::InPlace,
            (false, false) => Self::Blocks,
        }
    }

    /// What could not be read this time may be readable the next.
    fn show(self, report: &anyhow::Result<Report>) -> io::Result<()> {
        match (self, report) {
            (Self::Json, Ok(report)) => output::print_json(report),
            (Self::InPlace, report) => {
                let report = report.as_ref().map(table::table);
                let mut lines = report.unwrap_or_else(|error| vec![format!("{error:#}").into()]);
                lines.extend(["", "Ctrl-C ends it"].map(Line::from));
                output::redraw(&lines)
            }
            (Self::Blocks, Ok(report)) => {
                let mut lines = table::table(report);
                lines.push(Line::default());
                output::print_all(&lines)
            }
            (Self::Blocks | Self::Json, Err(error)) => {
                output::tell(format!("redrive: {error:#}"));
                Ok(())
            }
        }
    }
}
