//! Snoozes, for which `fleet` lists a dead-letter queue last for a time.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use anyhow::{Context, anyhow};
use clap::Args;
use redrive_sqs::queue_name;
use serde::{Deserialize, Serialize};

use super::JOURNAL;
use crate::aws::{Aws, Place};
use crate::find::{Queue, queue_address};
use crate::flags::Journaling;
use crate::history::{History, HistoryAction, user};
use crate::problem::{OrProblem, Problem};
use crate::span::{self, span};
use crate::store::StorePlace;
use crate::tell::print_line;

/// Name of the file beside the history, in which the last line of a queue counts. A table has one line for each.
const NAME: &str = "snoozes";

const LONGEST: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Number of additional letters that ends a snooze, unless a tenth is more.
const MORE: u64 = 10;

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Snooze {
    /// ARN of the dead-letter queue.
    pub(crate) queue: String,
    /// End in RFC 3339.
    pub(crate) until: String,
    pub(crate) reason: String,
    /// Name of the user on this machine.
    pub(crate) user: String,
    /// Number of letters that the queue had.
    pub(crate) letters: u64,
}

impl Snooze {
    pub(crate) fn new(queue: &Queue, until: SystemTime, reason: &str) -> Self {
        Self {
            queue: queue.arn.clone(),
            until: humantime::format_rfc3339_seconds(until).to_string(),
            reason: reason.to_owned(),
            user: user(),
            letters: queue.counted(),
        }
    }

    fn is_over(&self, now: SystemTime) -> bool {
        humantime::parse_rfc3339(&self.until).is_ok_and(|until| until <= now)
    }

    /// Returns true if it lasts although the queue has this many letters by now.
    pub(super) fn lasts_with(&self, letters: u64) -> bool {
        letters < self.letters.saturating_add(MORE.max(self.letters.div_ceil(10)))
    }
}

/// Reads the snoozes that are not over.
///
/// # Errors
/// The history cannot be read.
pub(crate) async fn read(history: &History, now: SystemTime) -> anyhow::Result<Vec<Snooze>> {
    let lines = history.lines::<Snooze>(NAME).await?.into_iter().map(|snooze| (snooze.queue.clone(), snooze));
    let last: BTreeMap<String, Snooze> = lines.collect();
    Ok(last.into_values().filter(|snooze| !snooze.is_over(now)).collect())
}

/// # Errors
/// The history cannot be written.
pub(crate) async fn add(history: &History, snooze: &Snooze) -> anyhow::Result<()> {
    let until = humantime::parse_rfc3339(&snooze.until)?;
    history.append(NAME, snooze.queue.clone(), until, snooze).await
}

/// # Errors
/// The history cannot be written.
pub(crate) async fn remove(history: &History, snooze: Snooze, now: SystemTime) -> anyhow::Result<()> {
    let until = humantime::format_rfc3339_seconds(now).to_string();
    add(history, &Snooze { until, user: user(), ..snooze }).await
}

/// Lists a dead-letter queue last for a time, with a reason, until it has 10 more letters or 10 % more, whichever is larger.
#[derive(Debug, Args)]
#[command(mut_arg("journal", |journal| journal.help(JOURNAL)), after_help = "\
Examples:
  redrive fleet snooze shop-orders-dead --for 2d --reason 'fix is in review, SHOP-17'
  redrive fleet wake shop-orders-dead

The snooze is recorded where the history is. It has no effect while the queue has at least 10 letters
more than now, or 10 % more, whichever is larger.

Exit codes: 0 done, 1 failed, 2 wrong usage or input.")]
pub(super) struct Arguments {
    /// Dead-letter queue by name, URL or ARN
    #[arg(value_parser = queue_address)]
    queue: String,

    /// How long, 1m to 30d
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    time: Duration,

    /// Why you snooze it
    #[arg(long, value_name = "TEXT", value_parser = reason)]
    reason: String,

    #[command(flatten)]
    journal: Journaling,

    #[command(flatten)]
    place: Place,
}

/// Ends the snooze of a dead-letter queue.
#[derive(Debug, Args)]
#[command(mut_arg("journal", |journal| journal.help(JOURNAL)), after_help = "\
Examples:
  redrive fleet wake shop-orders-dead

Exit codes: 0 done, 1 failed, 2 wrong usage or input.")]
pub(super) struct Wake {
    /// Dead-letter queue by name or ARN
    queue: String,

    #[command(flatten)]
    journal: Journaling,

    #[command(flatten)]
    place: Place,
}

fn time(text: &str) -> Result<Duration, String> {
    match span::parse(text)? {
        time if (Duration::from_secs(60)..=LONGEST).contains(&time) => Ok(time),
        _ => Err("allowed: 1m to 30d".to_owned()),
    }
}

