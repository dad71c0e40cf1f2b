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
mod state_folder;
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
#[cfg(feature = "command")]
pub(crate) use start::reachable;
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
    /// A channel that closes when the driver ends.
    driving: watch::Receiver<()>,
    driver: JoinSet<()>,
    order: watch::Sender<Order>,
    workers: JoinSet<()>,
    server: JoinSet<()>,
}

impl Local {
    /// Starts the queues, the endpoint, the mappings, the workers and the clock. Functions start when they have work.
    ///
    /// # Errors
    /// Returns an error if the port is taken or AWS would not accept the configuration, see [`StartError`].
    pub async fn start(config: Config) -> Result<Self, StartError> {
        start::start(config).await
    }

    /// Returns the endpoint of SQS, CloudWatch, Lambda, CloudWatch Logs, CloudFormation and STS for SDKs and the AWS command
    /// line, for processes of this machine: `http://127.0.0.1:PORT` unless it listens on another address.
    #[must_use]
    pub fn endpoint_url(&self) -> String {
        self.endpoint_url.clone()
    }

    /// Returns the URL of a queue, even if it does not exist.
    #[must_use]
    pub fn queue_url(&self, name: &str) -> String {
        format!("{}/{}/{name}", self.endpoint_url, self.account)
    }

    /// Returns warnings about settings that AWS accepts but advises against.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns the stream of all events from the start on. It ends with [`stop`](Self::stop). Call this once: a second stream
    /// has already ended.
    pub fn take_events(&mut self) -> mpsc::UnboundedReceiver<Event> {
        self.events.take().unwrap_or_else(|| mpsc::unbounded_channel().1)
    }

    /// Sends a message to a queue, without a call over HTTP, and returns its id.
    ///
    /// # Errors
    /// Returns SQS's error if the queue does not exist or refuses the message.
    pub fn send(&self, queue: &str, message: NewMessage) -> Result<String, AwsError> {
        self.control().send(queue, message)
    }

    /// Sends messages, each to its queue and all at one moment, so that a receive sees all of them or none. Returns their
    /// ids.
    ///
    /// # Errors
    /// Returns the same error as [`send`](Self::send), with the index of the refused message. Messages before it are sent.
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
            let sent = messages.map(send).collect();
            state.keep_queues(now);
            sent
        })
    }

    /// Returns a handle that observes and controls this account while it runs.
    #[must_use]
    pub fn control(&self) -> Control {
        Control::new(Arc::clone(&self.world))
    }

    /// Waits until every queue with an active mapping or a worker is empty, including hidden and delayed messages, no
    /// invocation runs, and every alarm has been evaluated since.
    pub async fn until_idle(&self) {
        let (mut idle, mut driving) = (self.world.idle(), self.driving.clone());
        tokio::select! {
            _ = idle.wait_for(|idle| *idle) => (),
            // Nothing will happen any more. `stop` reports the reason.
            _ = driving.changed() => (),
        }
    }

    /// Ends the workers as a container service does: each gets SIGTERM and, when its time is up, SIGKILL. Waits until all are
    /// gone.
    pub async fn end_workers(&self) {
        self.world.act(|state, _| {
            state.messages.worked.is_draining = true;
            state.change();
        });
        self.order.send_replace(Order::Drain);
        self.order.closed().await;
    }

    /// Returns the totals so far.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.world.totals(self.mapped_queues.iter().map(String::as_str))
    }

    /// Kills the remaining workers, ends the functions' processes, the endpoint and the event stream, and returns the totals.
    /// Running invocations are canceled, and their messages stay queued.
    ///
    /// # Panics
    /// Panics if the task that drives the mappings or the workers panicked, which is a bug.
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
