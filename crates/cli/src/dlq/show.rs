//! `redrive dlq show`.

mod history;
mod page;
mod payload;

use std::time::SystemTime;

use anyhow::anyhow;
use clap::Args;
use redrive_sqs::OriginSenders;
use serde::Serialize;

pub(crate) use self::history::Event;
pub(crate) use self::page::{history, of_sender, page};
use self::payload::Payload;
use super::letter::{Letter, unchecked_origins};
use super::line::LetterLine;
use super::logs::Logs;
use super::look::{Look, not_seen};
use crate::aws::Aws;
use crate::find::{Pair, Which};
use crate::flags::{LogGroup, MayMove, Origins, Output};
use crate::output;
use crate::problem::{OrProblem, Problem};
use crate::sqs::{Receivable, with_lease};
use crate::tell::tell;
use crate::wait::wait;

/// Fewest characters of an id by which a letter is found. `dlq list` shows as many if it has little room.
const SHORT_ID: usize = 8;

/// Shows everything about one dead letter, with its history from the function's log.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  redrive dlq show --stack shop 0c1f8f1e-6d3b-4c8e-9a43-1f1f6a3f1b52
  redrive dlq show --queue orders --payload 0c1f8f1e
  redrive dlq show --queue orders --log-group /shop/orders --json 0c1f8f1e-6d3b-4c8e-9a43-1f1f6a3f1b52 | jq .history

ID is the letter's id, as `redrive dlq list` prints it, or the id that the message had in the source queue, as in the
function's log. redrive receives letters until it finds this one, and makes them visible again at once, even on Ctrl-C.
Control characters are escaped: as \\u{1b} in the text, and as \\u001b with --json.

Exit codes: 0 done, 1 not found or failed, 2 wrong usage or input, 130 interrupted.")]
pub(crate) struct Arguments {
    /// Id of the letter or of its message, or at least the first 8 characters of a letter's id
    #[arg(value_name = "ID")]
    id: String,

    #[command(flatten)]
    log: LogGroup,

    /// Do not read the function's log
    #[arg(long, conflicts_with = "log_group")]
    no_logs: bool,

    /// If the letter points to a body in S3, read it, up to 16 MiB
    #[arg(long)]
    payload: bool,

    #[command(flatten)]
    origins: Origins,

    #[command(flatten)]
    sure: MayMove,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    which: Which,
}

#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    line: LetterLine<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history: Option<&'a [Event]>,
    /// Body in S3, if the letter points there.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<&'a Payload>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    let origin_senders = arguments.origins.senders()?;
    wait(async {
        let (aws, pair) = arguments.which.find().await?;
        let queue = &Receivable::ask(pair.dead().or_input()?.clone(), arguments.sure.yes())?;
        let mut letter = find(&aws, &pair, queue, &arguments.id, origin_senders).await?;
        let history = match arguments.no_logs {
            true => None,
            false => look_up(&aws, &pair, arguments.log.group.as_deref(), &mut letter).await,
        };
        let mut payload = Payload::of(&letter);
        let read = match &mut payload {
            Some(payload) if arguments.payload => payload.read(&aws).await,
            _ => Ok(()),
        };
        if arguments.output.json {
            if let Some(line) = unchecked_origins(u64::from(letter.has_unchecked_origin)) {
                tell(line);
            }
            let line = LetterLine::of(&letter, queue.retention());
            let shown = Shown { line, history: history.as_deref(), payload: payload.as_ref() };
            output::print_json_pretty(&shown).or_failed()?;
        } else {
            let mut page = page(&letter, history.as_deref(), queue, SystemTime::now());
            page.extend(payload.iter().flat_map(Payload::lines));
            output::print_all(&page).or_failed()?;
        }
        read.or_failed()
    })
}

async fn find(
    aws: &Aws,
    pair: &Pair,
    queue: &Receivable,
    id: &str,
    origin_senders: Option<OriginSenders>,
) -> Result<Letter, Problem> {
    let (found, mut by_start, seen) = with_lease(aws, queue, async |lease| {
        let (mut look, mut of_message, mut by_start) =
            (Look::new(lease, pair.max_receive_count(), origin_senders), None, vec![]);
        loop {
            let letters = look.next().await?;
            if letters.is_empty() {
                return Ok((of_message, by_start, look.seen()));
            }
            for letter in letters {
                if letter.id == id {
                    return Ok((Some(letter), vec![], look.seen()));
                }
                // A letter with this id itself comes first, because a note can name any message.
                if of_message.is_none() && letter.message_id() == id {
                    of_message = Some(letter);
                } else if id.len() >= SHORT_ID && letter.id.starts_with(id) {
                    by_start.push(letter);
                }
            }
        }
    })
    .await?;
    match (found, by_start.len()) {
        (Some(letter), _) => Ok(letter),
        (None, 1) => Ok(by_start.remove(0)),
        (None, 0) => {
            let hidden = not_seen(queue, seen).map(|not_seen| format!("; {not_seen}")).unwrap_or_default();
            let name = queue.name();
            Err(Problem::Failed(anyhow!("no letter {id} among the {seen} in {name}{hidden}")))
        }
        (None, several) => {
            Err(Problem::Failed(anyhow!("{several} letters have ids that begin with {id}: pass more of it")))
        }
    }
}

/// Reads the history of a letter. If that fails, it prints the reason to stderr and returns none.
pub(crate) async fn look_up(
    aws: &Aws,
    pair: &Pair,
    group: Option<&str>,
    letter: &mut Letter,
) -> Option<Vec<Event>> {
    let read = async {
        let letters = std::slice::from_ref(&*letter);
        let mut logs = match Logs::find(aws, pair, group).await {
            Ok(logs) => logs,
            Err(error) => Logs::of_notes(aws, letters).await?.ok_or(error)?,
        };
        let history = self::history::read(&mut logs, letter).await?;
        logs.join(std::slice::from_mut(letter)).await?;
        if logs.cut_short {
            tell(format_args!("warning: the log {} was read only in part", logs.group()));
        }
        anyhow::Ok(history)
    };
    match read.await {
        Ok(history) => Some(history),
        Err(error) => {
            tell(format_args!("warning: no history: {error:#}"));
            None
        }
    }
}
