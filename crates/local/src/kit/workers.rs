//! Workers: processes that poll a queue themselves.

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::mapping::waiting;
use super::{Queue, clock};
use crate::sqs::QueueEvent;

/// Longest run. A longer one would probably never end.
const LONGEST_RUN: Duration = Duration::from_secs(30 * 86_400);

/// Most events of a run. One with more would probably never end.
const MOST_EVENTS: usize = 100_000;

/// A future that completes when a worker should end, like SIGTERM for a process.
pub type Stop = Pin<Box<dyn Future<Output = ()> + Send>>;

/// One or more workers that poll a queue. They run only while one of these methods is awaited.
#[must_use = "workers run only while they are awaited"]
pub struct Workers<'worker> {
    queue: Queue,
    count: usize,
    worker: Box<dyn Fn(String, Stop) -> Run<'worker> + 'worker>,
}

type Run<'worker> = Pin<Box<dyn Future<Output = Result<(), String>> + 'worker>>;

/// The event that ends workers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    Idle,
    /// The kit stops them at this time.
    Stopped(Instant),
    Killed(Instant),
}

/// Messages that the workers of a run received, and neither deleted nor delayed since.
#[derive(Default)]
struct InHand {
    /// Index of the first event that is not counted yet.
    next_event: usize,
    messages: HashSet<String>,
}

impl InHand {
    fn has_any(&mut self, of: &Queue) -> bool {
        let state = of.aws.state();
        for (_, event) in &state.events[self.next_event..] {
            match event {
                QueueEvent::Received { queue, message_id, .. } if *queue == of.name => {
                    self.messages.insert(message_id.clone());
                }
                QueueEvent::VisibilityChanged { queue, message_id, .. }
                | QueueEvent::Deleted { queue, message_id }
                | QueueEvent::Moved { queue, message_id, .. }
                | QueueEvent::Expired { queue, message_id }
                    if *queue == of.name =>
                {
                    self.messages.remove(message_id);
                }
                _ => (),
            }
        }
        self.next_event = state.events.len();
        !self.messages.is_empty()
    }
}

impl Queue {
    /// Lets a worker poll this queue. The function gets the queue's URL and a [`Stop`]. After the stop, it shuts down and
    /// returns.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use redrive_local::kit::TestAws;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(async {
    /// let aws = TestAws::new();
    /// let queue = aws.queue("orders").create();
    /// let order = queue.send("tea");
    ///
    /// // Any poller will do. This one deletes what it receives, after a second.
    /// let worker = async |url: String, mut stop| {
    ///     let sqs = aws.sqs();
    ///     loop {
    ///         let poll = sqs.receive_message().queue_url(&url).wait_time_seconds(20);
    ///         let received = tokio::select! {
    ///             () = &mut stop => return Ok::<(), String>(()),
    ///             received = poll.send() => received.map_err(|error| error.to_string())?,
    ///         };
    ///         for message in received.messages() {
    ///             tokio::time::sleep(Duration::from_secs(1)).await;
    ///             let delete = sqs.delete_message().queue_url(&url).set_receipt_handle(message.receipt_handle.clone());
    ///             delete.send().await.map_err(|error| error.to_string())?;
    ///         }
    ///     }
    /// };
    /// queue.worked_by(worker).until_idle().await;
    /// assert_eq!(order.done().after, Duration::from_secs(1));
    /// # });
    /// ```
    pub fn worked_by<'worker, X: fmt::Display>(
        &self,
        worker: impl AsyncFn(String, Stop) -> Result<(), X> + 'worker,
    ) -> Workers<'worker> {
        let worker = std::rc::Rc::new(worker);
        let worker = move |url, stop| -> Run<'worker> {
            let worker = std::rc::Rc::clone(&worker);
            Box::pin(async move { worker(url, stop).await.map_err(|error| error.to_string()) })
        };
        Workers { queue: self.clone(), count: 1, worker: Box::new(worker) }
    }
}

impl Workers<'_> {
    /// Sets the number of workers that poll the queue at the same time: 1 by default.
    pub fn workers(mut self, count: usize) -> Self {
        self.count = count;
        self
    }

    /// Runs until the queue is empty. Then stops the workers, and waits until they have ended.
    ///
    /// # Panics
    /// Panics if a worker returns an error or returns before the stop, if the run takes more than 30 days or more than
    /// 100,000 events of messages (sent, received, delayed or deleted), or if the test's runtime has several threads.
    pub async fn until_idle(&mut self) {
        self.run(Until::Idle).await;
    }

    /// Runs for this time. Then stops the workers, as SIGTERM does, and waits until they have ended.
    ///
    /// # Panics
    /// Panics as [`until_idle`](Self::until_idle) does.
    pub async fn run_for(&mut self, time: Duration) {
        self.run(Until::Stopped(Instant::now() + time)).await;
    }

    /// Runs for this time. Then drops the workers without a stop, as SIGKILL does.
    ///
    /// # Panics
    /// Panics as [`until_idle`](Self::until_idle) does.
    pub async fn killed_after(&mut self, time: Duration) {
        self.run(Until::Killed(Instant::now() + time)).await;
    }

    async fn run(&mut self, until: Until) {
        let _run = clock::Run::begin();
        let (aws, name) = (&self.queue.aws, &self.queue.name);
        let (began, events) = (Instant::now(), aws.state().events.len());
        let (mut in_hand, mut handling) = (InHand { next_event: events, ..InHand::default() }, None);
        let mut changes = aws.shared.changes.subscribe();
        let (stop_all, stopped) = watch::channel(false);
        let stop = || -> Stop {
            let mut stopped = stopped.clone();
            // The sender lives as long as the workers.
            Box::pin(async move { drop(stopped.wait_for(|is_stopped| *is_stopped).await) })
        };
        let mut running: FuturesUnordered<_> =
            (0..self.count).map(|_| (self.worker)(self.queue.url(), stop())).collect();
        while !running.is_empty() {
            changes.mark_unchanged();
            handling =
                in_hand.has_any(&self.queue).then(|| handling.take().unwrap_or_else(clock::Handling::begin));
            let now = Instant::now();
            let is_over = match until {
                Until::Idle => aws.with(|account, now| account.is_at_rest(name, now)),
                Until::Stopped(at) => at <= now,
                Until::Killed(at) if at <= now => return,
                Until::Killed(_) => false,
            };
            let is_stopped = *stop_all.borrow() || is_over;
            stop_all.send_if_modified(|stopped| !std::mem::replace(stopped, is_stopped) && is_stopped);
            let (elapsed, happened) = (began.elapsed(), aws.state().events.len() - events);
            assert!(
                elapsed < LONGEST_RUN && happened <= MOST_EVENTS,
                "queue {name} is not idle after {elapsed:?} and {happened} events, allowed: {LONGEST_RUN:?} and \
                 {MOST_EVENTS}: {}",
                waiting(&self.queue)
            );
            let next = match until {
                Until::Stopped(at) | Until::Killed(at) if !is_stopped => at,
                _ => began + LONGEST_RUN,
            };
            tokio::select! {
                biased;
                Some(ended) = running.next() => match ended {
                    Ok(()) if is_stopped => (),
                    Ok(()) => panic!("a worker of queue {name} ended before it was told to"),
                    Err(error) => panic!("a worker of queue {name} ended: {error}"),
                },
                _ = changes.changed() => (),
                () = sleep_until(next) => (),
            }
        }
    }
}

impl fmt::Debug for Workers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workers")
            .field("queue", &self.queue)
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}
