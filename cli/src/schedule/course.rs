//! A message that fails every time, from its sending to its end. Pure.

use std::time::Duration;

use redrive::LastDelivery;
use redrive::tools::{Retries, Retry};

/// More than any redrive policy allows. What comes later is counted and not kept.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html>
const KEPT: usize = 1_000;

/// What the end depends on.
#[derive(Debug, Clone)]
pub(super) struct Terms {
    pub(super) rule: Rule,
    /// What the queue's redrive policy says; none without a policy.
    pub(super) max_receive_count: Option<u32>,
    pub(super) is_fifo: bool,
    pub(super) retention: Duration,
    /// Of the dead-letter queue; none if it is not known.
    pub(super) dead_letter_retention: Option<Duration>,
    /// How long each attempt takes to fail.
    pub(super) attempt_duration: Duration,
}

/// What decides when a message that failed comes back.
#[derive(Debug, Clone)]
pub(super) enum Rule {
    /// The function runs redrive: what it believes and does.
    Redrive(Retries),
    /// It does not, so the message is visible again when the queue's visibility timeout ends, counted from its receive.
    /// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html>
    VisibilityTimeout {
        timeout: Duration,
        /// Why so, in words for people.
        since: String,
    },
}

impl Rule {
    /// How long a message is invisible after an attempt that took `lasted`; none if redrive dead-letters it.
    fn delay(&self, attempt: u32, random: f64, lasted: Duration) -> Option<Duration> {
        match self {
            // Lambda has no function whose timeout is shorter, and takes no shorter visibility timeout.
            Self::VisibilityTimeout { timeout, .. } => {
                Some((*timeout).max(Duration::from_secs(1)).saturating_sub(lasted))
            }
            Self::Redrive(retries) => match retries.after(attempt, random) {
                Retry::In(delay) => Some(delay),
                Retry::Never(LastDelivery::RedrivePolicy) => Some(Duration::ZERO),
                _ => None,
            },
        }
    }
}

/// What becomes of the message, all times counted from its sending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Course {
    pub(super) attempts: Vec<Attempt>,
    /// How many there are, with those that are not kept.
    pub(super) count: usize,
    pub(super) end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Attempt {
    pub(super) at: Duration,
    /// How long it is invisible when it has failed; none if redrive dead-letters it.
    pub(super) delay: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    DeadLetter {
        at: Duration,
        by: LastDelivery,
        /// When the letter is gone too, if that is known.
        letter_expires: Option<Duration>,
    },
    /// It is deleted by SQS, and nobody has a letter.
    Expired { at: Duration },
}

impl End {
    pub(super) const fn at(&self) -> Duration {
        match self {
            Self::DeadLetter { at, .. } | Self::Expired { at } => *at,
        }
    }
}

impl Course {
    /// Follows the message. `random` places each delay within its jitter, from 0 to 1.
    pub(super) fn of(terms: &Terms, random: f64) -> Self {
        let mut attempts = Vec::new();
        let mut now = Duration::ZERO;
        // A retention ends this, since without a redrive policy no delay is 0.
        for attempt in 1_u32.. {
            let end = if now >= terms.retention {
                Some(End::Expired { at: terms.retention })
            } else if terms.max_receive_count.is_some_and(|max| attempt > max) {
                Some(terms.dead(now, LastDelivery::RedrivePolicy))
            } else {
                None
            };
            if let Some(end) = end {
                return Self { attempts, count: attempt as usize - 1, end };
            }
            let delay = terms.rule.delay(attempt, random, terms.attempt_duration);
            if attempts.len() < KEPT {
                attempts.push(Attempt { at: now, delay });
            }
            let failed = now + terms.attempt_duration;
            let Some(delay) = delay else {
                let end = terms.dead(failed, LastDelivery::DeadLetter);
                return Self { attempts, count: attempt as usize, end };
            };
            now = failed + delay;
        }
        unreachable!("a retention is shorter than four billion seconds")
    }
}

impl Terms {
    /// On a standard queue a letter that SQS moves keeps the time at which it was sent. On a FIFO queue it counts anew, and
    /// what redrive writes is a new message everywhere.
    /// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html>
    fn dead(&self, at: Duration, by: LastDelivery) -> End {
        let sent = if by == LastDelivery::RedrivePolicy && !self.is_fifo { Duration::ZERO } else { at };
        End::DeadLetter {
            at,
            by,
            letter_expires: self.dead_letter_retention.map(|retention| sent + retention),
        }
    }
}

#[cfg(test)]
mod tests;
