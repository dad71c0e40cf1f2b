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
use crate::letters::Letter;
use crate::letters::look::{Look, not_seen};
use crate::output::{self, Line, Stream};
use crate::problem::{OrProblem, Problem};
use crate::sqs::hold;
use crate::wait::wait;
use crate::width::{Layout, Wide, Width};
use report::{Report, Seen};

/// Shows a queue, its dead letters, its mappings and its alarms at a glance.
#[derive(Debug, Args)]
#[command(mut_arg("json", |json| json.help("Print JSON; with --watch an object per line")), after_help = "\
Examples:
  redrive queue status --queue orders
  redrive queue status --stack shop --watch 10
      refreshed every 10 seconds until Ctrl-C
  redrive queue status --function shop --json | jq .dead_letter_queue.visible

No message is received without --look. The counts are SQS's approximate numbers. The ages come from CloudWatch's
ApproximateAgeOfOldestMessage, and are unknown if it has no value in the last 5 minutes. The metric leaves out messages that
were received three times or more; dlq list, show and export count as receives. On a standard queue, SQS counts the
retention of a moved letter from when its message was first sent. The metric does not report that time, so a range is shown.

--look receives the letters once and makes them visible again, which raises their receive counts by one. Their SentTimestamp
then shows how old they are and when the first one expires.

On a terminal, the report fits its width; --wide prints whole lines.

If a value cannot be read, for lack of permission or on an emulator, it is shown as unknown, with the reason.

Exit codes: 0 done, 1 failed, 2 wrong usage or input.")]
pub(crate) struct Arguments {
    /// Refresh every SECONDS until Ctrl-C
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "5",
          value_parser = clap::value_parser!(u64).range(1..=3_600))]
    watch: Option<u64>,

    /// Receive the dead letters once, to see how old they are
    #[arg(long, conflicts_with = "watch")]
    look: bool,

    #[command(flatten)]
    wide: Wide,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    which: Which,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Problem> {
    wait(async {
        let (aws, pair) = arguments.which.find().await?;
        let mut report = Report::read(&aws, &pair).await;
        if arguments.look {
            report = report.with_look(look(&aws, &pair).await?);
        }
        let every = arguments.watch.map(Duration::from_secs);
        match (every, arguments.output.json) {
            (None, true) => output::print_json_pretty(&report).or_failed(),
            (None, false) => output::print_all(&table::table(&report, arguments.wide.layout())).or_failed(),
            (Some(every), json) => watch(&aws, pair, report, every, Screen::new(json, arguments.wide)).await,
        }
    })
}

/// `--look`.
async fn look(aws: &Aws, pair: &Pair) -> Result<Seen, Problem> {
    let dead = pair.dead().or_input()?;
    let (sent, letters) = hold(aws, dead, async |hold| {
        let (mut look, mut sent) = (Look::new(hold, pair, None), Vec::new());
        loop {
            let letters = look.next().await?;
            if letters.is_empty() {
                return Ok((sent, look.seen()));
            }
            sent.extend(letters.iter().filter_map(Letter::enqueued_at));
        }
    })
    .await?;
    let oldest = sent.into_iter().min().map(|sent| sent.elapsed().unwrap_or_default());
    Ok(Seen { oldest, letters, is_all: not_seen(dead, letters).is_none() })
}

/// In place on a terminal, else one after the other. Ctrl-C is how it is meant to end.
async fn watch(
    aws: &Aws,
    mut pair: Pair,
    first: Report,
    every: Duration,
    screen: Screen,
) -> Result<(), Problem> {
    let mut terminated =
        signal(SignalKind::terminate()).context("could not listen for signals").or_failed()?;
    let interrupted = tokio::signal::ctrl_c();
    tokio::pin!(interrupted);
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
    InPlace(Wide),
    Blocks,
    Json,
}

impl Screen {
    fn new(json: bool, wide: Wide) -> Self {
        match (json, Stream::Stdout.is_terminal()) {
            (true, _) => Self::Json,
            (false, true) => Self::InPlace(wide),
            (false, false) => Self::Blocks,
        }
    }

    /// What could not be read this time may be readable the next.
    fn show(self, report: &anyhow::Result<Report>) -> io::Result<()> {
        match (self, report) {
            (Self::Json, Ok(report)) => output::print_json(report),
            (Self::InPlace(wide), report) => {
                // The terminal may have got another width since.
                let report = report.as_ref().map(|report| table::table(report, wide.layout()));
                let mut lines = report.unwrap_or_else(|error| vec![format!("{error:#}").into()]);
                lines.extend(["", "Ctrl-C ends it"].map(Line::from));
                output::redraw(&lines)
            }
            (Self::Blocks, Ok(report)) => {
                let mut lines = table::table(report, Layout::Fit(Width::Elsewhere));
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
