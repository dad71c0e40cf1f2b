//! Writes letters into a queue of the test's own AWS, for the tests of `redrive dlq`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_sdk_sqs::types::{MessageAttributeValue, QueueAttributeName};
use serde_json::json;

use crate::support::Aws;

/// The dead-letter queue of [`Aws::with_orders`].
pub(crate) const DEAD: &str = "orders-dead";

pub(crate) fn text(value: &str) -> MessageAttributeValue {
    MessageAttributeValue::builder().data_type("String").string_value(value).build().expect("a text")
}

/// The note of redrive.
pub(crate) fn note(message_id: &str, reason: &str, error: &str) -> MessageAttributeValue {
    let note = json!({
        "reason": reason, "error": error, "exception": "orders::Refused", "failed_at": "2026-11-21T07:50:00Z",
        "attempts": 1, "message_id": message_id, "source": "arn:aws:sqs:eu-west-1:123456789012:orders",
        "sent_at": "2026-11-21T06:00:00Z", "function": "shop-orders", "request_id": "r-1",
    });
    text(&note.to_string())
}

impl Aws {
    /// Sends a letter without a note of a failure to the standard dead-letter queue, as `import` does; its id.
    pub(crate) fn letter(&self, body: &str) -> String {
        self.letter_with(body, [])
    }

    /// Sends a letter with these attributes, and what `import` writes where they have no note; its id.
    pub(crate) fn letter_with<const N: usize>(
        &self,
        body: &str,
        attributes: [(&str, MessageAttributeValue); N],
    ) -> String {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let restored = json!({
            "reason": "redrive-policy", "error": "", "exception": "", "failed_at": "2026-11-21T07:50:00Z",
            "attempts": 1, "message_id": format!("letter-{}", NUMBER.fetch_add(1, Ordering::Relaxed)),
            "source": "arn:aws:sqs:eu-west-1:123456789012:orders",
        });
        let mut all = HashMap::from([("redrive.dead-letter", text(&restored.to_string()))]);
        all.extend(attributes);
        self.sent_here(body, all)
    }

    /// Sends a message to the standard dead-letter queue, as somebody may by hand; its id.
    pub(crate) fn sent_here<'a>(
        &self,
        body: &str,
        attributes: impl IntoIterator<Item = (&'a str, MessageAttributeValue)>,
    ) -> String {
        let send = self.sqs.send_message().queue_url(self.queue_url(DEAD)).message_body(body);
        let send =
            attributes.into_iter().fold(send, |send, (name, value)| send.message_attributes(name, value));
        let sent = self.wait(send.send()).expect("it is sent");
        sent.message_id.expect("SQS gives an id")
    }

    /// How many messages are visible, and how many are in flight.
    pub(crate) fn counts(&self, queue: &str) -> (u32, u32) {
        let read = self.sqs.get_queue_attributes().queue_url(self.queue_url(queue));
        let read = self.wait(read.attribute_names(QueueAttributeName::All).send()).expect("it can be read");
        let attributes = read.attributes.expect("all were asked for");
        let count =
            |name| attributes.get(&name).and_then(|text: &String| text.parse().ok()).unwrap_or_default();
        (
            count(QueueAttributeName::ApproximateNumberOfMessages),
            count(QueueAttributeName::ApproximateNumberOfMessagesNotVisible),
        )
    }
}
