//! Letters come under the hold.

use std::sync::PoisonError;
use std::time::Instant;

use aws_sdk_sqs::types::MessageSystemAttributeName;

use super::clock::now;
use super::patience::Next;
use super::{Hold, seconds};
use crate::aws::{Outlook, Said};
use crate::dlq::letter::Letter;
use crate::span::span;

/// Any wait makes SQS ask all its servers, not a part of them.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-short-and-long-polling.html>
const POLL: i32 = 1;

impl Hold {
    /// Receives up to ten letters, fewer if fewer are asked for. None: no more are visible, or it is time to stop. Wait
    /// for its end, since letters that were received by a call that nobody waits for stay hidden.
    ///
    /// While AWS refuses for the moment it is tried again, and `say` hears of it: to receive twice does no harm.
    ///
    /// # Errors
    /// No permission, no such queue, or nothing but refusals for a minute.
    pub(crate) async fn receive(&self, at_most: usize, say: impl Fn(&str)) -> anyhow::Result<Vec<Letter>> {
        while !self.is_stopped() && !self.is_full() && at_most > 0 {
            let (began, since) = (Instant::now(), now());
            let received = self.inner.sqs.receive_message().queue_url(&self.inner.url);
            let received = received
                .max_number_of_messages(at_most.min(10).try_into().unwrap_or(10))
                .visibility_timeout(seconds(self.inner.visibility))
                .wait_time_seconds(POLL)
                .message_attribute_names("All")
                .message_system_attribute_names(MessageSystemAttributeName::All)
                .send()
                .await;
            let may_pass = received.as_ref().is_err_and(Outlook::may_pass);
            let name = self.inner.url.rsplit('/').next().unwrap_or_default();
            match received.said(&format!("receive from {name}"), "sqs:ReceiveMessage") {
                Ok(received) => {
                    self.with_patience(|patience| patience.answered());
                    let letters = received.messages.unwrap_or_default();
                    let letters: Vec<_> = letters.into_iter().map(Letter::new).collect();
                    let until = since + self.inner.visibility;
                    let mut held = self.held();
                    letters.iter().for_each(|letter| held.add(&letter.id, &letter.handle, until));
                    return Ok(letters);
                }
                Err(error) if may_pass => self.wait_after(error, began, &say).await?,
                Err(error) => return Err(error),
            }
        }
        Ok(vec![])
    }

    async fn wait_after(
        &self,
        error: anyhow::Error,
        began: Instant,
        say: impl Fn(&str),
    ) -> anyhow::Result<()> {
        match self.with_patience(|patience| patience.refused(began, Instant::now())) {
            Next::Wait { pause, first } => {
                if let Some(most) = first {
                    say(&format!("trying again for up to {}: {error:#}", span(most)));
                }
                tokio::select! {
                    () = self.stopped() => (),
                    () = tokio::time::sleep(pause) => (),
                }
                Ok(())
            }
            Next::GiveUp(past) => Err(error.context(format!("nothing but refusals for {}", span(past)))),
        }
    }

    fn with_patience<T>(&self, work: impl FnOnce(&mut super::Patience) -> T) -> T {
        work(&mut self.inner.patience.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
