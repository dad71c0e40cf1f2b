//! `redrive queue pause` and `redrive queue resume`: disable and enable the event source mappings.

mod step;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{anyhow, bail};
use clap::Args;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::mappings::Mapping;
use crate::ask::DryRun;
use crate::aws::{Aws, DescribeError, code_of};
use crate::counted::counted;
use crate::find::{Of, WhichSource};
use crate::flags::Output;
use crate::history::{History, HistoryAction};
use crate::output::{self, Line, Progress};
use crate::problem::{OrProblem, Problem};
use crate::span::span;
use crate::tell::tell;
use crate::wait::wait;
use step::{Step, Wanted, step};

/// Interval between reads of a mapping's state.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Stops Lambda from polling a queue, by disabling its event source mappings.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  redrive queue pause --stack shop
  redrive queue pause --function shop --dry-run
  redrive queue resume --stack shop

Waits until Lambda reports the mappings as disabled, which can take a minute or two. Messages in flight are still processed
and deleted. All others wait in the queue and expire at the end of the retention period without becoming dead letters.
--queue pauses all mappings of the queue, --function all mappings of the function.

Exit codes: 0 done, 1 failed, 2 wrong usage or input.")]
pub(crate) struct Pause {
    #[command(flatten)]
    arguments: Arguments,
}

/// Lets Lambda poll a queue again, by enabling its event source mappings.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  redrive queue resume --stack shop
  redrive queue resume --queue orders --json

Waits until Lambda reports the mappings as enabled, which can take a minute or two.

Exit codes: 0 done, 1 failed, 2 wrong usage or input.")]
pub(crate) struct Resume {
    #[command(flatten)]
    arguments: Arguments,
}

#[derive(Debug, Args)]
struct Arguments {
    /// Seconds to wait for Lambda, 0 to return at once
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(..=3_600))]
    wait: u64,

    #[command(flatten)]
    dry: DryRun,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    which: WhichSource,
}

pub(super) fn pause(arguments: &Pause) -> Result<(), Problem> {
    wait(run(&arguments.arguments, Wanted::Disabled))
}

pub(super) fn resume(arguments: &Resume) -> Result<(), Problem> {
    wait(run(&arguments.arguments, Wanted::Enabled))
}

async fn run(arguments: &Arguments, wanted: Wanted) -> Result<(), Problem> {
    let which = &arguments.which;
    let aws = which.connect().await?;
    let (mappings, retention) = find(&aws, which, wanted).await.or_failed()?;
    if arguments.dry.run {
        return print(&mappings, arguments.output.json, |mapping| dry(mapping, wanted));
    }
    if let Some(mapping) = mappings.first() {
        tell(format_args!("redrive: {} mappings in {}", wanted.doing(), aws.place(&mapping.queue_arn)));
    }
    let waiting = waiting(mappings.len(), wanted);
    let limit = (arguments.wait > 0).then(|| Duration::from_secs(arguments.wait));
    let history = history(&aws).await;
    let begun = start(&history, &aws, &mappings, wanted).await;
    let mut works = JoinSet::new();
    for mapping in mappings.clone() {
        let aws = aws.clone();
        works.spawn(async move { bring(&aws, mapping, wanted, limit).await });
    }
    let (after, failures): (Vec<_>, Vec<_>) = works.join_all().await.into_iter().partition(Result::is_ok);
    let mut after: Vec<Mapping> = after.into_iter().filter_map(Result::ok).collect();
    after.sort_by(|a, b| a.uuid.cmp(&b.uuid));
    drop(waiting);
    record(&history, &aws, &begun, &after, &mappings, wanted).await;
    print(&after, arguments.output.json, |mapping| done(mapping, &mappings))?;
    if wanted == Wanted::Disabled && !after.is_empty() {
        let kept = retention.map(|kept| format!(" of {}", span(kept))).unwrap_or_default();
        tell(format_args!(
            "messages in flight are still processed; the others wait, and their retention{kept} continues"
        ));
        tell(format_args!("afterwards: redrive queue resume{}", which.typed()));
    }
    let failures: Vec<String> =
        failures.into_iter().filter_map(Result::err).map(|error| format!("{error:#}")).collect();
    if failures.is_empty() { Ok(()) } else { Err(Problem::Failed(anyhow!(failures.join("; ")))) }
}

/// Opens the history, or none if that fails: the pause is more important.
async fn history(aws: &Aws) -> History {
    History::from_env(aws).await.unwrap_or_else(|problem| {
        tell(format_args!("warning: the action is not recorded: {problem}"));
        History::off()
    })
}

/// Records in the history that the mappings of each queue are about to change, and returns the times.
async fn start<'a>(
    history: &History,
    aws: &Aws,
    mappings: &'a [Mapping],
    wanted: Wanted,
) -> BTreeMap<&'a str, Option<String>> {
    let mut begun = BTreeMap::new();
    for queue in mappings.iter().map(|mapping| mapping.queue_arn.as_str()) {
        if !begun.contains_key(queue) {
            let action = HistoryAction { verb: wanted.name(), queue, ..HistoryAction::default() };
            begun.insert(queue, history.start(aws, action).await);
        }
    }
    begun
}

