//! `redrive queue status`: shows a queue and its dead letters.

mod read;
mod report;
mod table;

use std::time::Duration;

use clap::Args;

use crate::ask::Yes;
use crate::aws::Aws;
use crate::find::{Pair, Which};
use crate::flags::{MayMove, Output};
use crate::letters::Letter;
use crate::letters::look::{Look, not_seen};
use crate::output::Line;
use crate::problem::{OrProblem, Problem};
use crate::sqs::{Receivable, with_lease};
use crate::wait::wait;
use crate::watch;
use crate::width::{Layout, Wide};
use report::{Report, Seen};

/// Shows a queue, its dead letters, its mappings and its alarms at a glance.
#[derive(Debug, Args)]
#[command(mut_arg("may_move", |yes| yes.requires("look")), mut_arg("json", |json| json.help("Print JSON; with --watch an object per line")), after_help = "\
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
    sure: MayMove,

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
            report = report.with_look(look(&aws, &pair, arguments.sure.yes()).await?);
        }
        let (json, wide) = (arguments.output.json, arguments.wide);
        let Some(seconds) = arguments.watch else { return watch::show(&report, json, wide) };
        let mut pair = pair;
        let next = async || {
            pair = pair.refresh(&aws).await?;
            Ok(Report::read(&aws, &pair).await)
        };
        watch::watch(report, Duration::from_secs(seconds), json, wide, next).await
    })
}

/// Receives the letters once, for `--look`.
async fn look(aws: &Aws, pair: &Pair, sure: Yes) -> Result<Seen, Problem> {
    let dead = &Receivable::ask(pair.dead().or_input()?.clone(), sure)?;
    let (sent, letters) = with_lease(aws, dead, async |lease| {
        let (mut look, mut sent) = (Look::new(lease, pair.max_receive_count(), None), Vec::new());
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

impl watch::Report for Report {
    fn lines(&self, layout: Layout) -> Vec<Line> {
        table::table(self, layout)
    }
}
