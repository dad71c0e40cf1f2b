//! The state of a message.

use std::fmt;
use std::time::Duration;

use super::Message;
use crate::run::Note;
use crate::sqs::QueueEvent;

/// The state of a message. Times are relative to its arrival in the queue. Attempts are its receives there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageState {
    /// The message is still in its queue.
    Waiting {
        /// How often the message was received.
        attempts: u32,
        /// When the message is visible again, if a receive has hidden it.
        until: Option<Duration>,
    },
    /// The message was deleted.
    Done(Done),
    /// The message is in a dead-letter queue.
    DeadLettered(DeadLetter),
    /// The message's retention period ended.
    Expired {
        /// How often the message was received.
        attempts: u32,
    },
}

/// A message that was deleted without a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Done {
    /// How often the message was received.
    pub attempts: u32,
    /// When the message was deleted.
    pub after: Duration,
}

/// A message that became a dead letter.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadLetter {
    /// `redrive policy`, or the reason in the consumer's note, such as `rejected`.
    pub reason: String,
    /// The error, if there is a note.
    pub error: Option<String>,
    /// How often the message was received.
    pub attempts: u32,
    /// When the message arrived in the dead-letter queue.
    pub after: Duration,
}

impl MessageState {
    pub(super) fn of(message: &Message) -> Self {
        let events = message.events();
        let received = |(_, event): &&_| matches!(event, QueueEvent::Received { .. });
        let attempts = events.iter().filter(received).count() as u32;
        for (after, event) in &events {
            let after = *after;
            match event {
                QueueEvent::Deleted { .. } => {
                    let done = Self::Done(Done { attempts, after });
                    return letter(message, attempts).map_or(done, Self::DeadLettered);
                }
                QueueEvent::Moved { .. } => {
                    let reason = "redrive policy".to_owned();
                    return Self::DeadLettered(DeadLetter { reason, error: None, attempts, after });
                }
                QueueEvent::Expired { .. } => return Self::Expired { attempts },
                QueueEvent::Sent { .. }
                | QueueEvent::Received { .. }
                | QueueEvent::VisibilityChanged { .. } => {}
            }
        }
        Self::Waiting { attempts, until: hidden_until(message, &events) }
    }
}

/// Returns the letter that a consumer wrote for a message, found by its note. Notes in the message's own queue are a sender's
/// and do not count.
fn letter(message: &Message, attempts: u32) -> Option<DeadLetter> {
    let letters = message.aws.find(|at, event| {
        let QueueEvent::Sent { queue, attributes, .. } = event else { return None };
        let note = Note::of(attributes).filter(|_| *queue != message.queue)?;
        (note.message_id? == message.id).then(|| DeadLetter {
            reason: note.reason.unwrap_or_default(),
            error: note.error,
            attempts,
            after: at.saturating_sub(message.came_at),
        })
    });
    letters.into_iter().next()
}

fn hidden_until(message: &Message, events: &[(Duration, QueueEvent)]) -> Option<Duration> {
    let until = events.iter().rev().find_map(|(after, event)| match event {
        QueueEvent::Received { timeout, .. } | QueueEvent::VisibilityChanged { timeout, .. } => {
            Some(*after + *timeout)
        }
        _ => None,
    })?;
    (message.came_at + until > message.aws.elapsed()).then_some(until)
}

impl fmt::Display for MessageState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waiting { attempts, until: None } => write!(f, "waits with receive count {attempts}"),
            Self::Waiting { attempts, until: Some(until) } => {
                write!(f, "waits with receive count {attempts}, hidden until {until:?} after it arrived")
            }
            Self::Done(Done { attempts, after }) => {
                write!(f, "done at attempt {attempts}, {after:?} after it arrived")
            }
            Self::DeadLettered(DeadLetter { reason, attempts, after, .. }) => {
                write!(f, "dead-lettered at attempt {attempts}, {after:?} after it arrived: {reason}")
            }
            Self::Expired { attempts } => write!(f, "expired with receive count {attempts}"),
        }
    }
}
