//! [`Local`]: queues, functions, mappings and alarms of one account in one process.

mod config;
mod control;
mod driver;
mod event;
mod invocation;
mod messages;
mod note;
mod pool;
mod server;
mod settle;
mod start;
mod state;
mod worker;
mod worked_queues;
mod world;

use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinSet};

pub use config::{Config, QueueConfig, WorkerConfig};
pub use control::{ClockReading, Control, Vitals};
pub use event::{Event, EventKind, InvocationOutcome, StartFailure, Totals};
pub(crate) use invocation::{Finished, Invocation, Judgement};
pub(crate) use note::Note;
pub(crate) use pool::{Pools, START_FAILURES};
pub use start::StartError;
pub(crate) use start::{check_mappings, located};
use worker::Order;
pub(crate) use world::World;

use crate::protocol::AwsError;
use crate::queue::NewMessage;

/// One account and region in one process, running from [`start`](Self::start) to [`stop`](Self::stop).
///
/// Dropping it without stopping it kills the processes of functions and workers.
#[derive(Debug)]
pub struct Local {
    world: Arc<World>,
    endpoint_url: String,
    account: String,
    mapped_queues: Vec<String>,
    warnings: Vec<String>,
    events: Option<mpsc::UnboundedReceiver<Event>>,
    stop: watch::Sender<bool>,
    /// Closed when the driver ends.
    driving: watch::Receiver<()>,
    driver: JoinSet<()>,
    order: watch::Sender<Order>,
    workers: JoinSet<()>,
    server: JoinSet<()>,
}

impl Local {
    /// Starts the queues, the endpoint, the mappings, the workers and the clock; functions are started when there is work for
    /// them.
    ///
    /// # Errors
    /// The port is taken, or the configuration is not one that AWS would accept; see [`StartError`].
    pub async fn start(config: Config) -> Result<Self, StartError> {
        start::start(config).await
    }

    /// Where SDKs and the AWS command line find SQS, CloudWatch, Lambda, CloudWatch Logs, CloudFormation and STS:
    /// `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn endpoint_url(&self) -> String {
        self.endpoint_url.clone()
    }

    /// The URL of a queue, whether it exists or not.
    #[must_use]
    pub fn queue_url(&self, name: &str) -> String {
        format!("{}/{}/{name}", self.endpoint_url, self.account)
    }

    /// What AWS accepts but advises against.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Everything that happens, from the start on; the stream ends with [`stop`](Self::stop). Call it once: a second
    /// stream has already ended.
    pub fn take_events(&mut self) -> mpsc::UnboundedReceiver<Event> {
        self.events.take().unwrap_or_else(|| mpsc::unbounded_channel().1)
    }

    /// Sends a message to a queue, without a call over HTTP, and returns its id.
    ///
    /// # Errors
    /// As SQS: the queue does not exist, or the message is not one that it takes.
    pub fn send(&self, queue: &str, message: NewMessage) -> Result<String, AwsError> {
        self.world.act(|state, now| Ok(state.account.sqs.send(queue, message, now)?.message_id))
    }

    /// Sends messages, each to the queue named with it and all at one moment: a receive sees all of them or none. Returns
    /// their ids.
    ///
    /// # Errors
    /// As [`send`](Self::send), with the place of the message that is refused; those before it are sent.
    pub fn send_all<'queue>(
        &self,
        messages: impl IntoIterator<Item = (&'queue str, NewMessage)>,
    ) -> Result<Vec<String>, (usize, AwsError)> {
        self.world.act(|state, now| {
            let messages = messages.into_iter().enumerate();
            let send = |(place, (queue, message))| match state.account.sqs.send(queue, message, now) {
                Ok(sent) => Ok(sent.message_id),
                Err(error) => Err((place, error)),
            };
            messages.map(send).collect()
        })
    }

    /// Observes and controls it while it runs.
    #[must_use]
    pub fn control(&self) -> Control {
        Control::new(Arc::clone(&self.world))
    }

    /// Waits until every queue with an active mapping or a worker is empty, hidden and delayed messages included, no invocation runs,
    /// and every alarm has been evaluated on that.
    pub async fn until_idle(&self) {
        let (mut idle, mut driving) = (self.world.idle(), self.driving.clone());
        tokio::select! {
            _ = idle.wait_for(|idle| *idle) => (),
            // Nothing will happen any more; `stop` tells why.
            _ = driving.changed() => (),
        }
    }

    /// Has the workers end, as by a container service: each gets SIGTERM and, when its time is up, SIGKILL. Waits until all
    /// are gone.
    pub async fn end_workers(&self) {
        self.world.act(|state, _| {
            state.messages.worked.is_draining = true;
            state.change();
        });
        self.order.send_replace(Order::Drain);
        self.order.closed().await;
    }

    /// What everything has come to by now.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.world.totals(self.mapped_queues.iter().map(String::as_str))
    }

    /// Kills what is left of the workers, ends the functions' processes, the endpoint and the event stream, and returns the totals. An invocation that
    /// still runs is cut off, and its messages stay queued.
    ///
    /// # Panics
    /// A bug here made what drives the mappings or the workers panic.
    pub async fn stop(mut self) -> Totals {
        self.order.send_replace(Order::Die);
        self.stop.send_replace(true);
        for tasks in [&mut self.workers, &mut self.driver] {
            while let Some(ended) = tasks.join_next().await {
                if let Err(panic) = ended.map_err(JoinError::try_into_panic) {
                    std::panic::resume_unwind(panic.expect("the task is not aborted"));
                }
            }
        }
        self.server.shutdown().await;
        self.world.end_events();
        self.totals()
    }
}
