//! Receives the dead letters of a run.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::sleep;

use super::queues::Queues;
use super::tally::Letter;
use super::worker::ATTRIBUTE;
use crate::aws::{Aws, DescribeError};

/// Interval between receives that find nothing. Long polling would take as many requests.
const PAUSE: Duration = Duration::from_secs(1);

/// Receives in a row that fail before the run is given up.
const FAILURES: u32 = 10;

#[derive(Debug, Default)]
pub(super) struct Letters(Mutex<Vec<Letter>>);

impl Letters {
    /// Receives and deletes letters for ever, and returns the error that ends this.
    pub(super) async fn receive(&self, aws: &Aws, queues: &Queues) -> anyhow::Error {
        let [standard, fifo] = &queues.dead;
        tokio::select! {
            error = self.receive_from(aws, standard, false) => error,
            error = self.receive_from(aws, fifo, true) => error,
        }
    }

    async fn receive_from(&self, aws: &Aws, url: &str, is_fifo: bool) -> anyhow::Error {
        let mut failures = 0;
        loop {
            match self.receive_some(aws, url, is_fifo).await {
                Ok(0) => sleep(PAUSE).await,
                Ok(_) => failures = 0,
                Err(error) if failures >= FAILURES => return error,
                Err(_) => {
                    failures += 1;
                    sleep(PAUSE).await;
                }
            }
        }
    }

    async fn receive_some(&self, aws: &Aws, url: &str, is_fifo: bool) -> anyhow::Result<usize> {
        let receive = aws.sqs().receive_message().queue_url(url).max_number_of_messages(10);
        let received = receive.message_attribute_names(ATTRIBUTE).send().await;
        let received = received.describe_error("receive dead letters", "sqs:ReceiveMessage")?;
        let messages = received.messages.unwrap_or_default();
        for message in &messages {
            let attributes = message.message_attributes.as_ref();
            self.letters().push(Letter {
                id: message.message_id().unwrap_or_default().to_owned(),
                body: message.body().unwrap_or_default().to_owned(),
                attribute: attributes.and_then(|all| all.get(ATTRIBUTE)?.string_value.clone()),
                is_fifo,
            });
            let delete = aws.sqs().delete_message().queue_url(url);
            let deleted = delete.receipt_handle(message.receipt_handle().unwrap_or_default()).send().await;
            deleted.describe_error("delete dead letters", "sqs:DeleteMessage")?;
        }
        Ok(messages.len())
    }

    pub(super) fn all(&self) -> Vec<Letter> {
        self.letters().clone()
    }

    fn letters(&self) -> MutexGuard<'_, Vec<Letter>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
