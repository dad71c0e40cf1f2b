//! `redrive dlq import`.

mod line;
mod lines;

use std::fs::File;
use std::io::{self, BufRead, BufReader, stdin};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, anyhow};
use clap::Args;
use tokio::sync::mpsc;

use self::line::ImportLine;
use self::lines::Lines;
use crate::ask::DryRun;
use crate::find::{Queue, Which};
use crate::flags::To;
use crate::problem::{OrProblem, Problem};
use crate::sqs::{Pace, QueueRules, Stop};
use crate::tell::{letters, tell};
use crate::wait::wait;

/// Lines that are read while others are sent.
const LINES_AHEAD: usize = 10;

/// Sends letters from a file to the dead-letter queue.
#[derive(Debug, Args)]
#[command(mut_group("Which", |group| group.required(false)), after_help = "\
Examples:
  redrive dlq import --stack shop letters.jsonl
  gunzip -c letters.jsonl.gz | jq -c 'select(.group_id == \"acme\")' | redrive dlq import --queue orders -

The lines are those of `redrive dlq export`. Of each, body, attributes, group_id, deduplication_id and trace_header are
sent; the message gets a new id, and its retention starts anew. On a FIFO queue a letter keeps its deduplication id, so
importing a file twice within five minutes sends its letters once; an id used less than five minutes ago is changed, or SQS
would drop the letter as a duplicate of the exported one. A line that SQS would drop as a duplicate of another line is
reported and not sent. If a line cannot be sent, later lines of its group are not sent either, which keeps the order.

Exit codes: 0 done, 1 failed or partly failed, 2 wrong usage or input, 130 interrupted.")]
pub(crate) struct Arguments {
    /// File to read, - for stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    to: To,

    #[command(flatten)]
    dry: DryRun,

    #[command(flatten)]
    which: Which,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    let lines = open(&arguments.file).or_input()?;
    wait(async {
        let aws = arguments.which.connect().await?;
        let queue = match &arguments.to.queue {
            Some(to) => Queue::find(&aws, to).await.or_failed()?,
            None => arguments.which.find_with(&aws).await.or_failed()?.dead().or_input()?.clone(),
        };
        let (pace, stop) = (Pace::new(None), Stop::listen().or_failed()?);
        let mut sending = Lines::new(aws.sqs(), &queue, arguments.dry.run, &pace, &stop);
        let sent = send_all(read(lines), &QueueRules::of(&queue), &mut sending, &stop).await;
        sending.tell_held_up();
        sent.map_err(|error| stop.or_failed(error))?;
        let verb = if arguments.dry.run { "would be sent" } else { "sent" };
        tell(format_args!("{} {verb} to {}", letters(sending.sent), queue.name()));
        match sending.failed {
            0 => Ok(()),
            1 => Err(Problem::Failed(anyhow!("1 line failed"))),
            failed => Err(Problem::Failed(anyhow!("{failed} lines failed"))),
        }
    })
}

async fn send_all(
    mut lines: mpsc::Receiver<io::Result<Vec<u8>>>,
    to: &QueueRules,
    sending: &mut Lines<'_>,
    stop: &Stop,
) -> anyhow::Result<()> {
    for number in 1_usize.. {
        let line = tokio::select! {
            line = lines.recv() => line,
            () = stop.wanted() => {
                // If any wait, the first of them is where it stops.
                sending.send_waiting().await?;
                return Err(sending.interrupted(number));
            }
        };
        let Some(line) = line.transpose().context("could not read the file")? else { break };
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let line = match ImportLine::parse(&line) {
            Ok(line) => line,
            Err(reason) => {
                sending.fail(number, None, &reason);
                continue;
            }
        };
        let group = line.group_id().map(str::to_owned);
        match line.into_message(to, SystemTime::now()) {
            Ok(message) => sending.add(number, message).await?,
            Err(reason) => sending.fail(number, group.as_deref(), &reason),
        }
    }
    sending.send_waiting().await
}

/// On a thread of its own, since stdin may be silent for long, and nobody waits for that in the end.
fn read(mut lines: Box<dyn BufRead + Send>) -> mpsc::Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel(LINES_AHEAD);
    std::thread::spawn(move || {
        loop {
            let mut line = Vec::new();
            let read = lines.read_until(b'\n', &mut line);
            if matches!(read, Ok(0)) {
                break;
            }
            let failed = read.is_err();
            if sender.blocking_send(read.map(|_| line)).is_err() || failed {
                break;
            }
        }
    });
    receiver
}

fn open(name: &Path) -> anyhow::Result<Box<dyn BufRead + Send>> {
    if name.as_os_str() == "-" {
        return Ok(Box::new(BufReader::new(stdin())));
    }
    let file = File::open(name).with_context(|| format!("could not read {}", name.display()))?;
    Ok(Box::new(BufReader::new(file)))
}
