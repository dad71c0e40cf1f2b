//! `redrive dlq retry`: sends letters back to their source queue.

mod document;
mod editor;
mod native;
mod stages;

use anyhow::{anyhow, bail};
use clap::Args;
use futures_util::future::LocalBoxFuture;

pub(crate) use self::document::check as check_document;
pub(crate) use self::editor::{Edited, Editor};
use self::editor::{NoEditor, has_terminal};
use self::stages::Watching;
use super::confirm::confirm;
use super::select::{AllowNone, Chosen};
use crate::ask::Consent;
use crate::aws::Aws;
use crate::find::{Pair, Queue, Which};
use crate::flags::{Journaling, Origins, Output, To};
use crate::history::History;
use crate::journal::Journal;
use crate::letters::{Choice, Decider, LeftReason, Letter, LetterRun, Redrive, Route, Work, run as run_job};
use crate::problem::{OrProblem, Problem};
use crate::sqs::{LetterLease, QueueRules, Receivable};
use crate::tell::tell;

/// Sends letters back to their source queue; a handler that charges must use Message::key(), or it may charge twice.
#[derive(Debug, Args)]
#[command(mut_arg("json", |json| json.help("Print a JSON object for each letter, and one for the totals")), after_help = HELP)]
pub(crate) struct Arguments {
    #[command(flatten)]
    chosen: Chosen,

    #[command(flatten)]
    none: AllowNone,

    #[command(flatten)]
    to: To,

    /// Edit each letter in $VISUAL or $EDITOR; changed letters are sent, unchanged ones stay; without a terminal, requires
    /// --yes
    #[arg(long)]
    edit: bool,

    /// Send letters again that an earlier run sent and could not delete; without it, they are only deleted
    #[arg(long)]
    send_again: bool,

    /// Send at most this many letters a second
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    rate: Option<u32>,

    #[command(flatten)]
    watching: Watching,

    /// Let AWS move all letters unchanged (StartMessageMoveTask); Message::key() changes, so a handler may charge twice
    #[arg(long, conflicts_with_all = ["conditions", "ids", "max", "edit", "send_again", "origin_senders"])]
    native: bool,

    /// Show the move tasks of this queue
    #[arg(long, requires = "native", conflicts_with_all = ["cancel", "to", "rate", "dry_run"])]
    status: bool,

    /// Cancel the running move task; letters already moved stay moved
    #[arg(long, requires = "native", conflicts_with_all = ["to", "rate", "dry_run"])]
    cancel: bool,

    #[command(flatten)]
    origins: Origins,

    #[command(flatten)]
    journal: Journaling,

    #[command(flatten)]
    consent: Consent,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    which: Which,
}

const CONSEQUENCE: &str = "Each is deleted after SQS confirms it. The handler runs again: without Message::key() it may charge twice.";
const BY_SOURCE: &str = "Letters that SQS did not move there stay. The others are deleted after SQS confirms them. The handler runs again: without Message::key() it may charge twice.";

const HELP: &str = "\
Examples:
  redrive dlq retry --stack shop --where 'reason = panic' --dry-run
      shows which letters would be sent, and how many of each error; without --dry-run, asks and sends them
  redrive dlq retry --stack shop --watch --stages 10,100,all
      sends ten letters, watches whether they come back, then continues or stops
  redrive dlq retry --queue orders --max 1 --edit
      sends one letter after you have edited it

Exit codes: 0 done, 1 some failed, failed again, may arrive twice or remain in flight, 2 wrong usage or input, 3 no letter matches, 130 interrupted.
More: man redrive-dlq-retry, or redrive man --page dlq-retry | man -l -";

/// What the manual page has beside that.
pub(crate) const MORE: &str = "\
Examples with letters that another program selects, and with AWS's own move task:
  redrive dlq list --queue orders --json | jq -c 'select(.group_id == \"a\")' | redrive dlq retry --queue orders --ids - --yes
  redrive dlq retry --queue orders --where 'reason = panic' --where 'age < 2h'
  redrive dlq retry --queue orders --to orders-test --rate 5 --yes
  redrive dlq retry --queue orders --native --to orders --rate 50
  redrive dlq retry --queue orders --native --status
  redrive dlq retry --queue orders --native --cancel

