//! [`Remote`]: functions on this machine, fed by real queues.

mod queue;
mod mapping;
mod message;
mod delete;
mod tally;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use aws_sdk_sqs::Client;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::{JoinError, JoinSet};

pub use queue::{FindQueueError, RemoteQueue};

use crate::clock::{Clock, Speed};
use crate::mapping::MappingConfig;
use crate::run::{Event, Pool, StartError, Totals};
use crate::run::{check_mappings, located};
use crate::runtime_api::Access;
use crate::runtime_api::FunctionConfig;
use mapping::Mapping;
use tally::Tally;

/// What a [`Remote`] runs.
#[derive(Debug, Clone)]
pub struct RemoteConfig {
    /// The client that polls the queues. Its attempts must be allowed more than 20 seconds, which is how long a poll
    /// may take.
    pub sqs: Client,
    /// The functions' access to AWS.
    pub access: Access,
    /// The queues that the mappings name.
    pub queues: Vec<RemoteQueue>,
    /// The functions.
    pub functions: Vec<FunctionConfig>,
    /// Which queue feeds which function.
    pub mappings: Vec<MappingConfig>,
}

/// Functions on this machine, fed by real queues in real time, from [`start`](Self::start) to [`stop`](Self::stop).
///
/// It keeps the rules of the event source mapping: batches, filters, concurrency, and what a response deletes. A message
/// that failed is left alone, so that its visibility timeout is the queue's, or what the function itself set it to.
#[derive(Debug)]
pub struct Remote {
    shared: Arc<Shared>,
    warnings: Vec<String>,
    events: Option<mpsc::UnboundedReceiver<Event>>,
    stop: watch::Sender<bool>,
    mappings: JoinSet<()>,
}

/// What all mappings share.
#[derive(Debug)]
struct Shared {
    sqs: Client,
    functions: BTreeMap<String, Function>,
    clock: Clock,
    tally: Mutex<Tally>,
}

/// A function with room for as many invocations as it may have at once.
#[derive(Debug)]
struct Function {
    pool: Mutex<Pool>,
    room: Arc<Semaphore>,
}

impl Remote {
    /// Starts to poll; functions are started when there is work for them.
    ///
    /// # Errors
    /// The configuration is not one that AWS would accept; see [`StartError`].
    pub fn start(config: RemoteConfig) -> Result<Self, StartError> {
        let RemoteConfig { sqs, access, queues, functions, mappings } = config;
        let visibility_timeout =
            |name: &str| queues.iter().find(|queue| queue.name == name).map(|queue| queue.visibility_timeout);
        let warnings = check_mappings(&mappings, &functions, visibility_timeout)?;
        let (region, account) = queues.first().map_or(("", ""), RemoteQueue::place);
        let functions = functions
            .iter()
            .map(|function| {
                let function = located(function, region, account, &access)?;
                Ok((function.config.name.clone(), Function::new(function)))
            })
            .collect::<Result<_, StartError>>()?;

        let (tally, events) = Tally::new();
        let clock = Clock::new(Speed::Times(1.0), SystemTime::now());
        let shared = Arc::new(Shared { sqs, functions, clock, tally: Mutex::new(tally) });
        let (stop, stopped) = watch::channel(false);
        let mut running = JoinSet::new();
        for config in mappings.into_iter().filter(|mapping| mapping.enabled) {
            if let Some(queue) = queues.iter().find(|queue| queue.name == config.queue) {
                let mapping = Mapping::new(Arc::clone(&shared), config, queue.clone(), stopped.clone());
                running.spawn(mapping.run());
            }
        }
        Ok(Self { shared, warnings, events: Some(events), stop, mappings: running })
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

    /// Ends polls, the functions' processes and the event stream, and returns the totals. An invocation that still runs
    /// is cut off, and its messages come back when their visibility timeout is over.
    ///
    /// # Panics
    /// A bug here made a mapping panic.
    pub async fn stop(mut self) -> Totals {
        self.stop.send_replace(true);
        while let Some(ended) = self.mappings.join_next().await {
            if let Err(panic) = ended.map_err(JoinError::try_into_panic) {
                std::panic::resume_unwind(panic.expect("no mapping is aborted"));
            }
        }
        for function in self.shared.functions.values() {
            let idle = function.pool().take_idle();
            for process in idle {
                process.end().await;
            }
        }
        self.shared.tally().end()
    }
}

impl Shared {
    fn tally(&self) -> std::sync::MutexGuard<'_, Tally> {
        self.tally.lock().expect("nothing panics while it holds the tally")
    }
}

impl Function {
    fn new(function: crate::runtime_api::Function) -> Self {
        let room = function.config.reserved_concurrency.unwrap_or(Semaphore::MAX_PERMITS);
        let room = Arc::new(Semaphore::new(room.min(Semaphore::MAX_PERMITS)));
        Self { pool: Mutex::new(Pool::new(function)), room }
    }

    fn pool(&self) -> std::sync::MutexGuard<'_, Pool> {
        self.pool.lock().expect("nothing panics while it holds the processes")
    }
}

/// The ids of messages.
type Ids<'message> = BTreeSet<&'message str>;
