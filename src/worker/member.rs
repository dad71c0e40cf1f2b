//! A consumer with its queue: the worker of one queue.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock")]

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use redrive_observers::protection::ProtectionShare;
use redrive_observers::vitals::Vitals;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};
use tracing::warn;

use super::calls;
use super::places::SharedPlaces;
use super::queue::SourceQueue;
use super::worker_loop::{Worker, WorkerLoop};
use crate::aws::Sqs;
use crate::consumer::{Consumer, Setup};
use crate::error::{Error, Kind};
use crate::handler::Handler;
use crate::lambda::LambdaShell;
use crate::runners::{AnyHandler, Input};
use crate::settings::{InvalidSetting, QueueUrl, Value};
use crate::telemetry::{log, metrics};
use redrive_engine::Receiving;

/// The time that the store of `once`, hooks, the observer and metrics have together at the end. Settling has 3 s after the
/// drain. After a drain of 25 s and 5 s more, ECS and Kubernetes kill the process.
const TO_END: Duration = Duration::from_millis(1_500);

/// A consumer of any handler.
pub(super) struct Member {
    pub(super) url: String,
    pub(super) weight: usize,
    pub(super) setup: Setup,
    pub(super) vitals: Arc<Vitals>,
    handler: Arc<dyn AnyHandler>,
}

/// What a worker has from the other workers of its process.
pub(super) struct Surroundings {
    /// The names of the signals that arrive.
    pub(super) signals: UnboundedReceiver<&'static str>,
    pub(super) protection: Option<ProtectionShare>,
    pub(super) places: Option<SharedPlaces>,
    /// True if the process has no other worker.
    pub(super) is_alone: bool,
}

/// Marks a worker as ended, also if its future is dropped.
struct Ended<'a>(&'a Vitals);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.ended();
    }
}

impl Member {
    pub(super) fn new<H, M>(url: String, weight: usize, consumer: Consumer<H, M>, vitals: Arc<Vitals>) -> Self
    where
        H: Handler<M>,
        M: Input,
    {
        Self { url, weight, vitals, handler: consumer.any_handler(), setup: consumer.setup }
    }

    /// Checks the settings that need no call.
    pub(super) fn check(&self) -> Result<(), Error> {
        QueueUrl::new("queue URL", self.url.clone())?;
        self.sqs().map(|_| ())
    }

    fn sqs(&self) -> Result<&Sqs, Error> {
        let missing =
            || InvalidSetting::new("SQS client", "not set", "one from Consumer::connect or Consumer::sqs");
        Ok(self.setup.sqs.as_ref().ok_or_else(missing)?)
    }

    /// Polls the queue until a signal or a fault ends it. Returns true if handlers were canceled.
    pub(super) async fn poll(&self, with: Surroundings) -> Result<bool, Error> {
        let _ended = Ended(&self.vitals);
        let Self { url, setup, vitals, handler, .. } = self;
        let sqs = self.sqs()?;
        let Surroundings { mut signals, protection, places, is_alone } = with;
        let mut stops = stream::poll_fn(move |context| signals.poll_recv(context)).chain(stream::pending());
        let attributes = tokio::select! {
            biased;
            Some(_) = stops.next() => return Ok(false),
            attributes = calls::attributes(sqs, url) => attributes?,
        };
        let (queue, settings) = SourceQueue::new(url, &attributes, &setup.settings)?;
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
        if setup.tokens.is_some() && settings.rate.is_none() {
            return Err(InvalidSetting::new(
                "rate",
                "not set",
                "a rate, because Consumer::share_rate is set",
            )
            .into());
        }
        places.iter().for_each(|places| places.limit(settings.concurrency()));
        log::settings(&settings);
        vitals.is_ready();
        let shell = LambdaShell { settings: &settings, ..setup.shell() };
        let receiving = Receiving {
            is_fifo: queue.is_fifo,
            visibility: queue.visibility,
            concurrency: settings.concurrency(),
            slow: settings.adaptive_concurrency.as_deref().copied(),
            chunk: handler
                .is_bulk()
                .then_some((shell.chunks.messages, shell.chunks.bytes.unwrap_or(usize::MAX))),
            drain: settings.drain(),
            rate: settings.rate.as_deref().copied(),
            is_rate_shared: setup.tokens.is_some(),
            rate_of_key: settings.rate_of_key.as_deref().copied(),
        };
        let policy = shell.policy(&queue.arn, settings.dead_letter_queue_url.is_some());
        let worker = Worker {
            shell,
            handler,
            sqs,
            queue: &queue,
            vitals,
            protection,
            places,
            tokens: setup.tokens.as_deref(),
            one_of_several: (!is_alone).then_some(url),
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
        let mut worker_loop = WorkerLoop::new(worker, policy);
        let (ends, ended) = oneshot::channel();
        let mut publishing =
            pin!(metrics::publish_minutes(vitals, &settings, setup.cloudwatch.as_ref(), ended));
        let end = tokio::select! {
            end = worker_loop.run(&mut stops) => end,
            () = &mut publishing => unreachable!("the worker has not ended"),
        };
        worker_loop.leave();
        if !matches!(end, Err(Error(Kind::AtOnce(_)))) {
            let until = Instant::now() + TO_END;
            let _ = ends.send(until);
            let reporting = async {
                worker_loop.finish(&mut stops).await;
                shell.flush_hooks().await;
            };
            let _ = timeout_at(until, async { tokio::join!(publishing, reporting) }).await;
        }
        tracing::info!(
            queue = url,
            error = end.as_ref().err().map(tracing::field::display),
            "the worker has ended"
        );
        end
    }
}
