//! One process from its start to the end of its last invocation, measured.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use clap::Args;
use nix::unistd::Pid;
use redrive_bench::event::Batch;
use serde::Deserialize;

use crate::bootstrap::Bootstrap;
use crate::certificate::Authority;
use crate::figures::{Figure, Figures, quantile, round};
use crate::runtime_api::{Delays, Log, RuntimeApi, SERVICE};
use crate::throttle::Throttle;

/// No run takes longer, however slow the machine.
const LONGEST: Duration = Duration::from_secs(300);

/// What a process is made to do.
#[derive(Args, Debug, Clone, Copy, PartialEq)]
pub(crate) struct Load {
    #[command(flatten)]
    pub(crate) batch: Batch,
    /// How often the event is handed out
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) invocations: u64,
    /// Invocations that come first and are not measured, less than all
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) warm_up: u64,
    /// How long each AWS call takes
    #[arg(long, value_name = "MS", default_value_t = 0)]
    pub(crate) aws_ms: u64,
    /// How long the service at SERVICE_URL takes, which handlers may ask
    #[arg(long, value_name = "MS", default_value_t = 5)]
    pub(crate) service_ms: u64,
    /// AWS is called over TLS
    #[arg(long)]
    pub(crate) https: bool,
    /// The share of a CPU that the process has [default: no limit]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) cpus: Option<f64>,
}

/// The kernel gives no less than a millisecond in each period.
fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.05..=64.0).contains(&share) => Ok(share),
        Ok(_) | Err(_) => Err("a share of a CPU is a number from 0.05 to 64".to_owned()),
    }
}

/// Fails unless every answer has as many failures as the event has failing messages.
pub(crate) fn run(load: &Load, bootstrap: &Bootstrap) -> anyhow::Result<Figures> {
    let (invocations, warm_up) = (load.invocations as usize, load.warm_up as usize);
    ensure!(
        warm_up < invocations,
        "--warm-up is {warm_up}; it must be less than --invocations, {invocations}"
    );
    let delays =
        Delays { aws: Duration::from_millis(load.aws_ms), service: Duration::from_millis(load.service_ms) };
    let api = Arc::new(RuntimeApi::new(load.batch.event(), invocations, warm_up, delays));
    let address = api.serve(None)?;
    let throttle = load.cpus.map(Throttle::new).transpose()?;
    let authority = load.https.then(Authority::new).transpose()?;

    let mut variables = vec![
        ("AWS_LAMBDA_RUNTIME_API", address.to_string()),
        ("SERVICE_URL", format!("http://{address}{SERVICE}")),
    ];
    let folder = tempfile::tempdir()?;
    variables.push(("DATABASE", folder.path().join("orders.sqlite").display().to_string()));
    if let Some(authority) = &authority {
        let address = api.serve(Some(Arc::clone(&authority.server)))?;
        variables.push(("AWS_ENDPOINT_URL", format!("https://{address}")));
        variables.push(("SSL_CERT_FILE", authority.bundle.display().to_string()));
    } else {
        variables.push(("AWS_ENDPOINT_URL", format!("http://{address}")));
    }

    let began = *api.spawned.get_or_init(Instant::now);
    let mut child = bootstrap.spawn(&variables, throttle.as_ref())?;
    api.process.get_or_init(|| Pid::from_raw(child.id().cast_signed()));
    let ended = loop {
        let log = api.log();
        if let Some(problem) = &log.problem {
            break Err(problem.clone());
        }
        if log.ended.is_some() {
            break Ok(());
        }
        if let Some(status) = child.try_wait()? {
            break Err(format!("it ended early: {status}"));
        }
        if began.elapsed() > LONGEST {
            break Err(format!("it took longer than {LONGEST:?}"));
        }
        drop(api.wait(log));
    };
    // Lambda, too, ends a process without extensions by SIGKILL.
    child.kill()?;
    child.wait()?;
    api.end();
    if let Err(problem) = ended {
        bail!("{}: {problem}", bootstrap.program.display());
    }
    figures(&api.log(), warm_up, load.batch.failing())
        .with_context(|| bootstrap.program.display().to_string())
}

fn figures(log: &Log, warm_up: usize, failing: usize) -> anyhow::Result<Figures> {
    let (Some(started), Some(once), Some(warm), Some(ended)) = (log.started, log.once, log.warm, log.ended)
    else {
        bail!("it did not poll to the end")
    };
    for exchange in &log.exchanges {
        let failed = failed(&exchange.response)?;
        ensure!(failed == failing, "it answered with {failed} failures where {failing} messages fail");
    }
    let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
    let took: Vec<f64> = log.exchanges.iter().map(|it| milliseconds(it.answered - it.sent)).collect();
    let measured = (log.exchanges.len() - warm_up) as f64;
    let figures = [
        (Figure::ColdMs, milliseconds(started.at)),
        (Figure::ColdCpuMs, milliseconds(started.usage.cpu)),
        (Figure::FirstMs, took[0]),
        (Figure::FirstCpuMs, milliseconds(once.usage.cpu - started.usage.cpu)),
        (Figure::P50Ms, quantile(&took[warm_up..], 0.5)),
        (Figure::P99Ms, quantile(&took[warm_up..], 0.99)),
        (Figure::CpuMs, milliseconds(ended.usage.cpu - warm.usage.cpu) / measured),
        (Figure::InvocationsPerSecond, measured / (ended.at - warm.at).as_secs_f64()),
        (Figure::PeakMib, ended.usage.peak_mib),
        (Figure::Connections, log.connections as f64),
        (Figure::AwsCalls, log.aws_calls as f64),
        (Figure::ServiceCalls, log.service_calls as f64),
    ];
    Ok(figures.map(|(figure, value)| (figure, round(value))).into())
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
