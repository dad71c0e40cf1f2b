//! `redrive work`: a worker that runs a program for each message, or posts each to an HTTP server.

mod answer;
mod app;
mod event;
mod exit;
mod lines;
mod post;
mod program;
mod task;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::future::ready;
use std::io;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, SystemTime};

use anyhow::{Context, anyhow};
use clap::{ArgGroup, Args};
use http::header::{HeaderMap, HeaderValue};
use http::uri::PathAndQuery;
use http::{Uri, Version};
use redrive::reexports::lambda_runtime::Diagnostic;
use redrive::tools::work_when;
use redrive::{BoxError, Bulk, Chunks, Consumer, Failure, FromMessage, Handler, Input, Record};
use redrive_sqs::is_fifo;
use rustix::process::{Signal, getpid, kill_process};
use tokio::signal::unix::{SignalKind, signal};
use tokio::spawn;
use tokio::sync::watch;

use crate::aws::Aws;
use crate::find::{Queue, WhichSource};
use crate::problem::{OrProblem, Problem};
use crate::span;
use crate::tell::tell;
use crate::wait::wait;
use answer::{Judge, Request};
use app::{App, Body};
use event::EventRecord;
use exit::{Codes, ExitMeaning};
use post::Post;
use program::{NotRun, Program};
use task::Task;

/// Runs a program for each message of a queue, or posts each to an HTTP server.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("app").required(true).args(["command", "http"]))]
#[command(after_help = "\
Examples:
  redrive work --queue orders -- ./charge.sh
      runs charge.sh with each message on its standard input
  redrive work --queue orders --concurrency 8 --time-limit 5m -- python3 charge.py --live
  redrive work --stack shop --exit 75=outage --exit 65=reject -- ./charge
      sets what the program's exit codes mean
  redrive work --queue orders --http http://127.0.0.1:8080/ --ready /health
      posts each message to an app, once the app is ready
  redrive work --queue orders --http http://127.0.0.1:8080/ --batch 100
      posts events like Lambda's, and reads partial batch responses

The program gets the body on its standard input, and these variables:
  MessageId, ApproximateReceiveCount, SentTimestamp, ApproximateFirstReceiveTimestamp, and MessageGroupId on a FIFO queue;
  Message and Subject of a notification of SNS; otherwise, Message is the body;
  MessageAttribute_NAME for each message attribute of type String or Number, with _ in place of all but letters and digits;
  TMPDIR, a private folder that is removed afterwards.
Values of more than 64 KiB are left out: a program that then ends with 0 without reading any of its standard input has not seen its
message, which becomes a dead letter (unread). The program's output goes to standard error, redrive's log to standard output.

Exit codes of the program: 0 done, 3 reject (a dead letter at once), 4 return (to the queue, not counted as an error), others
retry, with a backoff of 2^attempt seconds. --exit changes them. An outage is retried for hours; after three in a row, redrive
tries one message a minute. If the program cannot be started, that is an outage. The last line of its standard error is the error in the letter's note.

After --time-limit, redrive sends SIGTERM to the program's process group, and SIGKILL 10 seconds later. The message is retried,
whatever the exit code. When a program ends, redrive kills the rest of its process group. After SIGTERM, SIGINT, SIGHUP or
SIGQUIT, redrive starts no more programs and waits for those that run, for up to 25 seconds (REDRIVE_DRAIN). Then it kills them.

An app gets the body, and the headers of Elastic Beanstalk's daemon (X-Aws-Sqsd-Msgid, -Queue, -First-Received-At, -Receive-Count,
-Sender-Id and -Attr-NAME) and of CloudEvents (ce-id, ce-source, ce-type, ce-time, ce-partitionkey). The status of its response
decides what happens: 2xx done, 422 reject, 429 with Retry-After retry after that time, 502, 503 and 504 outage, others retry. If three
messages in a row get such a status, except 400, 413, 415 and 500, they wait as in an outage; after thirty, redrive tries one message a
minute until one is done. --status changes what a status means. If the app refuses connections for a minute, or does not speak HTTP, that
is an outage. If it closes the connection of a request, the message is retried, because it may have crashed the app. After --time-limit,
redrive closes the connection, and the message is retried. redrive receives messages once the app is ready, and exits with code 1 if
that takes 5 minutes.

A worker's variables apply, such as REDRIVE_RATE, REDRIVE_HEALTH and REDRIVE_METRICS. The visibility timeout of the queue is
extended while a message is handled, so it can be short.

Exit codes: 0 ended by a signal, 1 failed, 2 wrong usage or input.")]
pub(crate) struct Arguments {
    /// Program to run, and its arguments
    #[arg(value_name = "COMMAND", last = true)]
    command: Vec<OsString>,

    /// Post each message to this URL, such as http://127.0.0.1:8080/
    #[arg(long, value_name = "URL", value_parser = app::url)]
    http: Option<Uri>,

