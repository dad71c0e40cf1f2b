//! `redrive work`: a worker that runs a program for each message.

mod exit;
mod program;
mod task;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;
use redrive::{BoxError, Consumer, Failure, FromMessage, Record};

use crate::find::WhichSource;
use crate::problem::{OrProblem, Problem};
use crate::span;
use crate::wait::wait;
use exit::{Codes, Meaning};
use program::Program;
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

The program gets the body on its standard input, and in its environment:
  MessageId, ApproximateReceiveCount, SentTimestamp, ApproximateFirstReceiveTimestamp, and MessageGroupId on a FIFO queue;
  Message and Subject, those of the body if it is a notification of SNS; otherwise, Message is the body. Neither is set for
  more than 64 KiB;
  MessageAttribute_NAME for each message attribute. What is not a letter or a digit in NAME is _;
  TMPDIR, a folder of its own that is removed afterwards.

Exit codes of the program: 0 done, 3 reject (a dead letter at once), 4 return (to the queue, not counted as an error), others
retry, with a backoff of 2^attempt seconds. --exit changes them. An outage is retried for hours, and no other message runs
until one succeeds. The last line of the program's standard error is the error in the dead letter's note.

After --time-limit, redrive sends SIGTERM to the program and all that it has started, and SIGKILL 10 seconds later. What the
program leaves running is killed. After SIGTERM or SIGINT, redrive starts no more programs, and ends when those that run have
ended, at most 25 seconds later (REDRIVE_DRAIN).

All variables of a worker hold, such as REDRIVE_RATE, REDRIVE_HEALTH and REDRIVE_METRICS. The visibility timeout of the queue
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
    let codes = Codes::new(&arguments.exits);
    wait(async {
        let (aws, queue) = arguments.which.find().await?;
        aws.announce("working on", &queue);
        let handler = {
            let program = program.clone();
            move |task: Task| {
                let (program, codes) = (program.clone(), codes.clone());
                async move {
                    let attempt = task.attempt;
                    codes.result(program.run(&task).await?, attempt)
                }
            }
        };
        let consumer = Consumer::new(handler).sqs(aws.polling(POLL).sqs()).cloudwatch(aws.cloudwatch());
        let set = arguments.concurrency;
        let variable = std::env::var_os("REDRIVE_CONCURRENCY").is_some();
        let consumer = match set.or((!variable).then_some(NonZeroUsize::MIN)) {
            Some(programs) => consumer.concurrency(programs),
            None => consumer,
        };
        let ended = consumer.work(queue.url.as_str()).await;
        program.kill_all();
        ended.context("the worker failed").or_failed()
    })
}

impl FromMessage for Task {
    fn from_message(record: &Record<'_>) -> Result<Self, BoxError> {
        Ok(Self::of(record))
    }
}

impl From<program::NotRun> for Failure {
    fn from(error: program::NotRun) -> Self {
        Self::from(error.to_string())
    }
}
