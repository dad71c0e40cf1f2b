//! `redrive local`: runs a template's functions and queues in this process.

mod audience;
mod executable;
mod layered;
mod line;
mod plan;
mod real;
mod screen;
mod addressed;
pub(crate) mod stack;
mod formatter;
mod table;
mod ui;
mod workers;

use std::io;
use std::net::SocketAddr;

use anyhow::{Context, anyhow};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::command::arguments::LocalArguments;
use crate::command::problem::{OrProblem, Problem};
use crate::{Event, EventKind, Local, Speed, StartError, Totals};
use addressed::Addressed;
use audience::Audience;
use executable::Executable;
use plan::{Plan, QueuesAt};
use real::Connection;
use screen::Screen;
use ui::Listener;

/// Most tries to find a free port, because another process may take one before it is used.
const PORT_TRIES: usize = 5;

/// Runs until Ctrl-C, or with `--until-idle` until no messages are left.
pub fn run(arguments: &LocalArguments) -> Result<(), Problem> {
    let plan = Plan::new(arguments)?;
    let executables = executable::make(&plan)?;
    let runtime = tokio::runtime::Runtime::new().context("could not start").or_failed()?;
    match plan.queues {
        QueuesAt::Here => runtime.block_on(work(&plan, &executables)),
        QueuesAt::Endpoint(_) | QueuesAt::Aws => runtime.block_on(work_on_real_queues(&plan, &executables)),
    }
}

async fn work(plan: &Plan, executables: &[Executable]) -> Result<(), Problem> {
    let mut signals = Signals::listen()?;
    let listener = match plan.ui {
        Some(port) => Some(Listener::open(port).await?),
        None => None,
    };
    let mut local = start(plan, executables).await?;
    let mut events = local.take_events();
    let mut about = vec![
        format!("endpoint  aws --endpoint-url {} sqs list-queues", local.endpoint_url()),
        format!(
            "waiting   {}; times below are hours, minutes and seconds of the simulated clock",
            speed(plan)
        ),
    ];
    if !plan.hosts.is_empty() {
        let endpoint = local.endpoint_url();
        let port = endpoint.rsplit(':').next().unwrap_or_default();
        about.insert(1, format!("hosts     {}, port {port}", plan.hosts.join(", ")));
    }
    let mut audience = Audience::new(Screen::new(plan), Some(local.control()));
    if let Some(listener) = listener {
        about.push(format!("page      {}", listener.url()?));
        audience.page = Some(listener.serve(plan, local.control()));
    }
    audience.screen.introduce(plan, &about, local.warnings());
    let end = match send(&local, &plan.messages, &mut audience.screen) {
        Ok(()) => run_until(idle(plan, &local), &mut signals, &mut events, &mut audience).await,
        Err(problem) => Err(problem),
    };
    let end = match end {
        Ok(end) => drained(end, &local, &mut signals, &mut events, &mut audience).await,
        Err(problem) => Err(problem),
    };
    // All processes end here in any case.
    let totals = local.stop().await;
    let end = end?;
    audience.dismiss(&mut events, &totals).await.or_failed()?;
    verdict(end, &totals)
}

async fn idle(plan: &Plan, local: &Local) {
    if plan.until_idle {
        local.until_idle().await;
    } else {
        std::future::pending::<()>().await;
    }
}

/// Waits for the workers to end, unless another signal cancels the wait. Alarms still evaluate their last metrics.
async fn drained(
    end: End,
    local: &Local,
    signals: &mut Signals,
    events: &mut UnboundedReceiver<Event>,
    audience: &mut Audience,
) -> Result<End, Problem> {
    let drained = run_until(local.end_workers(), signals, events, audience).await?;
    if end == End::Idle && drained == End::Idle {
        return run_until(local.until_idle(), signals, events, audience).await;
    }
    Ok(end)
}

/// Runs the functions on messages of real queues.
async fn work_on_real_queues(plan: &Plan, executables: &[Executable]) -> Result<(), Problem> {
    let connection = Connection::new(plan).await?;
    connection.confirm(plan)?;
    let mut signals = Signals::listen()?;
    let mut remote = connection.start(plan, executables)?;
    let mut events = remote.take_events();
    let mut audience = Audience::new(Screen::new(plan), None);
    audience.screen.introduce(plan, &connection.lines(), remote.warnings());
    let end = run_until(std::future::pending(), &mut signals, &mut events, &mut audience).await;
    let totals = remote.stop().await;
    let end = end?;
    audience.dismiss(&mut events, &totals).await.or_failed()?;
    verdict(end, &totals)
}