/// Records in the history the number of mappings of each queue that reached the wanted state.
async fn record(
    history: &History,
    aws: &Aws,
    begun: &BTreeMap<&str, Option<String>>,
    after: &[Mapping],
    all: &[Mapping],
    wanted: Wanted,
) {
    for (queue, began) in begun {
        let [after, all] =
            [after, all].map(|list| list.iter().filter(|mapping| mapping.queue_arn == *queue).count());
        let what = format!("{after} of {} {}", counted(all, "event source mapping"), wanted.state());
        let (verb, began) = (wanted.name(), began.as_deref());
        history
            .record(aws, HistoryAction { verb, queue, what: Some(&what), began, ..HistoryAction::default() })
            .await;
    }
}

/// Finds the mappings, and the retention period if one queue was named.
async fn find(
    aws: &Aws,
    which: &WhichSource,
    wanted: Wanted,
) -> anyhow::Result<(Vec<Mapping>, Option<Duration>)> {
    if let Some(function) = &which.function {
        let mappings = Mapping::list(aws, Of::Function(function)).await?;
        return match mappings.is_empty() {
            true => Err(anyhow!("no queue feeds the function {function}")),
            false => Ok((mappings, None)),
        };
    }
    let queue = which.find_with(aws).await?;
    let mappings = Mapping::list(aws, Of::Queue(&queue.arn)).await?;
    match mappings.is_empty() {
        true => Err(anyhow!("no event source mapping polls {}; {}", queue.name(), wanted.for_workers())),
        false => Ok((mappings, Some(queue.retention()))),
    }
}

/// Requests the change once, and polls until Lambda has made it. Without a limit it only requests it.
async fn bring(
    aws: &Aws,
    mut mapping: Mapping,
    wanted: Wanted,
    limit: Option<Duration>,
) -> anyhow::Result<Mapping> {
    let begun = Instant::now();
    let mut requested = false;
    loop {
        match step(&mapping.state, wanted, requested) {
            Step::Done => return Ok(mapping),
            Step::Wait => (),
            Step::Fail(why) => bail!("the mapping {} {why}", mapping.uuid),
            Step::Request => {
                if let Some(changed) = request_change(aws, &mapping, wanted).await? {
                    (mapping, requested) = (changed, true);
                }
            }
        }
        match limit {
            None if requested => return Ok(mapping),
            Some(limit) if begun.elapsed() < limit => (),
            _ if requested => bail!(
                "the mapping {} is still {}; Lambda continues, see redrive queue status",
                mapping.uuid,
                mapping.state
            ),
            _ => bail!("the mapping {} is {} and was not changed: try again", mapping.uuid, mapping.state),
        }
        tokio::time::sleep(LOOK_EVERY).await;
        mapping = mapping.refresh(aws).await?;
    }
}

/// Requests the change. Returns Lambda's mapping, or none if a change in progress blocks this one.
async fn request_change(aws: &Aws, mapping: &Mapping, wanted: Wanted) -> anyhow::Result<Option<Mapping>> {
    let request = aws.lambda().update_event_source_mapping().uuid(&mapping.uuid);
    let requested = request.enabled(wanted == Wanted::Enabled).send().await;
    if requested.as_ref().err().and_then(code_of) == Some("ResourceInUseException") {
        return Ok(None);
    }
    let doing = format!("{} the event source mapping {}", wanted.verb(), mapping.uuid);
    let changed = requested.describe_error(&doing, "lambda:UpdateEventSourceMapping")?;
    Ok(Some(Mapping { state: changed.state.unwrap_or_default(), ..mapping.clone() }))
}

fn waiting(count: usize, wanted: Wanted) -> Progress {
    let progress = Progress::spinner("{spinner} {msg} ({elapsed})");
    let plural = if count == 1 { "mapping" } else { "mappings" };
    progress.set_message(format!("waiting until Lambda has made {count} {plural} {}", wanted.state()));
    progress
}

fn print(mappings: &[Mapping], json: bool, line: impl Fn(&Mapping) -> String) -> Result<(), Problem> {
    match json {
        true => output::print_json_pretty(&mappings).or_failed(),
        false => {
            let lines: Vec<_> = mappings.iter().map(|mapping| Line::from(line(mapping))).collect();
            output::print_all(&lines).or_failed()
        }
    }
}

fn dry(mapping: &Mapping, wanted: Wanted) -> String {
    let line = format!("{} -> {}: is {}", mapping.queue(), mapping.function, mapping.state);
    let would = match step(&mapping.state, wanted, false) {
        Step::Done => ", no change".to_owned(),
        Step::Request | Step::Wait => format!(", would become {}", wanted.state()),
        Step::Fail(why) => format!(", {why}"),
    };
    format!("{line}{would} ({})", mapping.uuid)
}

fn done(mapping: &Mapping, before: &[Mapping]) -> String {
    let was = before.iter().find(|other| other.uuid == mapping.uuid).map_or("", |other| &other.state);
    let was = if was == mapping.state { ", as before".to_owned() } else { format!(", was {was}") };
    format!("{} -> {}: {}{was} ({})", mapping.queue(), mapping.function, mapping.state, mapping.uuid)
}
