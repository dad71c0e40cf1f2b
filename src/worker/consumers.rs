//! [`Consumers`]: several consumers in one process, each with its queue.

use std::collections::HashSet;
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::OptionFuture;
use futures_util::stream::{self, FuturesUnordered, Stream, StreamExt};
use redrive_engine::Places;
use redrive_executor::{Executor, front};
use redrive_observers::protection::Protection;
use redrive_observers::vitals::WorkerGroup;
use redrive_observers::{health, stdout};
use redrive_sqs::BATCH_SIZE;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tracing::{Instrument, Span, error_span, info, warn};

use super::member::{Member, Surroundings};
use super::places::SharedPlaces;
use super::signals::signals;
use crate::consumer::{Consumer, warn_of_misspelled};
use crate::error::{Error, Kind};
use crate::handler::Handler;
use crate::lambda::Shutdown;
use crate::run;
use crate::runners::Input;
use crate::settings::InvalidSetting;

/// The largest concurrency.
const MOST: usize = *BATCH_SIZE.end() as usize;

/// The time for writing the last lines of the log.
const TO_WRITE: Duration = Duration::from_millis(400);

/// Several consumers that poll their queues in one process.
///
/// If one of them cannot continue, the others shut down as after a signal, and the process ends with its error.
///
/// With a shared [`concurrency`](Self::concurrency), queues have priorities: a weight each, or a
/// [strict order](Self::strict). Each queue always keeps one place, so no queue starves, and the first message of an idle
/// queue starts at once. Places that a queue does not need go to the others.
///
/// ```no_run
/// # async fn pay(order: String) -> Result<(), redrive::Failure> { Ok(()) }
/// # async fn mail(address: String) -> Result<(), redrive::Failure> { Ok(()) }
/// use redrive::{Consumer, Consumers};
///
/// #[tokio::main]
/// async fn main() -> Result<(), redrive::Error> {
///     let queues = "https://sqs.eu-central-1.amazonaws.com/123456789012";
///     Consumers::new()
///         .add_weighted(3, format!("{queues}/payments"), Consumer::new(pay))
///         .add(format!("{queues}/mails"), Consumer::new(mail))
///         .concurrency(40)
///         .work()
///         .await
/// }
/// ```
#[must_use = "it polls nothing until it works"]
#[derive(Default)]
pub struct Consumers {
    members: Vec<Member>,
    workers: Arc<WorkerGroup>,
    concurrency: Option<usize>,
    is_strict: bool,
}

impl Consumers {
    /// Creates a process without consumers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a consumer and its queue, with weight 1.
    pub fn add<H, M>(self, queue_url: impl Into<String>, consumer: Consumer<H, M>) -> Self
    where
        H: Handler<M>,
        M: Input,
    {
        self.add_weighted(1, queue_url, consumer)
    }

    /// Adds a consumer and its queue with this weight, 1 to 1,000. While all queues have messages, they share the
    /// [`concurrency`](Self::concurrency) by their weights.
    pub fn add_weighted<H, M>(
        mut self,
        weight: usize,
        queue_url: impl Into<String>,
        consumer: Consumer<H, M>,
    ) -> Self
    where
        H: Handler<M>,
        M: Input,
    {
        let url = queue_url.into();
        // Queues of two accounts or regions may have the same name.
        let name = redrive_sqs::queue_name(&url);
        let is_taken = self.members.iter().any(|member| redrive_sqs::queue_name(&member.url) == name);
        let vitals = self.workers.add(name, if is_taken { &url } else { name });
        self.members.push(Member::new(url, weight, consumer, vitals));
        self
    }

    /// The number of handlers that run at the same time for all queues together, at least one for each queue, at most 10,000.
    /// Default: each consumer has its own [`concurrency`](Consumer::concurrency), which otherwise limits its share, if it is set.
    pub const fn concurrency(mut self, handlers: usize) -> Self {
        self.concurrency = Some(handlers);
        self
    }

    /// Prefers queues in the order in which they were added: a queue gets more than one place only if the queues before
    /// it do not need it. Default: queues share by weight.
    pub const fn strict(mut self) -> Self {
        self.is_strict = true;
        self
    }

    /// Returns the health and the metrics of these workers, for your own routes.
    #[must_use]
    pub fn monitor(&self) -> Monitor {
        Monitor { workers: Arc::clone(&self.workers) }
    }

    /// Polls all queues until SIGTERM or SIGINT, as [`Consumer::work`] does for one.
    ///
    /// # Errors
    /// The errors of [`Consumer::work`], for any of the consumers. No consumer was added, or two for the same queue. The
    /// concurrency or a weight is not in its range, or there are weights or a strict order without a shared
    /// concurrency.
    pub async fn work(self) -> Result<(), Error> {
        self.work_when(ready(Ok(()))).await
    }

    /// Works like [`work`](Self::work), but receives messages only after `is_ready` has ended.
    pub(crate) async fn work_when(
        self,
        is_ready: impl Future<Output = Result<(), String>> + Send + 'static,
    ) -> Result<(), Error> {
        run::start_log()?;
        stdout::worker_begins();
        let end = self.work_to_the_end(is_ready).await;
        stdout::worker_ends(TO_WRITE);
        end
    }

