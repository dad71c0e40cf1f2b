//! `redrive dlq import`.

mod gate;
mod parcel;
mod send;

use std::fs::File;
use std::io::{BufRead, BufReader, stdin};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, anyhow};
use clap::Args;

use self::parcel::{Parcel, Receiver};
use self::send::Sender;
use super::tell::{letters, tell};
use crate::aws::{Aws, Place};
use crate::find::{Queue, Which};
use crate::problem::{OrProblem, Problem};
use crate::wait::wait;

/// Sends letters from a file to the dead-letter queue.
#[derive(Debug, Args)]
#[command(mut_group("Which", |group| group.required(false)), after_help = "\
Examples:
  redrive dlq import --stack shop letters.jsonl
  gunzip -c letters.jsonl.gz | jq -c 'select(.group_id == \"acme\")' | redrive dlq import --queue orders -

The lines are those of `redrive dlq export`. Of each, body, attributes, group_id, deduplication_id and trace_header are
sent; the message gets a new id, and its retention begins again. On a FIFO queue a letter keeps its deduplication id, so that
the same file twice within five minutes is the same letters once; an id that is younger than five minutes is changed, since
SQS would take the letter for the one that was exported. A line that SQS would take for another line of the file is not
sent, and is named. When a line of a group cannot be sent, nor are those of its group behind it: they would overtake it.

Exit codes: 0 done, 1 failed or partly failed, 2 wrong usage or input.")]
pub(crate) struct Arguments {
    /// File to read, - for stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Another queue to send to, by name, URL or ARN
    #[arg(long, value_name = "QUEUE")]
    to: Option<String>,

    /// Check the file and send nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    which: Which,

    #[command(flatten)]
    place: Place,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    let mut lines = open(&arguments.file).or_input()?;
    wait(async {
        let aws = Aws::connect(&arguments.place).await.or_input()?;
        let queue = match &arguments.to {
            Some(to) => Queue::find(&aws, to).await.or_failed()?,
            None => arguments.which.find(&aws).await.or_failed()?.dead().or_input()?.clone(),
        };
        let receiver = Receiver::of(&queue);
        let mut sender = Sender::new(aws.sqs(), &queue, receiver, arguments.dry_run);
        let sent = send_all(&mut lines, &receiver, &mut sender).await;
        sender.tell_stopped();
        sent?;
        let (sent, failed) = (sender.sent(), sender.failed());
        let verb = if arguments.dry_run { "would be sent" } else { "sent" };
        tell(format_args!("{} {verb} to {}", letters(sent), queue.name()));
        match failed {
            0 => Ok(()),
            1 => Err(Problem::Failed(anyhow!("1 line failed"))),
            _ => Err(Problem::Failed(anyhow!("{failed} lines failed"))),
        }
    })
}

async fn send_all(lines: &mut dyn BufRead, receiver: &Receiver, sender: &mut Sender) -> Result<(), Problem> {
    let mut line = Vec::new();
    for number in 1_usize.. {
        line.clear();
        if lines.read_until(b'\n', &mut line).context("could not read the file").or_failed()? == 0 {
            break;
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let parcel = match Parcel::parse(&line) {
            Ok(parcel) => parcel,
            Err(reason) => {
                sender.fail(number, None, &reason);
                continue;
            }
        };
        let group = parcel.group_id().map(str::to_owned);
        match parcel.into_entry(receiver, SystemTime::now()) {
            Ok(entry) => sender.add(number, entry).await.or_failed()?,
            Err(reason) => sender.fail(number, group, &reason),
        }
    }
    sender.send_waiting().await.or_failed()
}

fn open(name: &Path) -> anyhow::Result<Box<dyn BufRead>> {
    if name.as_os_str() == "-" {
        return Ok(Box::new(BufReader::new(stdin())));
    }
    let file = File::open(name).with_context(|| format!("could not read {}", name.display()))?;
    Ok(Box::new(BufReader::new(file)))
}
