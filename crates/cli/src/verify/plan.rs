//! The messages of `redrive verify`: what is sent, and what must happen to each. Pure.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The visibility timeout of the queues.
pub(super) const VISIBILITY: Duration = Duration::from_secs(6);

/// The time of a slow handler, which the worker has to extend the visibility timeout for.
pub(super) const SLOW: Duration = Duration::from_secs(8);

/// The time of every other handler.
pub(super) const QUICK: Duration = Duration::from_millis(30);

/// The delay after the first failed attempt. It is longer than the visibility timeout, so a delay that SQS ignores is seen.
pub(super) const DELAY: Duration = Duration::from_secs(8);

/// The delay after each further attempt.
pub(super) const NEXT_DELAY: Duration = Duration::from_secs(1);

/// Message groups of the FIFO queue.
const GROUPS: usize = 20;

/// One in so many messages of the FIFO queue is sent twice with the same deduplication id.
const REPEATED: usize = 20;

/// What the handler does with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Job {
    /// Succeeds.
    Done,
    /// Succeeds after more than the visibility timeout.
    Slow,
    /// Fails in its first attempt.
    Retried,
    /// Fails in each attempt, so the redrive policy moves it.
    Failed,
    /// Is rejected, so redrive moves it.
    Rejected,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Planned {
    pub(super) number: usize,
    pub(super) job: Job,
    /// The message group; a message without one is for the standard queue.
    pub(super) group: Option<usize>,
}

#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) messages: Vec<Planned>,
    /// The maxReceiveCount of both queues.
    pub(super) max_receive_count: u32,
}

impl Job {
    fn of(number: usize) -> Self {
        // An odd divisor, so that each queue gets every job.
        match number % 51 {
            7 | 31 => Self::Retried,
            13 => Self::Failed,
            22 => Self::Rejected,
            40 => Self::Slow,
            _ => Self::Done,
        }
    }

    pub(super) const fn becomes_letter(self) -> bool {
        matches!(self, Self::Failed | Self::Rejected)
    }
}

impl Plan {
    /// Plans so many messages, a quarter of them for the FIFO queue.
    pub(super) fn new(messages: usize, kills: u32) -> Self {
        let fifo = |number: usize| (number % 4 == 3).then_some(number / 4 % GROUPS);
        let planned = |number| Planned { number, job: Job::of(number), group: fifo(number) };
        // Each kill may cost a message one delivery.
        Self { messages: (0..messages).map(planned).collect(), max_receive_count: kills + 4 }
    }

    /// Returns the message with this body, if it is unchanged.
    pub(super) fn find(&self, body: &str) -> Option<&Planned> {
        let read: Planned = serde_json::from_str(body).ok()?;
        self.messages.get(read.number).filter(|planned| planned.body() == body)
    }
}

impl Planned {
    pub(super) fn body(&self) -> String {
        serde_json::to_string(self).expect("it has no map")
    }

    /// Returns true if this is the value of its attribute.
    pub(super) fn has(&self, attribute: Option<&str>) -> bool {
        attribute == Some(&*self.number.to_string())
    }

    pub(super) fn is_sent_twice(&self) -> bool {
        self.group.is_some() && (self.number / 4).is_multiple_of(REPEATED)
    }
}