Each letter is sent first and then deleted. It keeps its body, attributes, message group id and trace header. The attribute
redrive.origin replaces the note; it has the original message id and the number of redrives.

Letters that are not sent stay hidden while the command runs and become visible again when it ends, even after Ctrl-C. If
the process is killed, they become visible a minute later, and the next run continues. redrive reports a letter that was
sent but could not be deleted, because its message may arrive twice. If SQS did not answer a send, redrive also reports
that letter and keeps it. If two letters of one message have the same content, redrive sends that message once. It
ignores letters that arrive after the start.

A journal records which letters are being sent. A letter that an earlier run sent to the same queue and could not delete is
only deleted; --send-again sends it again. After a kill, --dry-run lists the letters that an earlier run may have sent. A run
that sends them again lists them and exits with 1.

With --watch, the command counts the messages of both queues every two seconds. If the number of letters grows, it receives
all letters and makes them visible again. A letter counts as back if it has the message id or the redrive.origin of a sent
one. A consumer that sends a new message without redrive.origin cannot be recognized. The wait ends early if the source queue
was empty for a minute. Without --wait, it is as long as all attempts of a message can take: redrive reads the function's
REDRIVE_ variables, or else assumes its defaults.

On a FIFO queue, a letter that stays blocks only the later letters of its group. Letters that are sent go to the end of
their group.";

pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    crate::wait::wait(retry(arguments))
}

async fn retry(arguments: &Arguments) -> Result<(), Problem> {
    let mut selection = arguments.chosen.read()?;
    selection.most = arguments.watching.most(selection.most);
    let origin_senders = arguments.origins.senders()?;
    let store = arguments.journal.named()?;
    let editor = arguments.edit.then(Editor::from_env).transpose().or_input()?;
    if editor.is_some() && !arguments.consent.sure.yes && !arguments.consent.dry.run && !has_terminal() {
        let what = "send the letters that the editor changes";
        return Err(Problem::Input(anyhow!("not a terminal, cannot confirm: pass --yes to {what}")));
    }
    let (aws, pair) = arguments.which.find().await?;
    let from = pair.dead().or_input()?.clone();
    if arguments.status {
        return native::status(&aws, &from, arguments.output.json).await;
    }
    if arguments.cancel {
        return native::cancel(&aws, &from).await;
    }
    let to = destination(&aws, &pair, &from, arguments.to.queue.as_deref()).await?;
    let store = store.reach(async || Ok(aws.clone())).await?;
    let journal = Journal::open(store.clone(), &from).await.or_failed()?;
    journal.announce(&from);
    let (to_name, place) = (to.name_beside(&from), aws.place(&from.arn));
    if arguments.native {
        check_native(arguments, &journal, &from, &to).or_input()?;
        let task = native::Start {
            question: format!("have AWS move {} to {to_name}", selection.words(from.visible(), from.name())),
            place,
            which: arguments.which.typed(),
            rate: arguments.rate,
            consent: arguments.consent,
            json: arguments.output.json,
            history: History::new(store),
            from,
            to,
        };
        return match arguments.consent.dry.run {
            true => task.describe(),
            false => task.run(&aws).await,
        };
    }
    let patience = match arguments.watching.watch {
        true => Some(arguments.watching.patience(&aws, &pair, &to).await.or_input()?),
        false => None,
    };
    let from = Receivable::ask(from, arguments.consent.sure)?;
    if !arguments.consent.dry.run {
        announce_overtaking(&to);
    }
    let is_edited = editor.is_some();
    if is_edited {
        announce_destination(&aws, &to, &from);
    }
    let rules = QueueRules::of(&to);
    let route = Route { to, named: arguments.to.queue.is_some() };
    let work = match editor {
        Some(editor) => Work::Edit(route, Box::new(Editing { editor, to: rules })),
        None => Work::Send(route),
    };
    let job = LetterRun {
        work,
        from,
        selection,
        allow_none: arguments.none.allowed,
        origin_senders,
        max_receive_count: pair.max_receive_count(),
        journal,
        history: History::new(store),
        verb: "retry",
        sent_back: None,
        rate: arguments.rate,
        dry_run: arguments.consent.dry.run,
        send_again: arguments.send_again,
        json: arguments.output.json,
    };
    let stages = arguments.watching.words();
    let question = |letters: &str, which: &str| format!("send {letters} to {to_name}{which}{stages}");
    let is_by_source = arguments.to.queue.is_none();
    let consequence = [if is_by_source { BY_SOURCE } else { CONSEQUENCE }, "nothing was sent"];
    if !is_edited && !confirm(&aws, &job, arguments.consent, question, consequence).await? {
        return Ok(());
    }
    match patience.filter(|_| !job.dry_run) {
        Some(patience) => stages::run(&aws, &pair, job, &arguments.watching, patience).await,
        None => run_job(&aws, &job).await,
    }
}

