//! A mapping's calls to its real queue: receives and deletes messages, and reports what happened to them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::MessageSystemAttributeName;
use redrive_sqs::LONGEST_POLL;

use super::Ids;
use super::delete::{Deletion, delete};
use super::message::received;
use super::queue::{RemoteQueue, reason};
use super::tally::Tally;
use crate::mapping::{MappingConfig, filtered};
use crate::queue::Received;
use crate::run::{EventKind, Finished, Judgement};

/// Pause after a failed poll.
const PAUSE: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Source {
    pub(super) sqs: Client,
    pub(super) config: MappingConfig,
    pub(super) queue: RemoteQueue,
    pub(super) tally: Arc<Mutex<Tally>>,
}

impl Source {
    pub(super) fn report(&self, kind: EventKind) {
        self.tally.lock().expect("nothing panics while it holds the tally").report(kind);
    }

    /// Polls once. Returns the messages that pass the filters, and deletes the others.
    pub(super) async fn receive(&self, room: usize, wait: Duration) -> Vec<Received> {
        let call = self
            .sqs
            .receive_message()
            .queue_url(&self.queue.url)
            .max_number_of_messages(room as i32)
            .wait_time_seconds(wait.min(LONGEST_POLL).as_secs_f64().ceil() as i32)
            .message_attribute_names("All")
            .message_system_attribute_names(MessageSystemAttributeName::All);
        let output = match call.send().await {
            Ok(output) => output,
            Err(error) => {
                self.failed("ReceiveMessage", &[reason(&error)]);
                tokio::time::sleep(PAUSE).await;
                return Vec::new();
            }
        };
        let messages = output.messages.unwrap_or_default().into_iter().filter_map(received).collect();
        let (wanted, unwanted) = filtered(messages, &self.config, &self.queue.arn);
        let Deletion { deleted, failures } = self.delete(unwanted.iter()).await;
        for message in unwanted.iter().filter(|message| deleted.contains(message.message_id.as_str())) {
            let (queue, message_id, attempt) = self.named(message);
            self.report(EventKind::FilteredOut { queue, message_id, attempt });
        }
        self.failed("DeleteMessageBatch", &failures);
        wanted
    }

    /// Reports that no function saw these messages while they were hidden.
    pub(super) fn not_delivered(&self, messages: &[Received]) {
        for message in messages {
            let (queue, message_id, attempt) = self.named(message);
            self.report(EventKind::NotDelivered { queue, message_id, attempt });
        }
    }

    /// Deletes the messages that succeeded. Failed messages stay as they are.
    pub(super) async fn settle(&self, finished: &Finished) {
        let Judgement { outcome, failed, ignored, .. } = finished.judge(&self.config);
        let messages = &finished.invocation.messages;
        let done = messages.iter().filter(|message| !failed.contains(message.message_id.as_str()));
        let Deletion { deleted, failures } = self.delete(done).await;
        self.report(finished.event(&self.config, outcome, messages.len() - deleted.len()));
        self.failed("DeleteMessageBatch", &failures);
        self.report_ends(messages, &deleted, &ignored);
    }

    fn report_ends(&self, messages: &[Received], deleted: &Ids<'_>, ignored: &Ids<'_>) {
        for message in messages {
            let is_in = |ids: &Ids<'_>| ids.contains(message.message_id.as_str());
            let (queue, message_id, attempt) = self.named(message);
            self.report(match (is_in(deleted), is_in(ignored)) {
                (true, true) => EventKind::DeletedAlthoughFailed { queue, message_id, attempt },
                (true, false) => EventKind::Done { queue, message_id, attempt },
                (false, _) => EventKind::Failed { queue, message_id, attempt },
            });
        }
    }

    async fn delete<'m>(&self, messages: impl Iterator<Item = &'m Received>) -> Deletion<'m> {
        delete(&self.sqs, &self.queue, &messages.collect::<Vec<_>>()).await
    }

    fn failed(&self, operation: &str, reasons: &[String]) {
        for reason in reasons {
            let (queue, operation) = (self.config.queue.clone(), operation.to_owned());
            self.report(EventKind::CallFailed { queue, operation, reason: reason.clone() });
        }
    }

    /// Returns the queue, the message's id and its receive count.
    fn named(&self, message: &Received) -> (String, String, u32) {
        (self.config.queue.clone(), message.message_id.clone(), message.receive_count)
    }
}
