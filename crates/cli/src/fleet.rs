//! `redrive fleet`: lists all dead-letter queues.

mod facts;
mod places;
mod read;
pub(crate) mod seen;
pub(crate) mod snooze;
mod table;

use std::time::{Duration, SystemTime};

use anyhow::{Context, anyhow};
use clap::{Args, Subcommand};
use futures_util::future::join;
use tokio::time::timeout;

pub(crate) use self::facts::{DeadLetterQueue, Fleet, PlaceFacts};
pub(crate) use self::places::{Places, Reached, first};
pub(crate) use self::read::{Wanted, queues, read as read_facts};
use crate::flags::{Journaling, Output};
use crate::history::History;
use crate::output::Line;
use crate::problem::{OrProblem, Problem};
use crate::span::span;
use crate::tell::{print_json, print_line, tell};
use crate::wait::wait;
use crate::watch;
use crate::width::{Layout, Wide};

/// Timeout for the snoozes and the errors that were seen last.
const PATIENCE: Duration = Duration::from_secs(10);

const JOURNAL: &str = "Folder of the history and the snoozes, or dynamodb:TABLE, or off [default: REDRIVE_JOURNAL, else redrive in XDG_STATE_HOME]";

/// Lists all dead-letter queues with letters, in several accounts and regions, worst first.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, mut_arg("json", |json| json.help("Print JSON; with --watch an object per line")), mut_arg("journal", |journal| journal.help(JOURNAL)), after_help = "\
Examples:
  redrive fleet
      shows the dead-letter queues of one account and region that have letters
  redrive fleet --profile shop --profile billing --region eu-west-1 --region us-east-1 --watch
      shows those of two accounts in two regions, refreshed every minute
  redrive fleet --all --json | jq -r '.queues[] | select(.owner == null) | .name'
      names the dead-letter queues without an owner tag
  redrive fleet snooze shop-orders-dead --for 2d --reason 'fix is in review'
      lists a queue last for two days, or until letters pile up
  redrive fleet --history
      shows what was sent and deleted, when and by whom

A dead-letter queue is one that a queue's redrive policy names. No message is received: ERROR is the most frequent error when
the queue's letters were last listed. PER HOUR is the number of visible letters now, minus CloudWatch's number from
an hour ago; letters that were sent back or deleted reduce it. OLDEST is CloudWatch's ApproximateAgeOfOldestMessage, the time
since the letter was moved; - means unknown. On a standard queue, the metric leaves out letters that were received three
times or more; if the last listing found an older one, its age is shown. SQS counts the retention from when the message was first sent, so
EXPIRES is a range.

The queue whose oldest letter expires first is at the top, after those whose age is unknown. The command compares whole hours
within a day, and whole days after that. It sorts queues of the same hour or day by growth, then by letters.

The command calls SQS once for each queue, and once more for each listed queue. For each queue with letters, it reads two
metrics from CloudWatch, which charges for them.

Exit codes: 0 done, 1 some queue, profile or region could not be read, 2 wrong usage or input.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Option<Verb>,

    /// List empty dead-letter queues too
    #[arg(long)]
    all: bool,

    /// Print the actions on letters, newest last: from this machine, or from all machines that share the table
    #[arg(long, conflicts_with_all = ["all", "watch"])]
    history: bool,

    #[command(flatten)]
    journal: Journaling,

    /// Tag that names the owner of a dead-letter queue
    #[arg(long, value_name = "NAME", default_value = "owner")]
    owner_tag: String,

    /// Refresh every SECONDS until Ctrl-C
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "60",
          value_parser = clap::value_parser!(u64).range(1..=3_600))]
    watch: Option<u64>,

    #[command(flatten)]
    wide: Wide,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    places: Places,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Snooze(snooze::Arguments),
    Wake(snooze::Wake),
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    match &arguments.verb {
        Some(Verb::Snooze(arguments)) => return wait(snooze::run(arguments)),
        Some(Verb::Wake(arguments)) => return wait(snooze::wake(arguments)),
        None => (),
    }
    if arguments.history {
        return wait(history(arguments));
    }
    wait(async {
        let named = arguments.journal.named()?;
        let places = arguments.places.connect().await?;
        let history = History::new(named.reach(async || first(&places)).await?);
        let fleet = read(arguments, &places, &history).await;
        let (json, wide) = (arguments.output.json, arguments.wide);
        if let Some(seconds) = arguments.watch {
            let next = async || Ok(read(arguments, &places, &history).await);
            return watch::watch(fleet, Duration::from_secs(seconds), json, wide, next).await;
        }
        watch::show(&fleet, json, wide)?;
        fleet.problem().map_or(Ok(()), |problem| Err(Problem::Failed(anyhow!(problem))))
    })
}

async fn history(arguments: &Arguments) -> Result<(), Problem> {
    let connect = async || first(&arguments.places.connect().await?);
    let history = History::new(arguments.journal.named()?.reach(connect).await?);
    if history.is_off() {
        tell(format_args!(
            "redrive: the history is off: set --journal or REDRIVE_JOURNAL to a folder or dynamodb:TABLE"
        ));
    }
    let entries = history.read().await.context("could not read the history").or_failed()?;
    let json = arguments.output.json;
    entries.iter().try_for_each(|entry| if json { print_json(entry) } else { print_line(entry.words()) })
}

async fn read(arguments: &Arguments, places: &[Reached], history: &History) -> Fleet {
    let wanted = Wanted { owner_tag: &arguments.owner_tag, with_empty: arguments.all };
    let fleet = Fleet::of(&read_facts(places, wanted).await, arguments.all);
    remembered(fleet, history, SystemTime::now()).await
}

/// Adds the current snoozes and the errors that were seen last.
pub(crate) async fn remembered(fleet: Fleet, history: &History, now: SystemTime) -> Fleet {
    let read =
        join(timeout(PATIENCE, snooze::read(history, now)), timeout(PATIENCE, seen::read(history, now)));
    let (snoozes, seen) = read.await;
    let fleet = fleet.with_seen(seen.unwrap_or_default(), now);
    match snoozes.unwrap_or_else(|_| Err(anyhow!("no answer in {}", span(PATIENCE)))) {
        Ok(snoozes) => fleet.with_snoozes(snoozes),
        Err(error) => fleet.with_unknown(history.place(), format!("could not read the snoozes: {error:#}")),
    }
}

impl watch::Report for Fleet {
    fn lines(&self, layout: Layout) -> Vec<Line> {
        table::table(self, layout, SystemTime::now())
    }

    fn below(&self, layout: Layout) -> Vec<Line> {
        table::faults(self, layout)
    }
}