/// Requires `--to`, because AWS moves all letters, and refuses to repeat what an earlier run sent, because AWS does not know.
fn check_native(arguments: &Arguments, journal: &Journal, from: &Queue, to: &Queue) -> anyhow::Result<()> {
    let (from_name, to_name) = (from.name(), to.name());
    if arguments.to.queue.is_none() {
        bail!(
            "--native moves all letters of {from_name}, also those that SQS did not move there: pass --to {to_name} to \
             move all of them there"
        );
    }
    if journal.has_confirmed(from, to) {
        bail!(
            "an earlier run sent letters of {from_name} to {to_name} without deleting them, and --native would send them \
             again: retry without --native first, which only deletes them"
        );
    }
    Ok(())
}

/// Lets the user edit each letter, for `--edit`.
#[derive(Debug)]
struct Editing {
    editor: Editor,
    to: QueueRules,
}

impl Decider for Editing {
    fn decide<'a>(
        &'a self,
        letter: &'a mut Letter,
        _: String,
        lease: &'a LetterLease,
    ) -> LocalBoxFuture<'a, anyhow::Result<Choice>> {
        Box::pin(async {
            let edited = match Redrive::new(letter, &self.to) {
                Ok(redrive) => self.editor.edit(letter, &redrive, self.to.largest, lease).await,
                Err(reason) => return Ok(Choice::Fail(reason)),
            };
            match edited {
                Ok(Edited::Changed(redrive, desk)) => Ok(Choice::Send(Some((redrive, desk)))),
                Ok(Edited::Unchanged) => Ok(Choice::Leave(LeftReason::Unchanged)),
                Ok(Edited::Stopped) => Ok(Choice::Leave(LeftReason::Interrupted)),
                Err(error) if error.is::<NoEditor>() => Err(error),
                Err(error) => Ok(Choice::Fail(format!("{error:#}"))),
            }
        })
    }
}

/// Finds the destination: the named queue, else the source queue of the letters.
pub(crate) async fn destination(
    aws: &Aws,
    pair: &Pair,
    from: &Queue,
    named: Option<&str>,
) -> Result<Queue, Problem> {
    let to = match named {
        Some(to) => Queue::find(aws, to).await.or_failed()?,
        None => match pair.source() {
            Err(error) if pair.is_shared() => {
                return Err(Problem::Input(anyhow!(
                    "{error} to send back its letters, or --to QUEUE for all of them"
                )));
            }
            source => source.or_input()?.clone(),
        },
    };
    if from.arn == to.arn {
        let error = anyhow!("the letters are already in {}: name another queue with --to", to.name());
        return Err(Problem::Input(error));
    }
    Ok(to)
}

/// Prints the destination if no question names it.
pub(crate) fn announce_destination(aws: &Aws, to: &Queue, from: &Queue) {
    tell(format_args!("redrive: letters go to {}, in {}", to.name_beside(from), aws.place(&from.arn)));
}

pub(crate) fn announce_overtaking(to: &Queue) {
    if to.is_fifo() {
        tell(format_args!("redrive: letters go to the end of their groups, behind messages sent meanwhile"));
    }
}