/// Starts on the requested port or a free one. Queue URLs in the functions' environment name that port.
async fn start(plan: &Plan, executables: &[Executable]) -> Result<Local, Problem> {
    let mut tries = PORT_TRIES;
    loop {
        let mut listen = plan.listen;
        if listen.port() == 0 {
            let port = free_port(listen).with_context(|| format!("no free port on {}", listen.ip()));
            listen.set_port(port.or_failed()?);
        }
        let config = plan.config(listen, executables).or_input()?;
        match Local::start(config).await {
            Err(StartError::PortInUse(_)) if plan.listen.port() == 0 && tries > 1 => tries -= 1,
            Err(error @ (StartError::Invalid(_) | StartError::Queue { .. })) => {
                return Err(Problem::Input(anyhow!(error).context(plan.template.display().to_string())));
            }
            result => return result.or_failed(),
        }
    }
}

fn speed(plan: &Plan) -> String {
    match plan.speed {
        Speed::Times(1.0) => "real time".to_owned(),
        Speed::Times(times) if times < 1.0 => format!("{times} times as fast as real time"),
        Speed::Times(times) => {
            format!("{times} times as fast as real time, but real time while a client holds messages")
        }
        Speed::Max => "skipped, but real time while a client holds messages".to_owned(),
    }
}

fn free_port(address: SocketAddr) -> io::Result<u16> {
    Ok(std::net::TcpListener::bind(address)?.local_addr()?.port())
}

/// Sends all messages at one moment, so that each run has the same result.
fn send(local: &Local, messages: &[Addressed], screen: &mut Screen) -> Result<(), Problem> {
    let batch = messages.iter().map(|message| (message.queue.as_str(), message.message.clone()));
    match local.send_all(batch) {
        Ok(ids) => {
            ids.iter().zip(messages).for_each(|(id, message)| screen.expect(id, &message.message.body))
        }
        Err((place, error)) => {
            let Addressed { place, queue, .. } = &messages[place];
            return Err(Problem::Input(anyhow!(error).context(format!("{place}: rejected by {queue}"))));
        }
    }
    Ok(())
}

/// The signals that end a run. They are registered before anything starts, so that anybody who reads an address can end the
/// run.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// SIGHUP, after the terminal closed.
    hang_up: Signal,
}

impl Signals {
    fn listen() -> Result<Self, Problem> {
        let listen = |kind| signal(kind).context("could not listen for signals").or_failed();
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum End {
    Idle,
    Interrupted,
    GaveUp(String),
}

async fn run_until(
    idle: impl Future<Output = ()>,
    signals: &mut Signals,
    events: &mut UnboundedReceiver<Event>,
    audience: &mut Audience,
) -> Result<End, Problem> {
    tokio::pin!(idle);
    loop {
        let event = tokio::select! {
            biased;
            event = events.recv() => event,
            _ = signals.interrupt.recv() => return Ok(End::Interrupted),
            _ = signals.terminate.recv() => return Ok(End::Interrupted),
            _ = signals.hang_up.recv() => return Ok(End::Interrupted),
            () = &mut idle => return Ok(End::Idle),
        };
        let Some(event) = event else { return Ok(End::Idle) };
        audience.report(&event).or_failed()?;
        if let EventKind::GaveUp { function, reason } = event.kind {
            return Ok(End::GaveUp(format!("{function} does not start: {reason}")));
        }
    }
}

/// Returns an error if messages are left that no function can process. Dead letters are a result, not an error.
fn verdict(end: End, totals: &Totals) -> Result<(), Problem> {
    match end {
        End::GaveUp(reason) => Err(Problem::Failed(anyhow!(reason))),
        End::Idle if totals.left > 0 => {
            Err(Problem::Failed(anyhow!("{} messages are left in queues that feed no function", totals.left)))
        }
        End::Idle | End::Interrupted => Ok(()),
    }
}
