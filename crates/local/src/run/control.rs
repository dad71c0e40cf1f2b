//! Observes and controls a run: its clock, its messages, and their totals.

use std::sync::Arc;
use std::time::Duration;

use super::start::checked;
use super::{StartError, World};
use crate::clock::Speed;
use crate::protocol::AwsError;
use crate::queue::{Counts, Letter, NewMessage};
use crate::sqs::{ResendError, SentMessage};

/// Observes and controls a running [`Local`](super::Local). Clones control the same one. Once it has stopped, calls have no
/// effect.
#[derive(Debug, Clone)]
pub struct Control {
    world: Arc<World>,
}

/// A reading of the clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockReading {
    /// Simulated time since the start.
    pub at: Duration,
    /// Present number of simulated seconds per second: 1 while an invocation runs, at most 1 while clients have received
    /// messages in hand (for ten minutes after their last call about them), and 0 while time stands still, as it does between
    /// the jumps of [`Speed::Max`].
    pub pace: f64,
    /// Speed of time while no invocation runs.
    pub speed: Speed,
    /// True if the clock is held, so that time stands still instead.
    pub held: bool,
}

/// A summary of everything at one moment.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Vitals {
    /// Time of the summary, in simulated time since the start.
    pub at: Duration,
    /// Numbers of messages in each requested queue, or None if it does not exist.
    pub queues: Vec<Option<Counts>>,
    /// The sum of the metric `WorkerErrors` in all namespaces.
    pub worker_errors: f64,
    /// The sum of the metric `Outages` in all namespaces.
    pub outages: f64,
}

impl Control {
    pub(super) fn new(world: Arc<World>) -> Self {
        Self { world }
    }

    /// Sends a message, as [`Local::send`](super::Local::send).
    ///
    /// # Errors
    /// Returns SQS's error if the queue does not exist or refuses the message.
    pub fn send(&self, queue: &str, message: NewMessage) -> Result<String, AwsError> {
        self.world.act(|state, now| {
            let sent = state.account.sqs.send(queue, message, now)?;
            state.keep_queues(now);
            Ok(sent.message_id)
        })
    }

    /// Sends the first visible message of a queue that `is_it` accepts to another queue with changes, and deletes it: both at
    /// once, or neither. Returns the new id.
    ///
    /// # Errors
    /// Returns an error if there is no such message, or if the other queue refuses it.
    pub fn resend(
        &self,
        from: &str,
        to: &str,
        is_it: impl Fn(&Letter<'_>) -> bool,
        change: impl FnOnce(&Letter<'_>, &mut NewMessage),
    ) -> Result<String, ResendError> {
        self.world.act(|state, now| {
            let resent = state.account.sqs.resend(from, to, is_it, change, now);
            state.keep_queues(now);
            resent
        })
    }

    /// Starts to keep copies of the latest sent messages, up to this many bytes.
    pub fn keep_messages(&self, most_bytes: usize) {
        self.world.act(|state, _| state.account.sqs.archive.open(most_bytes));
    }

    /// Returns a message as it was sent, even if it has left its queue, if a copy was kept.
    #[must_use]
    pub fn message(&self, message_id: &str) -> Option<SentMessage> {
        self.world.act(|state, _| state.account.sqs.archive.get(message_id).cloned())
    }

    /// Returns the latest kept message that `is_it` accepts, given its id and the message.
    #[must_use]
    pub fn find_message(&self, is_it: impl Fn(&str, &SentMessage) -> bool) -> Option<SentMessage> {
        self.world.act(|state, _| state.account.sqs.archive.find(is_it).cloned())
    }

    /// Returns a summary of these queues and of the metrics at one moment.
    #[must_use]
    pub fn vitals(&self, queues: &[String]) -> Vitals {
        self.world.act(|state, now| Vitals {
            at: self.world.since_start(now),
            queues: queues.iter().map(|queue| state.account.counts(queue, now)).collect(),
            worker_errors: state.account.cloudwatch.sum(None, "WorkerErrors"),
            outages: state.account.cloudwatch.sum(None, "Outages"),
        })
    }

    /// Reads the clock.
    #[must_use]
    pub fn clock(&self) -> ClockReading {
        let (now, pace) = self.world.clock.pace();
        let (speed, held) = self.world.clock.setting();
        ClockReading { at: self.world.since_start(now), pace, speed, held }
    }

    /// Sets the speed of time while no invocation runs. A held clock stays held.
    ///
    /// # Errors
    /// Returns an error if the speed is not above 0, or too high.
    pub fn set_speed(&self, speed: Speed) -> Result<(), StartError> {
        self.world.clock.set(checked(speed)?, self.world.clock.setting().1);
        Ok(())
    }

    /// Holds the clock, so that no message returns. Running invocations continue, and sent messages are delivered.
    pub fn hold(&self) {
        self.world.clock.set(self.world.clock.setting().0, true);
    }

    /// Lets time pass again.
    pub fn release(&self) {
        self.world.clock.set(self.world.clock.setting().0, false);
    }

    /// Skips waiting until this much time has passed, at any speed and even while the clock is held.
    pub async fn skip(&self, time: Duration) {
        self.world.clock.skip(time).await;
    }
}