    /// Post events like Lambda's, with up to 10000 messages each, instead of single messages
    #[arg(long, value_name = "MESSAGES", value_parser = batch, conflicts_with = "command")]
    batch: Option<NonZeroUsize>,

    /// Wait until the app answers this path with 2xx [default: until it accepts connections]
    #[arg(long, value_name = "PATH", value_parser = app::path, conflicts_with = "command")]
    ready: Option<PathAndQuery>,

    /// Content-Type of the messages
    #[arg(long, value_name = "TYPE", default_value = "application/json", conflicts_with = "command")]
    content_type: HeaderValue,

    /// Use HTTP/2 without TLS, which the app must support
    #[arg(long, conflicts_with = "command")]
    http2: bool,

    /// How many programs or requests run at the same time [default: REDRIVE_CONCURRENCY, or 1 program, or 10 requests]
    #[arg(long, value_name = "NUMBER", value_parser = batch)]
    concurrency: Option<NonZeroUsize>,

    /// How long a program or a request may take, 1s to 11h [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = limit)]
    time_limit: Option<Duration>,

    /// What an exit code of the program means: done, retry, reject, return, outage or discard (may be repeated)
    #[arg(long = "exit", value_name = "CODE=MEANING", value_parser = exit::code, conflicts_with = "http")]
    exits: Vec<(u8, ExitMeaning)>,

    /// What a status of the app means: done, retry, reject, return, outage or discard (may be repeated)
    #[arg(long = "status", value_name = "CODE=MEANING", value_parser = answer::status, conflicts_with = "command")]
    statuses: Vec<(u16, ExitMeaning)>,

    #[command(flatten)]
    which: WhichSource,
}

fn limit(text: &str) -> Result<Duration, String> {
    let (least, most) = (Duration::from_secs(1), Duration::from_secs(11 * 3_600));
    let limit = span::parse(text)?;
    if (least..=most).contains(&limit) { Ok(limit) } else { Err("allowed: 1s to 11h".to_owned()) }
}

fn batch(text: &str) -> Result<NonZeroUsize, String> {
    let most = text.parse().ok().filter(|most: &NonZeroUsize| most.get() <= LARGEST_EVENT);
    most.ok_or_else(|| format!("allowed: 1 to {LARGEST_EVENT}"))
}

/// Wait time of a receive.
const POLL: Duration = Duration::from_secs(20);

/// Most bytes of bodies in an event, so that it is about as large as the largest of Lambda's.
const MOST_BYTES: usize = 4 * 1_024 * 1_024;

/// Most messages in an event, as on Lambda.
const LARGEST_EVENT: usize = 10_000;

pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    match &arguments.http {
        Some(url) => post(arguments, url),
        None => run_programs(arguments),
    }
}

fn run_programs(arguments: &Arguments) -> Result<(), Problem> {
    let [name, rest @ ..] = arguments.command.as_slice() else {
        return Err(Problem::Input(anyhow!("no program: pass it after --")));
    };
    let program = Program::find(name, rest, arguments.time_limit).or_input()?;
    let codes = Codes::new(&arguments.exits).or_input()?;
    wait(async {
        let (aws, queue) = arguments.find().await?;
        let handler = {
            let (program, said) = (program.clone(), Arc::new(Once::new()));
            move |task: Task| {
                if let Some(name) = &task.left_out {
                    said.call_once(|| {
                        tell(format_args!(
                            "redrive: programs do not get {name}: a value is longer than 64 KiB"
                        ));
                    });
                }
                let (program, codes) = (program.clone(), codes.clone());
                async move {
                    let attempt = task.attempt;
                    codes.result(program.run(&task).await.map_err(not_run)?, attempt)
                }
            }
        };
        end_with_the_terminal().context("could not start").or_failed()?;
        let variable = std::env::var_os("REDRIVE_CONCURRENCY").is_some_and(|value| !value.is_empty());
        let concurrency = arguments.concurrency.or((!variable).then_some(NonZeroUsize::MIN));
        let ended = work(Consumer::new(handler), ready(Ok(())), concurrency, &aws, &queue).await;
        program.kill_all();
        ended
    })
}