fn reason(text: &str) -> Result<String, &'static str> {
    match text.trim() {
        text if (1..=200).contains(&text.chars().count()) => Ok(text.to_owned()),
        _ => Err("allowed: 1 to 200 characters"),
    }
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Problem> {
    let named = on(&arguments.journal)?;
    let aws = Aws::connect(&arguments.place).await.or_input()?;
    let history = History::new(named.reach(async || Ok(aws.clone())).await?);
    let queue = Queue::find(&aws, &arguments.queue).await.or_failed()?;
    let snooze = Snooze::new(&queue, SystemTime::now() + arguments.time, &arguments.reason);
    add(&history, &snooze).await.context("could not record the snooze").or_failed()?;
    let (name, place) = (queue.name(), aws.place(&queue.arn));
    let what = format!("until {}: {}", snooze.until, snooze.reason);
    history
        .record(
            &aws,
            HistoryAction {
                verb: "snooze",
                queue: &queue.arn,
                what: Some(&what),
                ..HistoryAction::default()
            },
        )
        .await;
    print_line(format!("{name} ({place}) is snoozed for {}, until {}", span(arguments.time), snooze.until))
}

pub(super) async fn wake(arguments: &Wake) -> Result<(), Problem> {
    let store = on(&arguments.journal)?.reach(async || Aws::connect(&arguments.place).await.or_input());
    let (history, now) = (History::new(store.await?), SystemTime::now());
    let snoozes = read(&history, now).await.context("could not read the snoozes").or_failed()?;
    let is_meant = |snooze: &&Snooze| {
        [snooze.queue.as_str(), queue_name(&snooze.queue)].contains(&arguments.queue.as_str())
    };
    let mut meant: Vec<&Snooze> = snoozes.iter().filter(is_meant).collect();
    let snooze = match (meant.pop(), meant.as_slice()) {
        (Some(snooze), []) => snooze,
        (last, _) => {
            let known = if last.is_some() {
                meant.into_iter().chain(last).collect()
            } else {
                Vec::from_iter(&snoozes)
            };
            let known: Vec<&str> = known.into_iter().map(|snooze| snooze.queue.as_str()).collect();
            let known = if known.is_empty() { "none is snoozed".to_owned() } else { known.join(", ") };
            return Err(Problem::Input(anyhow!("QUEUE is {:?}, allowed: {known}", arguments.queue)));
        }
    };
    remove(&history, snooze.clone(), now).await.context("could not end the snooze").or_failed()?;
    // The snooze needs no AWS, but the history records the account.
    if let Ok(aws) = Aws::connect(&arguments.place).await {
        let what = format!("was snoozed by {} until {}: {}", snooze.user, snooze.until, snooze.reason);
        let action = HistoryAction {
            verb: "wake",
            queue: &snooze.queue,
            what: Some(&what),
            ..HistoryAction::default()
        };
        history.record(&aws, action).await;
    }
    print_line(format!("{} is no longer snoozed", queue_name(&snooze.queue)))
}

fn on(journal: &Journaling) -> Result<StorePlace, Problem> {
    match journal.named()? {
        StorePlace::Off => Err(Problem::Input(anyhow!(
            "--journal or REDRIVE_JOURNAL is off, allowed: a folder, or dynamodb:TABLE"
        ))),
        named => Ok(named),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    #[test]
    fn ten_letters_or_a_tenth_more_end_it() {
        let lasts = |then, letters| {
            let snooze = Snooze { letters: then, ..snooze() };
            snooze.lasts_with(letters)
        };
        assert_eq!([lasts(0, 9), lasts(0, 10), lasts(100, 109), lasts(100, 110)], [true, false, true, false]);
        assert_eq!([lasts(1_000, 1_099), lasts(1_000, 1_100), lasts(1_000, 0)], [true, false, true]);
    }

    fn snooze() -> Snooze {
        Snooze {
            queue: "arn:aws:sqs:eu-west-1:123456789012:dead".to_owned(),
            until: "2026-11-28T18:00:00Z".to_owned(),
            reason: "known".to_owned(),
            user: "ada".to_owned(),
            letters: 5,
        }
    }

    #[tokio::test]
    async fn the_last_line_of_a_queue_counts_until_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let history = History::new(Store::Folder(folder.path().to_owned()));
        let at = |text| humantime::parse_rfc3339(text).unwrap();
        let (before, after) = (at("2026-11-28T17:59:59Z"), at("2026-11-28T18:00:00Z"));
        assert_eq!(read(&history, before).await.unwrap(), []);
        add(&history, &Snooze { letters: 4, ..snooze() }).await.unwrap();
        add(&history, &snooze()).await.unwrap();
        assert_eq!(
            (read(&history, before).await.unwrap(), read(&history, after).await.unwrap()),
            (vec![snooze()], vec![])
        );
        remove(&history, snooze(), before).await.unwrap();
        assert_eq!(read(&history, before).await.unwrap(), []);
    }
}
