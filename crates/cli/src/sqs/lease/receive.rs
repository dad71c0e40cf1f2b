//! Receives letters and holds them.

use std::sync::PoisonError;
use std::time::Duration;

use anyhow::bail;
use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};
use redrive_sqs::{MAX_ENTRIES, queue_name};
use tokio::time::Instant;

use super::clock::now;
use super::{LetterLease, seconds};
use crate::aws::DescribeError;
use crate::span::span;
use crate::sqs::Outlook;

/// Wait time of a receive. Any wait makes SQS ask all its servers instead of a part of them.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-short-and-long-polling.html>
pub(super) const POLL: Duration = Duration::from_secs(1);

impl LetterLease {
    /// Receives up to ten letters, and at most `at_most`. Returns none if no more are visible, or it is time to stop. Callers must
    /// not cancel it, because letters of a canceled call stay hidden.
    ///
    /// Repeats calls that AWS refuses for the moment, and passes the error to `report`. To receive twice does no harm.
    ///
    /// # Errors
    /// Permission is missing, the queue does not exist, no answer arrived in time, or AWS refused all calls for a minute.
    pub(crate) async fn receive(
        &self,
        at_most: usize,
        report: impl Fn(&str),
    ) -> anyhow::Result<Vec<Message>> {
        while !self.is_stopped() && !self.is_full() && at_most > 0 {
            let (began, since) = (Instant::now(), now());
            let received = self.inner.sqs.receive_message().queue_url(&self.inner.url);
            let received = received
                .max_number_of_messages(at_most.min(MAX_ENTRIES) as i32)
                .visibility_timeout(seconds(self.inner.visibility))
                .wait_time_seconds(seconds(POLL))
                .message_attribute_names("All")
                .message_system_attribute_names(MessageSystemAttributeName::All)
                .send()
                .await;
            let may_pass = received.as_ref().is_err_and(Outlook::may_pass);
            let is_unanswered = received.as_ref().is_err_and(Outlook::is_unanswered);
            let doing = format!("receive from {}", queue_name(&self.inner.url));
            match received.describe_error(&doing, "sqs:ReceiveMessage") {
                Ok(received) => {
                    self.backoff(|backoff| backoff.answered());
                    let letters = received.messages.unwrap_or_default();
                    let mut leased = self.leased();
                    for letter in &letters {
                        let (id, handle) = (letter.message_id(), letter.receipt_handle());
                        leased.add(id.unwrap_or_default(), handle.unwrap_or_default(), since);
                    }
                    return Ok(letters);
                }
                Err(error) if may_pass => self.wait_after(error, began, &report).await?,
                Err(error) if is_unanswered => {
                    let hidden = seconds(self.inner.visibility);
                    bail!("{error:#}; letters that SQS may have handed out stay hidden for up to {hidden} s")
                }
                Err(error) => return Err(error),
            }
        }
        Ok(vec![])
    }

    async fn wait_after(
        &self,
        error: anyhow::Error,
        began: Instant,
        report: impl Fn(&str),
    ) -> anyhow::Result<()> {
        let (refused_since, pause) = self.backoff(|backoff| (backoff.refused(began), backoff.pause()));
        let (past, patience) = (refused_since.elapsed(), self.inner.patience);
        if past >= patience {
            return Err(error.context(format!("gave up after {}", span(past))));
        }
        if refused_since == began {
            report(&format!("retrying for up to {}: {error:#}", span(patience)));
        }
        tokio::select! {
            () = self.stopped() => (),
            () = tokio::time::sleep(pause.min(patience - past)) => (),
        }
        Ok(())
    }

    fn backoff<T>(&self, work: impl FnOnce(&mut super::Backoff) -> T) -> T {
        work(&mut self.inner.backoff.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
