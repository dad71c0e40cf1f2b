//! [`Remote`]: functions on this machine, fed by real queues.

mod queue;
mod driver;
mod source;
mod message;
mod delete;
mod tally;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use aws_sdk_sqs::Client;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinSet};

pub use queue::{FindQueueError, RemoteQueue};

use crate::mapping::MappingConfig;
use crate::run::{Event, StartError, Totals, check_mappings, located};
use crate::runtime_api::{Access, FunctionConfig};
use driver::Driver;
use source::Source;
use tally::Tally;

/// The configuration of a [`Remote`].
#[derive(Debug, Clone)]
pub struct RemoteConfig {
    /// The client that polls the queues. Its timeout must be longer than the 20 seconds of a poll.
    pub sqs: Client,
    /// The functions' access to AWS.
    pub access: Access,
    /// The queues that the mappings name.
    pub queues: Vec<RemoteQueue>,
    /// The functions.
    pub functions: Vec<FunctionConfig>,
    /// The mappings of queues to functions.
    pub mappings: Vec<MappingConfig>,
}

/// Functions on this machine, fed by real queues in real time, from [`start`](Self::start) to [`stop`](Self::stop).
///
/// It follows the rules of the event source mapping for batches, filters, concurrency, and the messages that a response
/// deletes. It does not touch a failed message, whose visibility timeout is the queue's, or the one that the function set.
#[derive(Debug)]
pub struct Remote {
    warnings: Vec<String>,
    tally: Arc<Mutex<Tally>>,
    events: Option<mpsc::UnboundedReceiver<Event>>,
    stop: watch::Sender<bool>,
    driver: JoinSet<()>,
}

impl Remote {
    /// Starts to poll. Functions start when they have work.
    ///
    /// # Errors
    /// Returns an error if AWS would not accept the configuration, see [`StartError`].
    pub fn start(config: RemoteConfig) -> Result<Self, StartError> {
        let RemoteConfig { sqs, access, queues, functions, mappings } = config;
        let visibility_timeout =
            |name: &str| queues.iter().find(|queue| queue.name == name).map(|queue| queue.visibility_timeout);
        let warnings = check_mappings(&mappings, &functions, visibility_timeout)?;
        let (region, account) = queues.first().map_or(("", ""), RemoteQueue::place);
        let located = |function| located(function, region, account, &access);
        let functions = functions.iter().map(located).collect::<Result<Vec<_>, _>>()?;

        let (tally, events) = Tally::new();
        let tally = Arc::new(Mutex::new(tally));
        let sources = mappings.into_iter().filter(|mapping| mapping.enabled).filter_map(|config| {
            let queue = queues.iter().find(|queue| queue.name == config.queue)?.clone();
            Some(Source { sqs: sqs.clone(), config, queue, tally: Arc::clone(&tally) })
        });
        let (stop, stopped) = watch::channel(false);
        let driven = Driver::new(sources, functions, stopped);
        let mut driver = JoinSet::new();
        driver.spawn(driven.run());
        Ok(Self { warnings, tally, events: Some(events), stop, driver })
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

    /// Ends polls, the functions' processes and the event stream, and returns the totals. It cancels running invocations,
    /// whose messages return after their visibility timeout.
    ///
    /// # Panics
    /// Panics if the task that drives the mappings panicked, which is a bug.
    pub async fn stop(mut self) -> Totals {
        self.stop.send_replace(true);
        while let Some(ended) = self.driver.join_next().await {
            if let Err(panic) = ended.map_err(JoinError::try_into_panic) {
                std::panic::resume_unwind(panic.expect("the task is not aborted"));
            }
        }
        self.tally.lock().expect("nothing panics while it holds the tally").end()
    }
}

type Ids<'message> = BTreeSet<&'message str>;
