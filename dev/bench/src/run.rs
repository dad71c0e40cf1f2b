//! Measures one process from its start to the end of its last invocation.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use nix::unistd::Pid;
use redrive_bench::event::Batch;
use redrive_local::runtime::{Ended, Exchange, Offer, Reply};
use serde::Deserialize;
use tokio::process::Child;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::bootstrap::spawn;
use crate::certificate::Authority;
use crate::figures::{Figure, Figures, quantile};
use crate::kernel::Usage;
use crate::server::{SERVICE, Server};
use crate::throttle::Throttle;

/// Time limit of a run, even on a slow machine.
const LONGEST: Duration = Duration::from_secs(300);

/// The work of a process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Load {
    pub(crate) batch: Batch,
    /// Invocations, each with the same event.
    pub(crate) invocations: usize,
    /// Invocations that come first and are not measured, less than all.
    pub(crate) warm_up: usize,
    /// Duration of each AWS call.
    pub(crate) aws_takes: Duration,
    /// True if AWS is called over TLS.
    pub(crate) https: bool,
    /// The share of a CPU that the process has; without it there is no limit.
    pub(crate) cpus: Option<f64>,
}

/// The function's timeout.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The events of a run so far. Times count from the start of the process.
#[derive(Debug, Default)]
struct Log {
    /// Usage of the process at each request for work: at its start, and after each answer.
    polls: Vec<Moment>,
    rounds: Vec<Round>,
}

/// Usage of the process at a time.
#[derive(Debug, Clone, Copy)]
struct Moment {
    at: Duration,
    usage: Usage,
}

/// An event that was handed out, and its answer.
#[derive(Debug)]
struct Round {
    sent: Duration,
    answered: Duration,
    response: Bytes,
}

/// The process, and this side of its Runtime API.
struct MeasuredProcess {
    child: Child,
    offers: UnboundedSender<Offer>,
    replies: UnboundedReceiver<Reply>,
    problems: UnboundedReceiver<String>,
}

/// Measures a program. Fails unless every answer has as many failures as the event has failing messages.
pub(crate) fn run(load: &Load, program: &Path) -> anyhow::Result<Figures> {
    // A single thread avoids hand-overs between threads.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime
        .block_on(measure(load, program))
        .and_then(|log| figures(&log, load.warm_up, load.batch.failing()))
        .with_context(|| program.display().to_string())
}

async fn measure(load: &Load, program: &Path) -> anyhow::Result<Log> {
    let ((offers, offered), (reply, replies)) = (unbounded_channel(), unbounded_channel());
    let (problem, problems) = unbounded_channel();
    let server = Server::new(load.aws_takes, problem);
    let router = server.router(Exchange::new(offered, reply));
    let address = server.serve(router.clone(), None).await?;
    let throttle = load.cpus.map(Throttle::new).transpose()?;
    let authority = load.https.then(Authority::new).transpose()?;

    let mut variables = vec![
        ("AWS_LAMBDA_RUNTIME_API", address.to_string()),
        ("SERVICE_URL", format!("http://{address}{SERVICE}")),
    ];
    if let Some(authority) = &authority {
        let address = server.serve(router, Some(Arc::clone(&authority.server))).await?;
        variables.push(("AWS_ENDPOINT_URL", format!("https://{address}")));
        variables.push(("SSL_CERT_FILE", authority.bundle.path().display().to_string()));
    } else {
        variables.push(("AWS_ENDPOINT_URL", format!("http://{address}")));
    }

    let spawned = Instant::now();
    let child = spawn(program, &variables, throttle.as_ref())?;
    let mut process = MeasuredProcess { child, offers, replies, problems };
    let event = load.batch.event().into();
    let ended =
        tokio::time::timeout(LONGEST, process.run_invocations(spawned, &event, load.invocations)).await;
    // Lambda, too, ends a process without extensions by SIGKILL.
    process.child.kill().await?;
    ended.with_context(|| format!("it took longer than {LONGEST:?}"))?
}

