//! `redrive send`: sends messages from a file, from stdin or from the command line.

mod check;
mod deliver;
mod payload;
mod printer;
mod read;

use std::io;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::anyhow;
use clap::Args;
use redrive_sqs::{LONGEST_DELAY, LaneMessage};

use crate::ask::DryRun;
use crate::counted::counted;
use crate::find::{Queue, WhichSource};
use crate::flags::Output;
use crate::output::{self, Progress};
use crate::problem::{OrProblem, Problem};
use crate::sqs::{NewMessage, Stop, requests};
use crate::tell::print_line;
use crate::wait::wait;
use deliver::{Tally, deliver, ranges};
use payload::{ToS3, store};
use printer::Printer;
use read::Given;

/// Sends messages to a queue, from files, stdin or the command line.
#[derive(Debug, Args)]
#[command(mut_arg("json", |json| json.help("Print a JSON object for each message")), after_help = "\
Examples:
  redrive send --queue orders --body '{\"order_id\": \"A-1\"}'
  redrive send --queue orders messages.jsonl --rate 50
  jq -c '{body: .}' orders.json | redrive send --stack shop --attribute source=replay -
  redrive send --queue orders.fifo --group-id a --body first
  redrive send --queue orders big.jsonl --payload-bucket orders-payloads
  redrive send --queue orders events/fifo.json --dry-run
      checks every message and sends none

A file has one message per line:
  {\"body\": {\"order_id\": \"A-1\"}, \"attributes\": {\"source\": \"web\"}, \"group_id\": \"a\", \"delay\": 5}
Only the body is required; deduplication_id is allowed too. A file may also be an event as Lambda receives it. Everything is
checked before the first message is sent. --attribute, --group-id and --delay apply to messages that do not set their own.

Messages of a FIFO queue need a group id. Unless the queue has content-based deduplication, a message without a deduplication
id gets a unique one, so sending a file twice sends its messages twice. If a message cannot be sent, later messages of its
group are not sent either.

While SQS fails or does not answer, each message is sent again for up to a minute. If an answer was lost, a standard queue may
have a message more than once; the command says how many.

With --payload-bucket, bodies that are too large are stored in S3 first, and pointers to them are sent as the SQS Extended
Client does. If a body cannot be stored, no message is sent.

Exit codes: 0 all sent, 1 some or all could not be sent (each is reported on stderr), 2 invalid messages, nothing was sent,
130 or 143 interrupted.")]
pub(crate) struct Arguments {
    /// Files with messages, - for stdin
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Body of one message
    #[arg(long, value_name = "TEXT", conflicts_with = "files")]
    body: Option<String>,

    /// Message attribute of type String (may be repeated)
    #[arg(long = "attribute", value_name = "NAME=VALUE", value_parser = redrive_local::command::arguments::key_and_value)]
    attributes: Vec<(String, String)>,

    /// Message group id
    #[arg(long, value_name = "ID")]
    group_id: Option<String>,

    /// Deduplication id of the message, for a FIFO queue
    #[arg(long, value_name = "ID", requires = "body")]
    deduplication_id: Option<String>,

    /// Seconds until the message can be received, 0 to 900
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(..=LONGEST_DELAY.as_secs()))]
    delay: Option<u64>,

    /// Send at most this many messages a second
    #[arg(long, value_name = "MESSAGES", value_parser = rate)]
    rate: Option<f64>,

    #[command(flatten)]
    to_s3: ToS3,

    #[command(flatten)]
    dry: DryRun,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    which: WhichSource,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    if arguments.files.is_empty() && arguments.body.is_none() {
        return Err(Problem::Input(anyhow!("nothing to send: pass FILE, - for stdin, or --body TEXT")));
    }
    wait(async {
        let mut given = read::read(arguments).or_input()?;
        let (aws, queue) = arguments.which.find().await?;
        let run = run_id();
        let payloads = arguments.to_s3.take(&mut given, &run).or_input()?;
        let given = check::check(given, &queue, &run).or_input()?;
        if arguments.dry.run {
            return dry_run(&given, payloads.len(), &queue, arguments);
        }
        aws.announce("sending to", &queue);
        let stored = payloads.len();
        let bar = Progress::bar(given.len() as u64, "sent {pos} of {len}  [{bar:40}]  {rate}/s, {eta} left");
        let stop = Stop::listen().or_failed()?;
        store(&aws, payloads, &stop).await?;
        let printer = Printer::start(arguments.output.json);
        let tally = deliver((&aws, &queue), &given, arguments.rate, &stop, |result| {
            bar.advance(1);
            printer.tell(result);
        })
        .await;
        drop(bar);
        let signal = stop.signal();
        let printed = printer.end(&stop).await;
        for places in ranges(&given, &tally.untried) {
            output::tell(format!("redrive: {places}: not sent"));
        }
        close(&tally, printed, stored, &queue, arguments, signal)
    })
}

/// Returns the start of the deduplication ids, which differs for each run.
fn run_id() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("redrive-{:x}-{:x}", now.as_nanos(), std::process::id())
}

/// Returns the group if order matters.
fn group(message: &NewMessage, queue: &Queue) -> Option<String> {
    message.group_id.clone().filter(|_| queue.is_fifo())
}

fn dry_run(given: &[Given], stored: usize, queue: &Queue, arguments: &Arguments) -> Result<(), Problem> {
    let messages = counted(given.len(), "message");
    let turn =
        |Given { message, .. }: &Given| LaneMessage { group: group(message, queue), size: message.size() };
    let requests = counted(requests(given.iter().map(turn), arguments.rate), "request");
    let in_s3 = arguments.to_s3.describe(stored);
    let line = format!("{messages} would be sent to {} in {requests}{in_s3}", queue.name());
    print_line(line)
}

fn close(
    tally: &Tally,
    printed: io::Result<()>,
    stored: usize,
    queue: &Queue,
    arguments: &Arguments,
    signal: Option<u8>,
) -> Result<(), Problem> {
    let again = match tally.perhaps_again {
        0 => String::new(),
        again => format!(", {again} perhaps more than once, because answers were lost"),
    };
    let in_s3 = arguments.to_s3.describe(stored);
    let sum = format!("{} sent to {}{in_s3}{again}", counted(tally.sent, "message"), queue.name());
    let summed = match arguments.output.json {
        false => print_line(&*sum),
        true => Ok(()),
    };
    if !again.is_empty() && (arguments.output.json || summed.is_err()) {
        output::tell(format!("redrive: {sum}"));
    }
    // A closed stdout must not hide failures.
    let Some(missing) = tally.missing() else { return printed.or_failed().and(summed) };
    if let Err(error) = printed
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        output::tell(format!("redrive: {error}"));
    }
    let why =
        tally.stopped.as_ref().map(|why| format!("could not send to {}: {why} ({missing})", queue.name()));
    Err(match (why, signal) {
        (Some(why), None) => Problem::Failed(anyhow!(why)),
        (Some(why), Some(signal)) => Problem::Ended(anyhow!(why), signal),
        (None, Some(signal)) => Problem::Ended(anyhow!("interrupted ({missing})"), signal),
        (None, None) => Problem::Failed(anyhow!(missing)),
    })
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if (0.001..=100_000.0).contains(&rate) => Ok(rate),
        _ => Err("allowed: a number from 0.001 to 100000".to_owned()),
    }
}