    async fn work_to_the_end(
        mut self,
        is_ready: impl Future<Output = Result<(), String>> + Send + 'static,
    ) -> Result<(), Error> {
        self.check()?;
        let signals = signals().map_err(|error| Error(Kind::Runtime(error.into())))?;
        let context = match &self.members[..] {
            [only] => only.setup.context(),
            _ => Handle::current(),
        };
        let ended = front(context, true, |executor| async move {
            // The front ends when the executor is dropped, which no consumer may use.
            let executor = Arc::new(executor);
            self.connect(&executor).await?;
            Box::pin(self.poll(signals, is_ready)).await
        });
        let end = ended.await.map_err(|error| Error(Kind::Runtime(error.into())))?.unwrap_or_else(|| {
            Err(Error::worker("the worker panicked; standard error says where".to_owned()))
        });
        match end {
            Ok(was_canceled) => {
                // A canceled handler may have left something on the runtime that blocks its shutdown.
                if was_canceled {
                    run::exit_in_time(None);
                }
                Ok(())
            }
            Err(error) => {
                run::exit_in_time(Some(error.to_string()));
                Err(error)
            }
        }
    }

    /// Polls all queues in the calling task until `stop` is ready, as [`Consumer::work_until`] does for one. Call
    /// [`Consumer::connect`] on each consumer first.
    ///
    /// # Errors
    /// The errors of [`work`](Self::work), or a consumer has no SQS client.
    pub async fn work_until(mut self, stop: impl Future<Output = ()> + Send) -> Result<(), Error> {
        self.check()?;
        self.members.iter().try_for_each(|member| member.setup.check_workers())?;
        let stop = Box::pin(async {
            stop.await;
            "stop"
        });
        let stops = stream::once(stop).chain(stream::pending());
        self.poll(stops, ready(Ok(()))).await.map(|_| ())
    }

    /// Runs the handlers of all consumers on the same threads, unless the user has chosen others.
    async fn connect(&mut self, executor: &Arc<Executor>) -> Result<(), Error> {
        warn_of_misspelled();
        let (shutdown, is_only) = (Arc::new(Shutdown::default()), self.members.len() == 1);
        for Member { url, setup, .. } in &mut self.members {
            if is_only || !setup.has_workers() {
                setup.host_by(Arc::clone(executor), Arc::clone(&shutdown));
            }
            setup.connect(Some(url)).await?;
        }
        Ok(())
    }

    /// Polls all queues until the end, and answers probes meanwhile. Returns true if handlers were canceled.
    async fn poll(
        &mut self,
        signals: impl Stream<Item = &'static str> + Send + Unpin,
        is_ready: impl Future<Output = Result<(), String>> + Send,
    ) -> Result<bool, Error> {
        let places = self.share_places();
        let health = self.only("health", |member| member.setup.settings.health)?;
        let served = health.map(|address| health::serve(address, &self.workers));
        let served = served.transpose().map_err(|error| Error::worker(error.to_string()))?;
        tokio::select! {
            end = self.poll_all(signals, is_ready, places) => end,
            Some(()) = OptionFuture::from(served) => unreachable!("it never ends"),
        }
    }

    async fn poll_all(
        &self,
        mut signals: impl Stream<Item = &'static str> + Send + Unpin,
        is_ready: impl Future<Output = Result<(), String>> + Send,
        places: Vec<Option<SharedPlaces>>,
    ) -> Result<bool, Error> {
        self.members.iter().try_for_each(Member::check)?;
        let protected =
            self.members.iter().find(|member| member.setup.settings.task_protection == Some(true));
        let agent = protected.and_then(|member| member.setup.agent_of_task());
        let protection = agent.as_deref().map(Protection::start).transpose().map_err(Error::worker)?;
        tokio::select! {
            biased;
            Some(_) = signals.next() => return Ok(false),
            is_ready = is_ready => is_ready.map_err(Error::worker)?,
        }
        let (mut stops, mut workers) = (Stops::default(), FuturesUnordered::new());
        for (member, places) in self.members.iter().zip(places) {
            let (stop, signals) = unbounded_channel();
            stops.workers.push(stop);
            let protection = protection.as_ref().map(Protection::share);
            let is_alone = self.members.len() == 1;
            let span = if is_alone { Span::none() } else { error_span!("worker", queue = member.url) };
            let surroundings = Surroundings { signals, protection, places, is_alone };
            workers.push(member.poll(surroundings).instrument(span));
        }
        let working = async {
            let mut end = Ok(false);
            loop {
                tokio::select! {
                    biased;
                    Some(signal) = signals.next() => stops.signal(signal),
                    ended = workers.next() => match ended {
                        Some(Ok(was_canceled)) => end = end.map(|others| others || was_canceled),
                        Some(Err(error)) => {
                            stops.fail();
                            let is_first = end.is_ok() || matches!(error.0, Kind::AtOnce(_));
                            let other = if is_first { std::mem::replace(&mut end, Err(error)) } else { Err(error) };
                            if let Err(error) = other {
                                warn!(%error, "another worker ended with an error");
                            }
                        }
                        None => break,
                    },
                }
            }
            if matches!(end, Err(Error(Kind::AtOnce(_)))) { Err(end) } else { Ok(end) }
        };
        let released = async { Ok(OptionFuture::from(protection.map(Protection::release)).await) };
        match tokio::try_join!(working, released) {
            Ok((end, _)) | Err(end) => end,
        }
    }