impl MeasuredProcess {
    /// Gives the process the event this number of times, until it asks for one more.
    async fn run_invocations(
        &mut self,
        spawned: Instant,
        event: &Bytes,
        invocations: usize,
    ) -> anyhow::Result<Log> {
        let process = self.child.id().context("it has ended")?;
        let mut log = Log::default();
        let mut sent = None;
        loop {
            let reply = tokio::select! {
                biased;
                Some(problem) = self.problems.recv() => bail!(problem),
                Some(reply) = self.replies.recv() => reply,
                status = self.child.wait() => bail!("it ended early: {}", status?),
            };
            let at = spawned.elapsed();
            match reply {
                Reply::Ready => {
                    ensure!(sent.is_none(), "it asked for an event before it had answered the last one");
                    let usage = Usage::of(Pid::from_raw(process.cast_signed()))?;
                    log.polls.push(Moment { at, usage });
                    if log.rounds.len() == invocations {
                        return Ok(log);
                    }
                    sent = Some(spawned.elapsed());
                    self.offers.send(offer(log.rounds.len(), event)).context("its Runtime API has ended")?;
                }
                Reply::Ended(Ended::Response(response)) => {
                    let sent = sent.take().context("it answered an event that it did not get")?;
                    log.rounds.push(Round { sent, answered: at, response });
                }
                Reply::Ended(ended) => bail!("it failed: {ended:?}"),
                Reply::InitError(error) => bail!("it could not start: {error}"),
            }
        }
    }
}

fn offer(number: usize, event: &Bytes) -> Offer {
    let deadline = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default() + TIMEOUT;
    let request_id = format!("8476a536-e9f4-11e8-9739-{number:012x}");
    let trace = "Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Parent=9a9197af755a6419;Sampled=0";
    Offer {
        headers: vec![
            ("lambda-runtime-aws-request-id", request_id.clone()),
            ("lambda-runtime-deadline-ms", deadline.as_millis().to_string()),
            (
                "lambda-runtime-invoked-function-arn",
                "arn:aws:lambda:eu-west-1:123456789012:function:bench".to_owned(),
            ),
            ("lambda-runtime-trace-id", trace.to_owned()),
        ],
        request_id,
        event: event.clone(),
    }
}

fn figures(log: &Log, warm_up: usize, failing: usize) -> anyhow::Result<Figures> {
    let Log { polls, rounds } = log;
    let [started, once, warm, ended] = [0, 1, warm_up, rounds.len()].map(|number| polls[number]);
    for Round { response, .. } in rounds {
        let failed = failed(response)?;
        ensure!(failed == failing, "it answered with {failed} failures where {failing} messages fail");
    }
    let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
    let took: Vec<f64> = rounds.iter().map(|it| milliseconds(it.answered - it.sent)).collect();
    let measured = (rounds.len() - warm_up) as f64;
    Ok(Figures::from([
        (Figure::ColdMs, milliseconds(started.at)),
        (Figure::FirstMs, took[0]),
        (Figure::FirstCpuMs, milliseconds(once.usage.cpu - started.usage.cpu)),
        (Figure::P50Ms, quantile(&took[warm_up..], 0.5)),
        (Figure::P99Ms, quantile(&took[warm_up..], 0.99)),
        (Figure::CpuMs, milliseconds(ended.usage.cpu - warm.usage.cpu) / measured),
        (Figure::InvocationsPerSecond, measured / (ended.at - rounds[warm_up].sent).as_secs_f64()),
        (Figure::PeakMib, ended.usage.peak_mib),
    ]))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    batch_item_failures: Vec<serde::de::IgnoredAny>,
}

fn failed(response: &[u8]) -> anyhow::Result<usize> {
    let response: Response = serde_json::from_slice(response).context("its answer is no batch response")?;
    Ok(response.batch_item_failures.len())
}
