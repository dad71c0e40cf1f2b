//! [`Sender`]: sends messages to one queue.

use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::Client;
use futures_util::stream::{self, Stream, StreamExt};
use redrive_sqs::is_fifo;

use crate::large::{AnyLargeBodies, LargeBodies};
use crate::message::ToMessage;
use crate::run::Run;
use crate::{SendError, Sent};

/// Sends messages to one queue. It is cheap to clone.
///
/// It sends again what failed for a moment, and what it got no answer for, for up to a [minute](Self::patience). So it sends
/// each message at least once, like SQS itself: [`Sent::may_be_twice`] says which messages may have arrived twice. A FIFO queue drops the
/// second one.
#[derive(Clone)]
pub struct Sender {
    pub(crate) client: Client,
    pub(crate) queue_url: Arc<str>,
    pub(crate) is_fifo: bool,
    pub(crate) concurrency: usize,
    pub(crate) patience: Duration,
    pub(crate) timeout: Duration,
    pub(crate) rate: Option<f64>,
    pub(crate) large: Option<Arc<dyn AnyLargeBodies>>,
    #[cfg(feature = "schedules")]
    schedules: Option<crate::Schedules>,
}

impl Sender {
    /// Creates a sender for the queue with this URL. Its calls are those of the client, but the sender repeats them itself.
    #[must_use]
    pub fn new(client: Client, queue_url: impl Into<String>) -> Self {
        let queue_url = queue_url.into();
        Self {
            client,
            is_fifo: is_fifo(&queue_url),
            queue_url: queue_url.into(),
            concurrency: 8,
            patience: Duration::from_secs(60),
            timeout: Duration::from_secs(10),
            rate: None,
            large: None,
            #[cfg(feature = "schedules")]
            schedules: None,
        }
    }

    /// The maximum number of calls at a time in [`send_all`](Self::send_all) and [`send_stream`](Self::send_stream), 1 to 1,000.
    /// Default: 8. Each call has at most ten messages and 1 MiB.
    #[must_use]
    pub fn concurrency(mut self, calls: usize) -> Self {
        self.concurrency = calls.clamp(1, 1_000);
        self
    }

    /// The time for which a message is sent again while SQS fails, throttles or does not answer. Default: 60 s. On a FIFO
    /// queue, at most 4 minutes, because SQS knows a message again for five.
    /// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-exactly-once-processing.html>
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        let most = if self.is_fifo { Duration::from_secs(240) } else { Duration::MAX };
        self.patience = patience.min(most);
        self
    }

    /// The time after which a call counts as not answered. Default: 10 s. The sender then makes half as many calls at a time.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The maximum number of messages a second, at least 0.001, those that are sent again among them. Default: no limit.
    #[must_use]
    pub fn rate(mut self, per_second: f64) -> Self {
        self.rate = Some(per_second.max(0.001));
        self
    }

    /// Stores bodies that are too large for SQS. Default: the sender refuses them. As many bodies as [calls](Self::concurrency) are
    /// stored at a time, for at most 5 minutes each; while there are so many, the sender takes no further messages.
    #[must_use]
    pub fn large_bodies(mut self, store: impl LargeBodies) -> Self {
        self.large = Some(Arc::new(store));
        self
    }

    /// Sends messages whose delay is too long for SQS by schedules. Default: the sender refuses them.
    #[cfg(feature = "schedules")]
    #[must_use]
    pub fn schedules(mut self, schedules: crate::Schedules) -> Self {
        self.schedules = Some(schedules);
        self
    }

    /// Returns the delay of a message that needs a schedule, if there are schedules.
    #[cfg(feature = "schedules")]
    pub(crate) fn schedule_of(&self, message: &crate::NewMessage) -> Option<(crate::Schedules, Duration)> {
        let delay = message.delay.filter(|delay| !delay.is_zero())?;
        // A standard queue knows no ids, but a schedule does.
        let needs_one = self.is_fifo || delay > redrive_sqs::LONGEST_DELAY || message.deduplication.is_some();
        Some((self.schedules.clone()?, delay)).filter(|_| needs_one)
    }

    /// Sends one message, and waits for SQS to confirm it.
    ///
    /// # Errors
    /// SQS has not confirmed the message. Only [`SendError::Unconfirmed`] means that it may have been sent.
    pub async fn send(&self, message: impl ToMessage) -> Result<Sent, SendError> {
        let message = stream::iter([message.to_message()]);
        Run::new(self.clone(), message, pending()).next().await.expect("a message has a result")
    }

    /// Sends all messages, and returns their results in the same order. Messages of a FIFO group are sent one after the other. If one
    /// of them is not sent, those behind it are not tried ([`SendError::Behind`]).
    pub async fn send_all<M>(&self, messages: impl IntoIterator<Item = M>) -> Vec<Result<Sent, SendError>>
    where
        M: ToMessage,
    {
        // Written one by one, as the calls need them.
        let messages = stream::iter(messages.into_iter().map(ToMessage::to_message));
        let mut run = Run::new(self.clone(), messages, pending());
        let mut results = Vec::new();
        while let Some(result) = run.next().await {
            results.push(result);
        }
        results
    }

    /// Sends the messages of a stream as they come, and returns a stream of their results in the same order. It holds at most 1,000
    /// messages. They are sent only while the results are taken. A message waits for others only as long as a call is under way.
    pub fn send_stream<S>(&self, messages: S) -> impl Stream<Item = Result<Sent, SendError>> + use<S>
    where
        S: Stream<Item: ToMessage> + Unpin,
    {
        self.send_stream_until(messages, pending())
    }

    /// Does the same until `stop` completes, such as after a signal. Then it takes no further messages, and waits for the answers to calls
    /// under way, for up to 5 s. The results of all messages that it had taken follow; what was not tried is [`SendError::Stopped`].
    pub fn send_stream_until<S, F>(
        &self,
        messages: S,
        stop: F,
    ) -> impl Stream<Item = Result<Sent, SendError>> + use<S, F>
    where
        S: Stream<Item: ToMessage> + Unpin,
        F: Future<Output = ()> + Unpin,
    {
        let run = Run::new(self.clone(), messages.map(ToMessage::to_message), stop);
        stream::unfold(run, async |mut run| run.next().await.map(|result| (result, run)))
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("queue_url", &self.queue_url).finish_non_exhaustive()
    }
}
