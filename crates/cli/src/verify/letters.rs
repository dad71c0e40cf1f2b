//! Receives the dead letters of a run.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::sleep;

use super::queues::Queues;
use super::tally::Letter;
use crate::aws::{Aws, DescribeError};

/// Interval between receives that find nothing. Long polling would take as many requests.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(super) struct Letters {
    by_id: Mutex<BTreeMap<String, Letter>>,
}

impl Letters {
    /// Receives and deletes letters for ever, and returns the error that ends this.
    pub(super) async fn receive(&self, aws: &Aws, queues: &Queues) -> anyhow::Error {
        let [standard, fifo] = &queues.dead;
        tokio::select! {
            error = self.receive_from(aws, standard) => error,
            error = self.receive_from(aws, fifo) => error,
        }
    }

    async fn receive_from(&self, aws: &Aws, url: &str) -> anyhow::Error {
        loop {
            match self.receive_some(aws, url).await {
                Ok(0) => sleep(PAUSE).await,
                Ok(_) => {}
                Err(error) => return error,
            }
        }
    }

    async fn receive_some(&self, aws: &Aws, url: &str) -> anyhow::Result<usize> {
        let received = aws.sqs().receive_message().queue_url(url).max_number_of_messages(10).send().await;
        let received = received.describe_error("receive dead letters", "sqs:ReceiveMessage")?;
        let messages = received.messages.unwrap_or_default();
        for message in &messages {
            let (id, body) = (message.message_id().unwrap_or_default(), message.body().unwrap_or_default());
            let letter = Letter { id: id.to_owned(), body: body.to_owned() };
            self.by_id().insert(id.to_owned(), letter);
            let delete = aws.sqs().delete_message().queue_url(url);
            let deleted = delete.receipt_handle(message.receipt_handle().unwrap_or_default()).send().await;
            deleted.describe_error("delete dead letters", "sqs:DeleteMessage")?;
        }
        Ok(messages.len())
    }

    pub(super) fn all(&self) -> Vec<Letter> {
        self.by_id().values().cloned().collect()
    }

    fn by_id(&self) -> MutexGuard<'_, BTreeMap<String, Letter>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
