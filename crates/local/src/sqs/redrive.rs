//! Applies redrive policies: messages that were received too often move to the dead-letter queue.

use std::collections::BTreeSet;
use std::time::SystemTime;

use redrive_sqs::{RedrivePolicy, queue_name};

use super::{QueueEvent, Sqs};
use crate::protocol::AwsError;
use crate::queue::{QueuedMessage, error};

impl Sqs {
    /// Returns the name of a queue's dead-letter queue, and the receives of a message before it moves. If the dead-letter
    /// queue is gone or is the queue itself, nothing moves, and clients receive the message again with a rising receive count
    /// (unverified).
    pub(crate) fn redrive_of(&self, queue: &str) -> Option<(String, u32)> {
        let policy = self.entries.get(queue)?.queue.settings().redrive_policy.as_ref()?;
        let target = self.name_of(&policy.dead_letter_target_arn).filter(|target| *target != queue)?;
        Some((target.to_owned(), policy.max_receive_count))
    }

    /// Returns the queues that redrive policies name.
    pub(crate) fn dead_letter_queues(&self) -> BTreeSet<String> {
        let policies =
            self.entries.values().filter_map(|entry| entry.queue.settings().redrive_policy.as_ref());
        policies
            .filter_map(|policy| self.name_of(&policy.dead_letter_target_arn))
            .map(str::to_owned)
            .collect()
    }

    /// Returns the queues whose redrive policy names this one.
    pub(crate) fn sources_of(&self, dead_letter_queue: &str) -> impl Iterator<Item = &str> {
        let arn = self.arn(dead_letter_queue);
        let is_source = move |policy: &RedrivePolicy| policy.dead_letter_target_arn == arn;
        let policy = |name: &&str| self.entries.get(*name)?.queue.settings().redrive_policy.as_ref();
        self.names().filter(move |name| policy(name).is_some_and(&is_source))
    }

    pub(super) fn hand_over(&mut self, from: &str, to: &str, letters: Vec<QueuedMessage>, now: SystemTime) {
        let source = self.arn(from);
        let Some(target) = self.entries.get_mut(to) else { return };
        for letter in letters {
            self.events.push(QueueEvent::Moved {
                queue: from.to_owned(),
                message_id: letter.message_id().to_owned(),
                to: to.to_owned(),
                receive_count: letter.receive_count(),
            });
            target.queue.take_in(letter, source.clone(), now);
        }
        let expired = target.queue.take_expired();
        self.report_expired(to, expired);
    }

    /// Checks that the policy of the queue `name` names an existing queue of the same type that allows it. It may be the
    /// queue itself, as AWS was observed to accept:
    /// <https://github.com/localstack/localstack/blob/8b9a79f/tests/aws/services/sqs/test_sqs.py>
    pub(super) fn check_redrive(
        &self,
        name: &str,
        fifo: bool,
        policy: &RedrivePolicy,
    ) -> Result<(), AwsError> {
        let refused = |reason: &str| Err(error::invalid("RedrivePolicy", policy.to_json(), reason));
        let target = self.name_of(&policy.dead_letter_target_arn).and_then(|target| self.entries.get(target));
        let Some(target) = target else { return refused("Dead letter target does not exist.") };
        let target = target.queue.settings();
        if target.fifo != fifo {
            return refused("Dead-letter queue must be same type of queue as the source.");
        }
        let source = self.arn(name);
        if !target.redrive_allow_policy.allows(&source) {
            return refused("The RedriveAllowPolicy of the dead-letter queue does not allow this queue.");
        }
        Ok(())
    }

    /// Returns the name of an existing queue by its ARN.
    pub(super) fn name_of(&self, arn: &str) -> Option<&str> {
        let (name, _) = self.entries.get_key_value(queue_name(arn))?;
        (self.arn(name) == arn).then_some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::NewMessage;
    use crate::queue::testing::{at, map};

    fn policy(queues: &Sqs, target: &str, count: &str) -> String {
        format!(r#"{{"deadLetterTargetArn":"{}","maxReceiveCount":{count}}}"#, queues.arn(target))
    }

    /// Creates a source queue that allows two receives, and its dead-letter queue.
    fn pair(suffix: &str) -> (Sqs, String, String) {
        let mut queues = Sqs::new("eu-west-1", "123456789012");
        let (source, target) = (format!("q{suffix}"), format!("dead{suffix}"));
        let fifo: &[_] = if suffix.is_empty() { &[] } else { &[("FifoQueue", "true")] };
        queues.create(&target, &map(fifo), at(0)).unwrap();
        let policy = policy(&queues, &target, "2");
        queues.create(&source, &map(&[fifo, &[("RedrivePolicy", &policy)]].concat()), at(0)).unwrap();
        (queues, source, target)
    }

    fn send(queues: &mut Sqs, queue: &str) {
        let fifo = redrive_sqs::is_fifo(queue);
        let id = |id: &str| fifo.then(|| id.to_owned());
        let message = NewMessage {
            body: "body".to_owned(),
            group_id: id("g"),
            deduplication_id: id("d"),
            ..NewMessage::default()
        };
        queues.send(queue, message, at(0)).unwrap();
    }

    #[test]
    fn without_its_dead_letter_queue_a_message_stays() {
        let (mut queues, source, target) = pair("");
        queues.delete_queue(&target, at(0)).unwrap();
        send(&mut queues, &source);
        for receive in 0..5 {
            assert_eq!(queues.receive(&source, 10, None, at(30 * receive)).unwrap().len(), 1);
        }
    }

    #[test]
    fn a_queue_that_is_its_own_dead_letter_queue_keeps_its_messages() {
        for suffix in ["", ".fifo"] {
            let (mut queues, source, _) = pair(suffix);
            let own = map(&[("RedrivePolicy", &policy(&queues, &source, "2"))]);
            queues.set_attributes(&source, &own, at(0)).unwrap();
            send(&mut queues, &source);
            let counts = (0..4).map(|receive| {
                let received = queues.receive(&source, 10, None, at(30 * receive)).unwrap();
                received.iter().map(|message| message.receive_count).sum::<u32>()
            });
            assert_eq!(counts.collect::<Vec<_>>(), [1, 2, 3, 4]);
            assert_eq!(queues.sources_of(&source).collect::<Vec<_>>(), [source.as_str()]);
        }
    }

    #[test]
    fn policies_in_a_circle_move_a_message_once_each() {
        let (mut queues, source, target) = pair("");
        let back = map(&[("RedrivePolicy", &policy(&queues, &source, "4"))]);
        queues.set_attributes(&target, &back, at(0)).unwrap();
        send(&mut queues, &source);
        let mut receives = |queue: &str, from: u64| {
            let counts = (0..4).map(|receive| {
                let received = queues.receive(queue, 10, None, at(from + 30 * receive)).unwrap();
                received.iter().map(|message| message.receive_count).sum::<u32>()
            });
            counts.collect::<Vec<_>>()
        };
        assert_eq!(receives(&source, 0), [1, 2, 0, 0]);
        assert_eq!(receives(&target, 120), [3, 4, 0, 0]);
        assert_eq!(receives(&source, 240), [5, 6, 7, 8]);
    }
}