fn post(arguments: &Arguments, url: &Uri) -> Result<(), Problem> {
    let judge = Judge::new(&arguments.statuses).or_input()?;
    wait(async {
        let (aws, queue) = arguments.find().await?;
        let judge = Arc::new(Mutex::new(judge.of_queue(is_fifo(queue.name()))));
        let version = if arguments.http2 { Version::HTTP_2 } else { Version::HTTP_11 };
        let content_type = arguments.content_type.clone();
        let is_ending = ending().context("could not start").or_failed()?;
        let app = App::new(
            url.clone(),
            version,
            content_type,
            queue.name(),
            arguments.time_limit,
            arguments.ready.clone(),
            is_ending,
        )
        .or_failed()?;
        end_with_the_terminal().context("could not start").or_failed()?;
        let looked_at = app.clone();
        // The worker polls this after it started to listen for signals.
        let is_ready = async move {
            let looking = spawn(async move { looked_at.ready().await });
            let ended = looking.await.map_err(|error| error.to_string())?;
            ended.map_err(|error| error.to_string())
        };
        let concurrency = arguments.concurrency;
        match arguments.batch {
            None => {
                let handler = move |Post { id, attempt, headers, body }: Post| {
                    let (app, judge) = (app.clone(), Arc::clone(&judge));
                    async move {
                        let sent = now();
                        let answer = app.post(headers, body, Body::Unimportant).await;
                        let request = Request { ids: &[&id], attempt, sent };
                        lock(&judge).success(answer, request, now()).map(|_| ())
                    }
                };
                work(Consumer::new(handler), is_ready, concurrency, &aws, &queue).await
            }
            Some(most) => {
                let handler = move |messages: Bulk<EventRecord>| {
                    let (app, judge) = (app.clone(), Arc::clone(&judge));
                    async move { post_events(&app, &judge, messages).await }
                };
                work(
                    Consumer::new(handler).chunks(Chunks::of(most.get()).bytes(MOST_BYTES)),
                    is_ready,
                    concurrency,
                    &aws,
                    &queue,
                )
                .await
            }
        }
    })
}

/// Posts messages as an event, or as several if that is too large for the app.
async fn post_events(app: &App, judge: &Mutex<Judge>, messages: Bulk<EventRecord>) -> Result<(), Failure> {
    let (mut parts, mut blocked) = (vec![messages.into_iter().collect::<Vec<_>>()], BTreeSet::new());
    while let Some(mut part) = parts.pop() {
        part.retain(|message| message.group.as_ref().is_none_or(|group| !blocked.contains(group)));
        if part.is_empty() {
            continue;
        }
        let sent = now();
        let answer = app.post(HeaderMap::new(), event::event(&part), Body::Result).await;
        let is_too_large = answer.is_too_large();
        if is_too_large && part.len() > 1 {
            let rest = part.split_off(part.len().div_ceil(2));
            parts.extend([rest, part]);
            continue;
        }
        let ids: Vec<_> = part.iter().map(|message| message.id.as_str()).collect();
        let attempt = part.iter().map(|message| message.attempt).max().unwrap_or_default();
        let ended = lock(judge).success(answer, Request { ids: &ids, attempt, sent }, now());
        match ended {
            Ok(response) => blocked.extend(event::settle(part, &response)?),
            Err(failure) => match part.pop() {
                // It is alone in the event. The others may be small enough.
                Some(message) if is_too_large => {
                    blocked.extend(message.group.clone());
                    message.fail(failure);
                }
                _ => return Err(failure),
            },
        }
    }
    Ok(())
}

fn lock(judge: &Mutex<Judge>) -> MutexGuard<'_, Judge> {
    judge.lock().unwrap_or_else(PoisonError::into_inner)
}

fn now() -> SystemTime {
    SystemTime::now()
}

async fn work<H: Handler<M>, M: Input>(
    consumer: Consumer<H, M>,
    is_ready: impl Future<Output = Result<(), String>> + Send + 'static,
    concurrency: Option<NonZeroUsize>,
    aws: &Aws,
    queue: &Queue,
) -> Result<(), Problem> {
    let consumer = consumer.sqs(aws.polling(POLL).sqs()).cloudwatch(aws.cloudwatch());
    let consumer = match concurrency {
        Some(most) => consumer.concurrency(most.get()),
        None => consumer,
    };
    let Err(error) = work_when(is_ready, consumer, queue.url.as_str()).await else { return Ok(()) };
    let why = anyhow!("{error:?}");
    match Diagnostic::from(error).error_type.as_str() {
        "InvalidSetting" => Err(Problem::Input(why)),
        _ => Err(Problem::Failed(why.context("the worker failed"))),
    }
}

impl Arguments {
    async fn find(&self) -> Result<(Aws, Queue), Problem> {
        let (aws, queue) = self.which.find().await?;
        aws.announce("working on", &queue);
        Ok((aws, queue))
    }
}

/// Makes SIGHUP and SIGQUIT end the worker as SIGTERM does, so that no program outlives it.
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

/// Returns a receiver that is true once a signal has ended the worker.
fn ending() -> io::Result<watch::Receiver<bool>> {
    let (end, is_ending) = watch::channel(false);
    let (mut terminated, mut interrupted) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    spawn(async move {
        tokio::select! {
            _ = terminated.recv() => {}
            _ = interrupted.recv() => {}
        }
        end.send_replace(true);
        // Receivers outlive this task.
        end.closed().await;
    });
    Ok(is_ending)
}

impl FromMessage for Task {
    fn from_message(record: &Record<'_>) -> Result<Self, BoxError> {
        Ok(Self::of(record))
    }
}

/// Returns the failure of a program that could not run. The message is at fault only if its variables are too large.
fn not_run(error: NotRun) -> Failure {
    match error.error.kind() {
        io::ErrorKind::ArgumentListTooLong => Failure::from(error),
        _ => Failure::outage(error),
    }
}
