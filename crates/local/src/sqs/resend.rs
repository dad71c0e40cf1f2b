//! Sends a single dead letter back to a queue.

use std::time::SystemTime;

use super::{QueueEvent, Sqs};
use crate::protocol::AwsError;
use crate::queue::{Letter, NewMessage};

/// The reason why a message was not resent. It stays in its queue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResendError {
    /// No visible message of the queue matches.
    #[error("it is no longer in queue {0}, or it is in flight")]
    NotThere(String),
    /// A queue does not exist, or the destination refuses the message.
    #[error(transparent)]
    Refused(#[from] AwsError),
}

impl Sqs {
    /// Sends a visible message of `from` to `to` with changes, and deletes it: both at one moment, or neither. Returns the
    /// new id.
    pub(crate) fn resend(
        &mut self,
        from: &str,
        to: &str,
        is_it: impl Fn(&Letter<'_>) -> bool,
        change: impl FnOnce(&Letter<'_>, &mut NewMessage),
        now: SystemTime,
    ) -> Result<String, ResendError> {
        self.advance(now);
        let found = self.with(from, |queue| {
            Ok(queue.find_visible(is_it, now).map(|(number, letter, mut message)| {
                change(&letter, &mut message);
                (number, message)
            }))
        })?;
        let (number, message) = found.ok_or_else(|| ResendError::NotThere(from.to_owned()))?;
        let sent = self.put(to, message, now)?.message_id;
        if let Some(message_id) = self.with(from, |queue| Ok(queue.leave_for_good(number)))? {
            self.events.push(QueueEvent::Deleted { queue: from.to_owned(), message_id });
        }
        Ok(sent)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::queue::MessageAttribute;
    use crate::queue::testing::at;

    fn queues() -> (Sqs, String) {
        let mut queues = Sqs::new("eu-west-1", "123456789012");
        for name in ["orders", "dead"] {
            queues.create(name, &BTreeMap::new(), at(0)).unwrap();
        }
        let message = NewMessage { body: "tea".to_owned(), ..NewMessage::default() };
        let id = queues.send("dead", message, at(0)).unwrap().message_id;
        queues.take_events();
        (queues, id)
    }

    fn visible(queues: &Sqs, name: &str) -> usize {
        queues.counts(name, at(1)).unwrap_or_default().visible
    }

    #[test]
    fn a_message_is_sent_on_with_its_changes_and_is_gone_where_it_was() {
        let (mut queues, id) = queues();
        let change = |old: &Letter<'_>, message: &mut NewMessage| {
            message.attributes.insert("was".to_owned(), MessageAttribute::text(old.id));
        };
        let new = queues.resend("dead", "orders", |each| each.id == id, change, at(1)).unwrap();
        assert_eq!((visible(&queues, "dead"), visible(&queues, "orders")), (0, 1));
        let attributes = BTreeMap::from([("was".to_owned(), MessageAttribute::text(&id))]);
        let sent = QueueEvent::Sent { queue: "orders".to_owned(), message_id: new, attributes };
        let deleted = QueueEvent::Deleted { queue: "dead".to_owned(), message_id: id };
        assert_eq!(queues.take_events(), [sent, deleted]);
    }

    #[test]
    fn a_message_that_is_refused_or_hidden_stays_where_it_is() {
        let (mut queues, id) = queues();
        let is_it = |each: &Letter<'_>| each.id == id;
        let refused =
            queues.resend("dead", "orders", is_it, |_, message| message.body.clear(), at(1)).unwrap_err();
        assert!(matches!(refused, ResendError::Refused(_)), "{refused}");
        assert_eq!((visible(&queues, "dead"), visible(&queues, "orders")), (1, 0));
        queues.receive("dead", 1, None, at(1)).unwrap();
        let hidden = queues.resend("dead", "orders", is_it, |_, _| (), at(1));
        assert_eq!(hidden, Err(ResendError::NotThere("dead".to_owned())));
    }
}
