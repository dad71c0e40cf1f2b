//! Follows a message that always fails, from its sending to its end. Pure.

use std::time::Duration;

use anyhow::{anyhow, bail};
use redrive::LastDelivery;
use redrive::tools::{Retries, Retry};
use redrive_sqs::is_fifo;

use super::known::{Consumer, Flags, Known};
use crate::span;

/// Attempts that are kept, more than any redrive policy allows. Later ones are only counted.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html>
const KEPT: usize = 1_000;

/// The courses of a message with the shortest, usual and longest delays.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    pub(super) known: Known,
    pub(super) is_fifo: bool,
    /// Duration of each failing attempt.
    pub(super) attempt_duration: Duration,
    /// The course with the shortest delays that the jitter allows.
    pub(super) shortest: Course,
    pub(super) usual: Course,
    pub(super) longest: Course,
}

/// The attempts and the end of the message, with all times since its sending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Course {
    pub(super) attempts: Vec<Attempt>,
    /// Number of attempts, with those that are not kept.
    pub(super) count: usize,
    pub(super) end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Attempt {
    pub(super) at: Duration,
    /// Delay after the failure. None if redrive dead-letters the message.
    pub(super) delay: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    DeadLetter {
        at: Duration,
        by: LastDelivery,
        /// Time at which SQS deletes the letter, if known.
        letter_expires: Option<Duration>,
    },
    /// SQS deletes the message, and there is no letter.
    Expired { at: Duration },
}

/// An attempt, with the range that the jitter allows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) number: usize,
    pub(super) usual: Attempt,
    pub(super) earliest: Duration,
    /// Latest start. None if the message may be gone before.
    pub(super) latest: Option<Duration>,
    /// Shortest and longest delay. None if redrive dead-letters the message.
    pub(super) delays: Option<(Duration, Duration)>,
}

impl Schedule {
    /// # Errors
    /// A flag or a variable of the function is invalid.
    pub(super) fn of(known: Known, flags: &Flags) -> anyhow::Result<Self> {
        let attempt_duration = flags.attempt_duration;
        if attempt_duration > known.visibility_timeout {
            bail!(
                "--attempt-duration is {}, allowed: at most the visibility timeout of {}, after which the message is \
                 delivered again",
                span::words(attempt_duration),
                span::words(known.visibility_timeout)
            );
        }
        let retries = match &known.consumer {
            Consumer::Other(_) => None,
            Consumer::Redrive => {
                let retries = Retries::from_variables(&known.queue, |name| known.variable(name));
                Some(retries.map_err(|error| anyhow!(flags.in_their_words(&error.to_string())))?)
            }
        };
        let course = |random| Course::of(&known, retries.as_ref(), attempt_duration, random);
        let [shortest, usual, longest] = [0.0, 0.5, 1.0].map(course);
        Ok(Self { is_fifo: is_fifo(&known.queue), known, attempt_duration, shortest, usual, longest })
    }

    pub(super) fn has_jitter(&self) -> bool {
        self.shortest != self.longest
    }

    pub(super) fn rows(&self) -> Vec<Row> {
        let row = |(index, usual): (usize, &Attempt)| {
            let [shortest, longest] =
                [&self.shortest, &self.longest].map(|course| course.attempts.get(index));
            let delay = |attempt: Option<&Attempt>| attempt.and_then(|it| it.delay).or(usual.delay);
            Row {
                number: index + 1,
                usual: *usual,
                earliest: shortest.map_or(usual.at, |attempt| attempt.at),
                latest: longest.map(|attempt| attempt.at),
                delays: delay(shortest).zip(delay(longest)),
            }
        };
        self.usual.attempts.iter().enumerate().map(row).collect()
    }
}

impl Course {
    /// Follows the message. `random` places each delay within its jitter, from 0 to 1.
    fn of(known: &Known, retries: Option<&Retries>, attempt_duration: Duration, random: f64) -> Self {
        let (mut attempts, mut now) = (Vec::new(), Duration::ZERO);
        // The retention ends this, because without a redrive policy no delay is 0.
        for attempt in 1.. {
            let count = attempt as usize - 1;
            if now >= known.retention {
                return Self { attempts, count, end: End::Expired { at: known.retention } };
            }
            if known.max_receive_count.is_some_and(|max| attempt > max) {
                return Self { attempts, count, end: dead(known, now, LastDelivery::RedrivePolicy) };
            }
            let delay = match retries {
                Some(retries) => match retries.after(attempt, random) {
                    Retry::In(delay) => Some(delay),
                    Retry::Never(LastDelivery::RedrivePolicy) => Some(Duration::ZERO),
                    _ => None,
                },
                // Counted from its receive. No function has a shorter timeout than 1 s, nor its queue a shorter visibility timeout.
                // <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html>
                None => {
                    let timeout = known.visibility_timeout.max(Duration::from_secs(1));
                    Some(timeout.saturating_sub(attempt_duration))
                }
            };
            if attempts.len() < KEPT {
                attempts.push(Attempt { at: now, delay });
            }
            now += attempt_duration;
            let Some(delay) = delay else {
                return Self { attempts, count: count + 1, end: dead(known, now, LastDelivery::DeadLetter) };
            };
            now += delay;
        }
        unreachable!("a retention is shorter than four billion seconds")
    }
}

/// Returns the end in the dead-letter queue. On a standard queue, a letter that SQS moves keeps its sent time. On a FIFO queue
/// it gets a new one, as does a letter that redrive writes.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html>
fn dead(known: &Known, at: Duration, by: LastDelivery) -> End {
    let sent = match by {
        LastDelivery::RedrivePolicy if !is_fifo(&known.queue) => Duration::ZERO,
        _ => at,
    };
    End::DeadLetter { at, by, letter_expires: known.dead_letter_retention.map(|retention| sent + retention) }
}
