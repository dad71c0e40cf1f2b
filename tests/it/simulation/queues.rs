//! The queues and settings of a scenario.

use std::time::SystemTime;

use redrive_local::{Account, MessageAttribute, NewMessage};

use super::scenario::{Letterhead, Scenario};

impl Scenario {
    pub(crate) fn queue(&self) -> &'static str {
        if self.fifo { "orders.fifo" } else { "orders" }
    }

    pub(crate) fn dead(&self) -> &'static str {
        if self.fifo { "orders-dead.fifo" } else { "orders-dead" }
    }

    pub(crate) fn create_queues(&self, account: &mut Account, now: SystemTime) {
        let target = account.queue_arn(self.dead());
        let policy = self
            .limit
            .map(|limit| format!(r#"{{"deadLetterTargetArn":"{target}","maxReceiveCount":{limit}}}"#));
        let fifo = self.fifo.then_some(("FifoQueue", "true"));
        let visibility = self.visibility.to_string();
        let both = [("MessageRetentionPeriod", "1209600")].into_iter().chain(fifo);
        account.create_queue(self.dead(), both.clone(), now).unwrap();
        let policy = policy.as_deref().map(|policy| ("RedrivePolicy", policy));
        let attributes = both.chain([("VisibilityTimeout", visibility.as_str())]).chain(policy);
        account.create_queue(self.queue(), attributes, now).unwrap();
    }
}

impl Letterhead {
    pub(crate) fn message(&self, number: usize, fifo: bool) -> NewMessage {
        let attempts = self.max_attempts.map(|attempts| ("redrive.max-attempts", attempts.to_string()));
        let backoff = self.backoff.as_ref().map(|(json, _)| ("redrive.backoff", (*json).to_owned()));
        let attributes = attempts.into_iter().chain(backoff);
        NewMessage {
            body: if self.malformed { format!("{{{number}") } else { number.to_string() },
            attributes: attributes
                .map(|(name, value)| (name.to_owned(), MessageAttribute::text(&value)))
                .collect(),
            group_id: self.group.map(str::to_owned),
            deduplication_id: fifo.then(|| number.to_string()),
            ..NewMessage::default()
        }
    }
}