    /// Checks the settings of all consumers together.
    fn check(&self) -> Result<(), InvalidSetting> {
        let queues = self.members.len();
        if queues == 0 {
            return Err(InvalidSetting::new("the number of consumers", 0, "at least 1"));
        }
        let mut urls = HashSet::new();
        if let Some(twice) = self.members.iter().find(|member| !urls.insert(&member.url)) {
            return Err(InvalidSetting::new("queue URL", &twice.url, "a different one for each consumer"));
        }
        if let Some(member) = self.members.iter().find(|member| !(1..=1_000).contains(&member.weight)) {
            let name = format!("the weight of {}", member.url);
            return Err(InvalidSetting::new(&name, member.weight, "1 to 1000"));
        }
        let has_priorities = self.is_strict || self.members.iter().any(|member| member.weight != 1);
        let name = "the concurrency of Consumers";
        match self.concurrency {
            Some(handlers) if handlers < queues || handlers > MOST => {
                let allowed = format!("{queues} to {MOST}, at least one for each queue");
                Err(InvalidSetting::new(name, handlers, allowed))
            }
            None if has_priorities => {
                let allowed = "a number of handlers, because queues with priorities share it";
                Err(InvalidSetting::new(name, "not set", allowed))
            }
            _ => Ok(()),
        }
    }

    /// Returns the part of each worker, if they share their places.
    fn share_places(&mut self) -> Vec<Option<SharedPlaces>> {
        let Some(concurrency) = self.concurrency else {
            return self.members.iter().map(|_| None).collect();
        };
        for member in &mut self.members {
            member.setup.settings.default_concurrency(concurrency);
        }
        let queues = self.members.iter().map(|member| redrive_sqs::queue_name(&member.url));
        info!(
            concurrency,
            queues = queues.collect::<Vec<_>>().join(", "),
            "the workers share their concurrency"
        );
        let weights = self.members.iter().map(|member| member.weight);
        let places = Places::new(concurrency, self.is_strict, weights);
        SharedPlaces::of(places, self.members.len()).map(Some).collect()
    }

    /// Returns a setting of the process, which all consumers that have it must have alike.
    fn only<T: PartialEq + std::fmt::Display>(
        &self,
        name: &str,
        setting: impl Fn(&Member) -> Option<T>,
    ) -> Result<Option<T>, InvalidSetting> {
        let mut values = self.members.iter().filter_map(setting);
        let first = values.next();
        match values.find(|value| Some(value) != first.as_ref()) {
            Some(other) => Err(InvalidSetting::new(name, other, "the same for all consumers of a process")),
            None => Ok(first),
        }
    }
}

impl std::fmt::Debug for Consumers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let urls: Vec<_> = self.members.iter().map(|member| &member.url).collect();
        f.debug_struct("Consumers").field("queues", &urls).finish_non_exhaustive()
    }
}

/// Passes signals to workers, and ends the others when one fails.
#[derive(Default)]
struct Stops {
    workers: Vec<UnboundedSender<&'static str>>,
    has_failed: bool,
    is_signaled: bool,
}

impl Stops {
    fn signal(&mut self, signal: &'static str) {
        // The first signal changes nothing for workers that end because of another: a second one would end them at once.
        if std::mem::replace(&mut self.is_signaled, true) || !self.has_failed {
            self.send(signal);
        }
    }

    fn fail(&mut self) {
        if !std::mem::replace(&mut self.has_failed, true) && !self.is_signaled {
            self.send("the error of another worker");
        }
    }

    fn send(&self, signal: &'static str) {
        for worker in &self.workers {
            // A worker that has ended does not listen.
            let _ = worker.send(signal);
        }
    }
}

/// The health and the metrics of the workers of a [`Consumers`].
#[derive(Debug, Clone)]
pub struct Monitor {
    workers: Arc<WorkerGroup>,
}

impl Monitor {
    /// Returns true if all workers have reached their queues, and none shuts down or waits for a dependency that is down:
    /// the condition of `/readyz`.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.workers.is_ready()
    }

    /// Returns true unless a worker is stuck: the condition of `/livez`. Restart the process if it is false.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.workers.is_alive()
    }

    /// Returns the metrics of all workers in the text format of OpenMetrics, with a label for the queue: the answer of
    /// `/metrics`. Its content type is `application/openmetrics-text; version=1.0.0; charset=utf-8`.
    #[must_use]
    pub fn metrics_text(&self) -> String {
        self.workers.open_metrics()
    }
}
