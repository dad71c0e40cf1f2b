//! `redrive work`: a worker that runs a program for each message.

mod exit;
mod lines;
mod program;
mod task;

use std::ffi::OsString;
use std::io;
use std::num::NonZeroUsize;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;
use redrive::{BoxError, Consumer, Failure, FromMessage, Record};
use rustix::process::{Signal, getpid, kill_process};
use tokio::signal::unix::{SignalKind, signal};

use crate::find::WhichSource;
use crate::problem::{OrProblem, Problem};
use crate::span;
use crate::wait::wait;
use exit::{Codes, Meaning};
use program::{NotRun, Program};
use task::Task;

/// Runs a program for each message of a queue.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  redrive work --queue orders -- ./charge.sh
      runs charge.sh with each message on its standard input
  redrive work --queue orders --concurrency 8 --time-limit 5m -- python3 charge.py --live
  redrive work --stack shop --exit 75=outage --exit 65=reject -- ./charge
      says what the program's exit codes mean

The program gets the body on its standard input, and these variables:
  MessageId, ApproximateReceiveCount, SentTimestamp, ApproximateFirstReceiveTimestamp, and MessageGroupId on a FIFO queue;
  Message and Subject of a notification of SNS; otherwise, Message is the body;
  MessageAttribute_NAME for each message attribute of type String or Number, with _ in place of all but letters and digits;
  TMPDIR, a private folder that is removed afterwards.
Values of more than 64 KiB are left out. What the program prints goes to standard error; standard output has the log.

Exit codes of the program: 0 done, 3 reject (a dead letter at once), 4 return (to the queue, not counted as an error), others
retry, with a backoff of 2^attempt seconds. --exit changes them. An outage is retried for hours; after three in a row, one
message a minute tries. A program that cannot be started is an outage. The last line of the program's standard error is the error in the dead letter's note.

After --time-limit, redrive sends SIGTERM to the program's process group, and SIGKILL 10 seconds later. The message is retried,
whatever the exit code. When a program ends, redrive kills the rest of its process group. After SIGTERM, SIGINT, SIGHUP or
SIGQUIT, redrive starts no more programs and waits for those that run, for up to 25 seconds (REDRIVE_DRAIN). Then it kills them.

The variables of a worker apply, such as REDRIVE_RATE, REDRIVE_HEALTH and REDRIVE_METRICS. The visibility timeout of the queue
is extended while a program runs, so it can be short.

Exit codes: 0 ended by a signal, 1 failed, 2 wrong usage or input.")]
pub(crate) struct Arguments {
    /// Program to run, and its arguments
    #[arg(value_name = "COMMAND", required = true, last = true)]
    command: Vec<OsString>,

    /// How many programs run at the same time [default: REDRIVE_CONCURRENCY, or 1]
    #[arg(long, value_name = "PROGRAMS")]
    concurrency: Option<NonZeroUsize>,

    /// How long a program may run, 1s to 11h [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = limit)]
    time_limit: Option<Duration>,

    /// What an exit code of the program means: done, retry, reject, return or outage (may be repeated)
    #[arg(long = "exit", value_name = "CODE=MEANING", value_parser = exit::code)]
    exits: Vec<(u8, Meaning)>,

    #[command(flatten)]
    which: WhichSource,
}

fn limit(text: &str) -> Result<Duration, String> {
    let (least, most) = (Duration::from_secs(1), Duration::from_secs(11 * 3_600));
    let limit = span::parse(text)?;
    if (least..=most).contains(&limit) { Ok(limit) } else { Err("allowed: 1s to 11h".to_owned()) }
}

/// How long a receive may wait for messages.
const POLL: Duration = Duration::from_secs(20);

pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    let [name, rest @ ..] = arguments.command.as_slice() else {
        return Err(Problem::Input(anyhow!("no program: pass it after --")));
    };
    let program = Program::find(name, rest, arguments.time_limit).or_input()?;
    let codes = Codes::new(&arguments.exits).or_input()?;
    wait(async {
        let (aws, queue) = arguments.which.find().await?;
        aws.announce("working on", &queue);
        let handler = {
            let program = program.clone();
            move |task: Task| {
                let (program, codes) = (program.clone(), codes.clone());
                async move {
                    let attempt = task.attempt;
                    codes.result(program.run(&task).await.map_err(not_run)?, attempt)
                }
            }
        };
        let consumer = Consumer::new(handler).sqs(aws.polling(POLL).sqs()).cloudwatch(aws.cloudwatch());
        let set = arguments.concurrency;
        let variable = std::env::var_os("REDRIVE_CONCURRENCY").is_some_and(|value| !value.is_empty());
        let consumer = match set.or((!variable).then_some(NonZeroUsize::MIN)) {
            Some(programs) => consumer.concurrency(programs),
            None => consumer,
        };
        end_with_the_terminal().context("could not start").or_failed()?;
        let ended = consumer.work(queue.url.as_str()).await;
        program.kill_all();
        ended.context("the worker failed").or_failed()
    })
}

/// SIGHUP and SIGQUIT end it as SIGTERM does, so that no program outlives it.
fn end_with_the_terminal() -> io::Result<()> {
    for kind in [SignalKind::hangup(), SignalKind::quit()] {
        let mut signals = signal(kind)?;
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                let _ = kill_process(getpid(), Signal::TERM);
            }
        });
    }
    Ok(())
}

impl FromMessage for Task {
    fn from_message(record: &Record<'_>) -> Result<Self, BoxError> {
        Ok(Self::of(record))
    }
}

/// The message is innocent, unless its variables are too large.
fn not_run(error: NotRun) -> Failure {
    match error.error.kind() {
        io::ErrorKind::ArgumentListTooLong => Failure::from(error),
        _ => Failure::outage(error),
    }
}
