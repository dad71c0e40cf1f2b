//! `redrive dlq import`.

mod parcel;
mod send;

use std::fs::File;
use std::io::{BufRead, BufReader, stdin};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, anyhow};
use clap::Args;

use self::parcel::{Parcel, Receiver};
use self::send::{Batch, Sender};
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
SQS would take the letter for the one that was exported.

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
        let mut sender = Sender::new(aws.sqs(), &queue, arguments.dry_run);
        let mut batch = Batch::default();
        let mut line = Vec::new();
        for number in 1_usize.. {
            line.clear();
            if lines.read_until(b'\n', &mut line).context("could not read the file").or_failed()? == 0 {
                break;
            }
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            match Parcel::parse(&line).and_then(|parcel| parcel.into_entry(&receiver, SystemTime::now())) {
                Ok(entry) => {
                    if !batch.has_room(&entry) {
                        sender.send(std::mem::take(&mut batch)).await.or_failed()?;
                    }
                    batch.add(number, entry);
                }
                Err(reason) => sender.fail(number, &reason),
            }
        }
        sender.send(batch).await.or_failed()?;
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

fn open(name: &Path) -> anyhow::Result<Box<dyn BufRead>> {
    if name.as_os_str() == "-" {
        return Ok(Box::new(BufReader::new(stdin())));
    }
    let file = File::open(name).with_context(|| format!("could not read {}", name.display()))?;
    Ok(Box::new(BufReader::new(file)))
}
