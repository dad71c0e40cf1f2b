//! Messages as the extended clients send them, and a batch of them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use redrive::{Consumer, Failure, MessageReport, Text};
use redrive_local::kit::{Message, Queue, TestAws};
use redrive_local::{AttributeValue, MessageAttribute, NewMessage};
use redrive_s3::{PayloadPointer, Payloads};

/// Returns a message whose body is in S3.
pub(crate) fn pointing(bucket: &str, key: &str) -> NewMessage {
    let pointer = PayloadPointer { bucket: bucket.to_owned(), key: key.to_owned() };
    NewMessage::from(pointer.body()).with_payload_size("ExtendedPayloadSize")
}

pub(crate) trait WithPayloadSize {
    /// Adds an attribute with the size of the payload.
    fn with_payload_size(self, attribute: &str) -> Self;
}

impl WithPayloadSize for NewMessage {
    fn with_payload_size(mut self, attribute: &str) -> Self {
        let value = AttributeValue::Text("300000".to_owned());
        let size = MessageAttribute { data_type: "Number".to_owned(), value };
        self.attributes.insert(attribute.to_owned(), size);
        self
    }
}

/// The results of one batch.
pub(crate) struct Batch {
    pub(crate) queue: Queue,
    pub(crate) messages: Vec<Message>,
    /// The bodies that the handler took, sorted.
    pub(crate) taken: Vec<String>,
    pub(crate) reports: Vec<MessageReport>,
}

impl Batch {
    /// Sends the messages and hands them to a consumer whose handler rejects bodies that say so, in real time.
    pub(crate) async fn of(payloads: Payloads, messages: impl IntoIterator<Item = NewMessage>) -> Self {
        let aws = TestAws::new();
        let queue = aws.queue("orders").dead_letter_queue("orders-dead", 10).create();
        let messages: Vec<_> = messages.into_iter().map(|message| queue.send(message)).collect();
        let taken: Arc<Mutex<Vec<String>>> = Arc::default();
        let reports: Arc<Mutex<Vec<MessageReport>>> = Arc::default();
        let (took, told) = (Arc::clone(&taken), Arc::clone(&reports));
        let consumer = Consumer::new(move |Text(body): Text| {
            let is_refused = body.contains("refuse");
            took.lock().unwrap().push(body);
            async move { if is_refused { Err(Failure::reject("refused")) } else { Ok(()) } }
        });
        let consumer = consumer
            .sqs(aws.sqs())
            .dead_letter_queue_url(queue.dead_letter_queue().url())
            .max_receive_count(10)
            .time_limit(Duration::from_secs(2))
            .observe(move |report: &MessageReport| told.lock().unwrap().push(report.clone()))
            .bodies(payloads);
        queue.invokes(|event, deadline| consumer.handle(event, deadline)).once().await;
        let mut taken = std::mem::take(&mut *taken.lock().unwrap());
        taken.sort();
        let reports = std::mem::take(&mut *reports.lock().unwrap());
        Self { queue, messages, taken, reports }
    }

    /// Returns the outcome and the error of each message, in the order of sending.
    pub(crate) fn ends(&self) -> Vec<String> {
        let end = |message: &Message| {
            let report = self.reports.iter().find(|report| report.id == message.id()).unwrap();
            let reason = report.reason.as_deref().unwrap_or_default();
            format!("{:?} {reason}: {}", report.outcome, report.error)
        };
        self.messages.iter().map(end).collect()
    }
}
