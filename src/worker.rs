//! A consumer as a worker: a process that polls the queue itself.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock")]

mod calls;
mod clock;
mod worker_loop;
mod exit;
mod queue;

use std::future::ready;
use std::io;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::OptionFuture;
use futures_util::stream::{self, Stream, StreamExt};
use redrive_observers::protection::Protection;
use redrive_observers::vitals::Vitals;
use redrive_observers::{health, stdout};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};
use tracing::warn;

use self::queue::SourceQueue;
use self::worker_loop::{Worker, WorkerLoop};
use crate::consumer::Consumer;
use crate::error::{Error, Kind};
use crate::handler::Handler;
use crate::lambda::{LambdaShell, Shutdown};
use crate::run;
use crate::runners::Input;
use crate::settings::{InvalidSetting, QueueUrl, Value};
use crate::telemetry::{log, metrics};
use redrive_engine::Receiving;
use redrive_executor::front;

/// The time that the store of `once`, hooks, the observer and metrics have together at the end. Settling has 3 s after the
/// drain. After a drain of 25 s and 5 s more, ECS and Kubernetes kill the process.
const TO_END: Duration = Duration::from_millis(1_500);

/// The time for writing the last lines of the log.
const TO_WRITE: Duration = Duration::from_millis(400);

impl<H, M> Consumer<H, M>
where
    H: Handler<M>,
    M: Input,
{
    /// Polls a queue in a process outside Lambda, until SIGTERM or SIGINT.
    ///
    /// Handlers run as under [`run`](Self::run), with the same results. While a handler runs, redrive extends the
    /// message's visibility timeout, up to SQS's 12 hours. At most [`concurrency`](Self::concurrency) messages are
    /// handled at a time.
    ///
    /// If you do not set the visibility timeout, the max receive count or the dead-letter queue, redrive reads them
    /// from the queue.
    ///
    /// A handler that blocks its thread delays neither leases nor receives nor other handlers. redrive replaces up to
    /// 16 blocked threads. If one more is blocked for 10 s, or after ten panics in a row, the worker ends.
    ///
    /// After a signal, the worker starts only messages on their last delivery. Handlers have the [`drain`](Self::drain) time to
    /// end, and then redrive cancels them. Messages that did not end, or were not started, return to the queue. A second signal
    /// ends the process at once.
    ///
    /// ```no_run
    /// use redrive::{Consumer, Failure};
    ///
    /// #[tokio::main]
    /// async fn main() -> Result<(), redrive::Error> {
    ///     Consumer::new(greet).work("https://sqs.eu-central-1.amazonaws.com/123456789012/names").await
    /// }
    ///
    /// async fn greet(name: String) -> Result<(), Failure> {
    ///     tracing::info!(name, "hello");
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// A setting is invalid. The queue does not exist or cannot be read. SQS did not confirm the delete or the delay of each
    /// message in time. A second signal arrived. The process cannot handle more messages.
    pub async fn work(self, queue_url: impl Into<String>) -> Result<(), Error> {
        self.work_when(ready(Ok(())), queue_url.into()).await
    }

    /// Works like [`work`](Self::work), but receives messages only after `is_ready` has ended.
    pub(crate) async fn work_when(
        self,
        is_ready: impl Future<Output = Result<(), String>> + Send + 'static,
        url: String,
    ) -> Result<(), Error> {
        run::start_log()?;
        stdout::worker_begins();
        let end = self.work_to_the_end(is_ready, url).await;
        stdout::worker_ends(TO_WRITE);
        end
    }

    async fn work_to_the_end(
        self,
        is_ready: impl Future<Output = Result<(), String>> + Send + 'static,
        url: String,
    ) -> Result<(), Error> {
        let stops = signals().map_err(|error| Error(Kind::Runtime(error.into())))?;
        let ended = front(self.setup.context(), false, |executor| async move {
            let consumer = self.hosted_by(executor, Arc::new(Shutdown::default()));
            let consumer = consumer.connected(Some(&url)).await?;
            Box::pin(consumer.attend(&url, stops, is_ready)).await
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

    /// Polls a queue in the calling task until `stop` is ready, and then shuts down as [`work`](Self::work) does. Use
    /// it in tests or in your own `main`. It handles no signals and sets up no log.
    ///
    /// Handlers run in the calling task unless [`workers`](Self::workers) are set. A handler that blocks the task
    /// blocks everything.
    ///
    /// ```no_run
    /// # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
    /// # async fn example(stop: impl Future<Output = ()> + Send) -> Result<(), redrive::Error> {
    /// let consumer = redrive::Consumer::new(place).connect().await?;
    /// consumer.work_until("https://sqs.eu-central-1.amazonaws.com/123456789012/orders", stop).await
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`work`](Self::work), or there is no SQS client, see [`connect`](Self::connect).
    pub async fn work_until(
        &self,
        queue_url: impl Into<String>,
        stop: impl Future<Output = ()> + Send,
    ) -> Result<(), Error> {
        let url = queue_url.into();
        self.setup.check_workers()?;
        let stop = Box::pin(stop);
        let stops = stream::once(async {
            stop.await;
            "stop"
        })
        .chain(stream::pending());
        self.attend(&url, Box::pin(stops), ready(Ok(()))).await.map(|_| ())
    }

    /// Runs the worker, and answers probes meanwhile.
    async fn attend(
        &self,
        url: &str,
        stops: impl Stream<Item = &'static str> + Send + Unpin,
        is_ready: impl Future<Output = Result<(), String>> + Send,
    ) -> Result<bool, Error> {
        let vitals = Vitals::new(redrive_sqs::queue_name(url));
        let served = match self.setup.settings.health {
            Some(address) => {
                let served = health::serve(address, &vitals);
                Some(served.map_err(|error| Error::worker(error.to_string()))?)
            }
            None => None,
        };
        tokio::select! {
            end = self.attend_to(url, stops, is_ready, &vitals) => end,
            Some(()) = OptionFuture::from(served) => unreachable!("it never ends"),
        }
    }

    async fn attend_to(
        &self,
        url: &str,
        mut stops: impl Stream<Item = &'static str> + Send + Unpin,
        is_ready: impl Future<Output = Result<(), String>> + Send,
        vitals: &Vitals,
    ) -> Result<bool, Error> {
        QueueUrl::new("queue URL", url.to_owned())?;
        let Some(sqs) = &self.setup.sqs else {
            return Err(InvalidSetting::new(
                "SQS client",
                "not set",
                "one from Consumer::connect or Consumer::sqs",
            )
            .into());
        };
        let agent = self.setup.agent_of_task();
        let protection = agent.as_deref().map(Protection::start).transpose().map_err(Error::worker)?;
        let attributes = async {
            is_ready.await.map_err(Error::worker)?;
            calls::attributes(sqs, url).await
        };
        let attributes = tokio::select! {
            biased;
            Some(_) = stops.next() => return Ok(false),
            attributes = attributes => attributes?,
        };
        let (queue, settings) = SourceQueue::new(url, &attributes, &self.setup.settings)?;
        let set = settings.max_receive_count.as_deref().copied();
        if let (Some(set), Some(policy)) = (set, attributes.policy)
            && set != policy.max_receive_count
        {
            warn!(
                REDRIVE_MAX_RECEIVE_COUNT = set,
                max_receive_count = policy.max_receive_count,
                "the setting differs from the queue's redrive policy"
            );
        }
        if self.setup.tokens.is_some() && settings.rate.is_none() {
            return Err(InvalidSetting::new(
                "rate",
                "not set",
                "a rate, because Consumer::share_rate is set",
            )
            .into());
        }
        log::settings(&settings);
        vitals.is_ready();
        let shell = LambdaShell { settings: &settings, ..self.setup.shell() };
        let receiving = Receiving {
            is_fifo: queue.is_fifo,
            visibility: queue.visibility,
            concurrency: settings.concurrency(),
            slow: settings.adaptive_concurrency.as_deref().copied(),
            chunk: M::IS_BULK.then_some((shell.chunks.messages, shell.chunks.bytes)),
            drain: settings.drain(),
            rate: settings.rate.as_deref().copied(),
            is_rate_shared: self.setup.tokens.is_some(),
            rate_of_key: settings.rate_of_key.as_deref().copied(),
        };
        let policy = shell.policy(&queue.arn, settings.dead_letter_queue_url.is_some());
        let worker = Worker {
            shell,
            handler: &self.handler,
            sqs,
            queue: &queue,
            vitals,
            protection,
            tokens: self.setup.tokens.as_deref(),
            receiving,
        };
        tracing::info!(
            queue = url,
            concurrency = settings.concurrency(),
            rate = settings.rate.as_deref().map(tracing::field::display),
            visibility_timeout = ?queue.visibility,
            max_receive_count = settings.max_receive_count.as_deref().copied(),
            dead_letter_queue = settings.dead_letter_queue_url.as_deref(),
            "the worker polls"
        );
        let mut worker_loop = WorkerLoop::<H, M>::new(worker, policy);
        let (ends, ended) = oneshot::channel();
        let cloudwatch = self.setup.cloudwatch.as_ref();
        let mut publishing = pin!(metrics::publish_minutes(vitals, &settings, cloudwatch, ended));
        let end = tokio::select! {
            end = worker_loop.run(&mut stops) => end,
            () = &mut publishing => unreachable!("the worker has not ended"),
        };
        if !matches!(end, Err(Error(Kind::AtOnce(_)))) {
            let until = Instant::now() + TO_END;
            let _ = ends.send(until);
            let reporting = async {
                let protection = worker_loop.finish(&mut stops).await;
                tokio::join!(shell.flush_hooks(), OptionFuture::from(protection.map(Protection::release)))
            };
            let _ = timeout_at(until, async { tokio::join!(publishing, reporting) }).await;
        }
        tracing::info!(error = end.as_ref().err().map(tracing::field::display), "the worker has ended");
        end
    }
}

/// The first signal that a worker of this process received. It ends later workers too.
#[cfg(unix)]
static SIGNALED: OnceLock<&str> = OnceLock::new();

/// Returns the names of the SIGTERM and SIGINT signals that arrive from now on, after the first one that an earlier worker received.
#[cfg(unix)]
fn signals() -> io::Result<impl Stream<Item = &'static str> + Send + Unpin> {
    use tokio::signal::unix::{SignalKind, signal};

    let each = |kind, name| -> io::Result<_> {
        let mut signal = signal(kind)?;
        let told = move |()| {
            SIGNALED.get_or_init(|| name);
            name
        };
        Ok(stream::poll_fn(move |context| signal.poll_recv(context).map(|came| came.map(told))))
    };
    let signals =
        stream::select(each(SignalKind::terminate(), "SIGTERM")?, each(SignalKind::interrupt(), "SIGINT")?);
    Ok(stream::iter(SIGNALED.get().copied()).chain(signals))
}

/// Returns the Ctrl-C events.
#[cfg(not(unix))]
fn signals() -> io::Result<impl Stream<Item = &'static str> + Send + Unpin> {
    let came = |()| async { tokio::signal::ctrl_c().await.ok().map(|()| ("Ctrl-C", ())) };
    Ok(Box::pin(stream::unfold((), came)))
}
