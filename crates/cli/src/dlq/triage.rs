//! `redrive dlq triage`: shows letters one by one in the terminal.

mod card;
mod keys;
mod prompt;
mod suspend;

use anyhow::bail;
use clap::Args;

use self::prompt::Prompt;
use super::retry::{announce_destination, announce_overtaking, destination};
use super::select::Chosen;
use crate::ask::Yes;
use crate::find::Which;
use crate::flags::{Journaling, LogGroup, Origins, To};
use crate::history::History;
use crate::journal::Journal;
use crate::letters::{LetterRun, Route, Work, run as run_job};
use crate::output::Stream;
use crate::problem::{OrProblem, Problem};
use crate::sqs::{QueueRules, Receivable};

/// Shows letters one by one in the terminal, with a key for each action.
#[derive(Debug, Args)]
#[command(mut_arg("yes", |yes| yes.help("Do not ask before a letter is deleted, or before SQS may move letters because they are received")), after_help = HELP)]
pub(crate) struct Arguments {
    #[command(flatten)]
    chosen: Chosen,

    #[command(flatten)]
    to: To,

    #[command(flatten)]
    origins: Origins,

    #[command(flatten)]
    journal: Journaling,

    #[command(flatten)]
    log: LogGroup,

    #[command(flatten)]
    sure: Yes,

    #[command(flatten)]
    which: Which,
}

const HELP: &str = "\
Examples:
  redrive dlq triage --stack shop --where 'reason = card-refused'
      shows each letter and waits for a key: retry, logs, edit, delete, skip, body, help, quit

Press a key without Enter. A letter is sent or deleted before the next one is shown; deleting asks first, unless --yes is
given. Without a terminal, use list, and retry or delete with --where or --ids.

Exit codes: 0 done, 1 some failed or may arrive twice, 2 wrong usage or input, or no terminal, 130 interrupted.
More: man redrive-dlq-triage, or redrive man --page dlq-triage | man -l -";

/// What the manual page has beside that.
pub(crate) const MORE: &str = "\
Example of a letter:
  $ redrive dlq triage --stack shop --where 'reason = card-refused'

  1 of up to 4  5c0f6ad0-b620-4f8e-adfc-2b8860d49a17
    31s old, 13d 23h left, 1 attempt
    card-refused: 1160 cents: card refused (alloc::string::String)
    message 3e332f54-3c94-4738-a81e-f8a91e4a2cdb, function shop-orders
    {
      \"order_id\": \"A-1009\"
    }

  r retry  l logs  e edit  d delete  s skip  b body  ? help  q quit: r
  sent to shop-orders

Letters stay hidden from other consumers while you decide. The remaining letters become visible again when you press q,
Ctrl-C or Ctrl-D, or close the terminal. After Ctrl-Z they stay hidden for up to a minute. fg resumes; redrive does not
send a letter that another consumer may have received since. Control characters are escaped, as in \\u{1b}.

On a FIFO queue, skipping a letter skips the later letters of its group too. Letters that are sent go to the end of their
group.";

pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    check_terminal().or_input()?;
    crate::wait::wait(triage(arguments))
}

async fn triage(arguments: &Arguments) -> Result<(), Problem> {
    let selection = arguments.chosen.read()?;
    let origin_senders = arguments.origins.senders()?;
    let store = arguments.journal.named()?;
    let (aws, pair) = arguments.which.find().await?;
    let from = Receivable::ask(pair.dead().or_input()?.clone(), arguments.sure)?;
    let to = destination(&aws, &pair, &from, arguments.to.queue.as_deref()).await?;
    announce_destination(&aws, &to, &from);
    announce_overtaking(&to);
    let store = store.reach(async || Ok(aws.clone())).await?;
    let journal = Journal::open(store.clone(), &from).await.or_failed()?;
    journal.announce(&from);
    suspend::listen().or_failed()?;
    let max_receive_count = pair.max_receive_count();
    let prompt = Prompt {
        aws: aws.clone(),
        to: QueueRules::of(&to),
        retention: from.retention(),
        pair,
        log_group: arguments.log.group.clone(),
        is_sure: arguments.sure.yes,
    };
    let job = LetterRun {
        work: Work::Ask(Route { to, named: arguments.to.queue.is_some() }, Box::new(prompt)),
        from,
        selection,
        allow_none: true,
        origin_senders,
        max_receive_count,
        journal,
        history: History::new(store),
        verb: "triage",
        sent_back: None,
        rate: None,
        dry_run: false,
        send_again: false,
        json: false,
    };
    run_job(&aws, &job).await
}

/// Checks that there is a terminal for the keys and the questions. Stdin and stdout may be pipes.
fn check_terminal() -> anyhow::Result<()> {
    if !keys::has_keys() || !Stream::Stderr.is_terminal() {
        bail!(
            "triage needs a terminal: without one, use redrive dlq list, and retry or delete with --where or --ids"
        );
    }
    Ok(())
}
