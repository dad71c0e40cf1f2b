//! `redrive dlq import`.

mod line;
mod lines;
mod source;

use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::{anyhow, bail};
use clap::Args;
use redrive_sqs::cut_to;

use self::line::{Import, ImportLine};
use self::lines::{Lines, list};
use self::source::Source;
use crate::ask::Consent;
use crate::counted::counted;
use crate::find::{Queue, Which};
use crate::flags::To;
use crate::history::{History, HistoryAction};
use crate::problem::{OrProblem, Problem};
use crate::sqs::{Pace, QueueRules, Stop};
use crate::tell::{letters, tell};
use crate::wait::wait;

/// Sends letters from a file to the dead-letter queue.
#[derive(Debug, Args)]
#[command(mut_group("Which", |group| group.required(false)), after_help = HELP)]
pub(crate) struct Arguments {
    /// File to read, - for stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    to: To,

    #[command(flatten)]
    consent: Consent,

    #[command(flatten)]
    which: Which,
}

const CONSEQUENCE: &str =
    "Letters that are still in the queue will be there twice; retry sends each message once.";

const HELP: &str = "\
Examples:
  redrive dlq import --stack shop letters.jsonl
  gunzip -c letters.jsonl.gz | jq -c 'select(.group_id == \"acme\")' | redrive dlq import --queue orders -

Each line is a letter as `redrive dlq export` writes it. Every line is checked before the first letter is sent.

Exit codes: 0 done, 1 failed or partly failed, 2 wrong usage or input, 130 interrupted.
More: man redrive-dlq-import, or redrive man --page dlq-import | man -l -";

/// What the manual page has beside that.
pub(crate) const MORE: &str = "\
Import sends body, attributes, group_id, deduplication_id and trace_header of each line. The message gets a new id, and its
retention period starts again.

A letter without a note gets one with the id of its message, so retry sends the message once, even if the original is still
in the queue. If the queue already has letters, import asks first.

On a FIFO queue a letter keeps its deduplication id, so importing a file twice within five minutes sends its letters once.
Import changes an id that was used less than five minutes ago; otherwise SQS would drop the letter as a duplicate of the
exported one. A line that SQS would drop as a duplicate of another line is reported and not sent. If SQS refuses a line,
later lines of its group are not sent either, which keeps their order.";

pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    let source = Source::open(&arguments.file).or_input()?;
    wait(async {
        let aws = arguments.which.connect().await?;
        let queue = match &arguments.to.queue {
            Some(to) => Queue::find(&aws, to).await.or_failed()?,
            None => arguments.which.find_with(&aws).await.or_failed()?.dead().or_input()?.clone(),
        };
        // A queue with its own dead-letter queue gets messages, not letters.
        let names_messages = queue.redrive_policy().is_none();
        let reader = Reader { to: QueueRules::of(&queue), names_messages, now: SystemTime::now() };
        let Checked { lines, copies } = reader.check(&source).or_input()?;
        let dry_run = arguments.consent.dry.run;
        if copies > 0 && names_messages && queue.counted() > 0 {
            let there = letters(usize::try_from(queue.counted()).unwrap_or(usize::MAX));
            let question = format!("send {} to {}, which already has {there}", letters(lines), queue.name());
            arguments.consent.confirm_in(
                &aws.place(&queue.arn),
                &question,
                CONSEQUENCE,
                "nothing was sent",
            )?;
        }
        if !dry_run {
            aws.announce("sending letters to", &queue);
        }
        let history = History::from_env(&aws).await?;
        let (pace, stop) = (Pace::new(None), Stop::listen().or_failed()?);
        let mut sending = Lines::new(aws.sqs(), &queue, dry_run, &pace, &stop);
        let action = HistoryAction { verb: "import", queue: &queue.arn, ..HistoryAction::default() };
        let began = if dry_run || lines == 0 { None } else { history.start(&aws, action).await };
        let sent = send_all(&source, &reader, &mut sending, &stop).await;
        sending.report_held_up();
        if !dry_run {
            let failed = sending.failed - sending.perhaps_sent;
            let [sent, failed, perhaps_sent] =
                [sending.sent, failed, sending.perhaps_sent].map(|count| count as u64);
            let end = HistoryAction { sent, failed, perhaps_sent, began: began.as_deref(), ..action };
            history.record(&aws, end).await;
        }
        sent.map_err(|error| stop.or_failed(error))?;
        let verb = if dry_run { "would be sent" } else { "sent" };
        tell(format_args!("{} {verb} to {}", letters(sending.sent), queue.name()));
        match sending.failed {
            0 => Ok(()),
            failed => Err(Problem::Failed(anyhow!("{} failed", counted(failed, "line")))),
        }
    })
}

/// Counts of a checked file.
#[derive(Debug, Default)]
struct Checked {
    lines: usize,
    /// Lines that an export wrote. Their letters may still be in the queue.
    copies: usize,
}

/// Turns lines into messages.
struct Reader {
    to: QueueRules,
    names_messages: bool,
    now: SystemTime,
}

impl Reader {
    /// # Errors
    /// The queue would refuse a line: the error has the first line and lists the others.
    fn check(&self, source: &Source) -> anyhow::Result<Checked> {
        let (mut first, mut more, mut checked) = (None, Vec::new(), Checked::default());
        for line in source.lines()? {
            let (number, line) = line?;
            match self.read(&line) {
                Ok(import) => {
                    checked.lines += 1;
                    checked.copies += usize::from(import.is_copy);
                }
                Err(reason) if first.is_none() => first = Some((number, reason)),
                Err(_) => more.push(number),
            }
        }
        let Some((number, reason)) = first else { return Ok(checked) };
        let more = match more.as_slice() {
            [] => String::new(),
            more => format!(" (and {} more: {})", more.len(), cut_to(&list(more), 80)),
        };
        bail!("{}: line {number}: {reason}{more}; nothing was sent", source.name)
    }

    fn read(&self, line: &[u8]) -> Result<Import, String> {
        ImportLine::parse(line)?.read(&self.to, self.names_messages, self.now)
    }
}

async fn send_all(
    source: &Source,
    reader: &Reader,
    sending: &mut Lines<'_>,
    stop: &Stop,
) -> anyhow::Result<()> {
    for line in source.lines()? {
        let (number, line) = line?;
        if stop.is_wanted() {
            // If lines wait, the import stops at the first of them.
            sending.send_waiting().await?;
            return Err(sending.interrupted(number));
        }
        // The check has read this line without an error, unless somebody has changed the file since.
        let import = reader.read(&line).map_err(|reason| anyhow!("line {number}: {reason}"))?;
        if !import.has_identity {
            tell(format_args!(
                "line {number}: no room for the id of its message: if its letter is still in a queue, retry sends both"
            ));
        }
        sending.add(number, import.message).await?;
    }
    sending.send_waiting().await
}
