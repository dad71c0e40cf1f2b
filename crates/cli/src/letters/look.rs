//! Receives all visible letters, each once.

use std::collections::HashSet;

use aws_sdk_sqs::types::QueueAttributeName;
use futures_util::future::join_all;
use redrive_sqs::OriginSenders;

use super::letter::Letter;
use crate::find::Queue;
use crate::problem::{OrProblem, Problem};
use crate::sqs::LetterLease;
use crate::tell::tell;

/// Number of receives in a row with only known letters that ends the look: somebody makes letters visible as fast as this
/// receives them.
const NOTHING_NEW: usize = 3;

/// Number of concurrent receives while there are many letters.
const RECEIVES_AT_ONCE: usize = 4;

#[derive(Debug)]
pub(crate) struct Look<'a> {
    lease: &'a LetterLease,
    seen: HashSet<Box<str>>,
    receives: usize,
    max_receive_count: Option<u32>,
    origin_senders: Option<OriginSenders>,
}

impl<'a> Look<'a> {
    /// Removes the origins of senders who are not named. `max_receive_count` is the source queue's.
    pub(crate) fn new(
        lease: &'a LetterLease,
        max_receive_count: Option<u32>,
        origin_senders: Option<OriginSenders>,
    ) -> Self {
        Self { lease, seen: HashSet::new(), receives: 1, max_receive_count, origin_senders }
    }

    /// Returns the next letters, none at the end. SQS may deliver a letter twice, but this returns it once.
    /// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/standard-queues-at-least-once-delivery.html>
    ///
    /// # Errors
    /// Those of [`LetterLease::receive`].
    pub(crate) async fn next(&mut self) -> Result<Vec<Letter>, Problem> {
        let report = |line: &str| tell(format_args!("redrive: {line}"));
        for _ in 0..NOTHING_NEW {
            // It waits for all receives, even if one fails, because letters that nobody knows of would stay hidden.
            let received = join_all((0..self.receives).map(|_| self.lease.receive(10, report))).await;
            let mut letters = Vec::new();
            for received in received {
                letters.extend(Letter::all(received.or_failed()?, self.max_receive_count));
            }
            if letters.is_empty() {
                return Ok(letters);
            }
            self.receives = if letters.len() < 10 { 1 } else { RECEIVES_AT_ONCE };
            letters.retain(|letter| self.seen.insert(letter.id.as_str().into()));
            if !letters.is_empty() {
                let senders = self.origin_senders.as_ref();
                return Ok(letters.into_iter().map(|letter| letter.heeding(senders)).collect());
            }
        }
        Ok(vec![])
    }

    /// Counts the letters so far.
    pub(crate) fn seen(&self) -> usize {
        self.seen.len()
    }
}

/// Estimates the letters of a FIFO queue that wait behind those that were seen.
pub(crate) fn behind(queue: &Queue, seen: usize) -> usize {
    if queue.is_fifo() { unseen(queue, seen) } else { 0 }
}

/// Describes the letters that were not seen. `queue` has the counts from before the look.
pub(crate) fn not_seen(queue: &Queue, seen: usize) -> Option<String> {
    let hidden = queue.count(&QueueAttributeName::ApproximateNumberOfMessagesNotVisible);
    let mut parts = Vec::new();
    match (unseen(queue, seen), behind(queue, seen)) {
        (0, _) => (),
        (unseen, 0) => parts.push(format!(
            "about {unseen} more were not returned by SQS: it may return them to the next look, or somebody else looks at \
             them now"
        )),
        (_, behind) => parts.push(format!(
            "about {behind} more are behind the first ten of their groups: SQS returns the next ones only when those are \
             deleted"
        )),
    }
    if hidden > 0 {
        parts.push(format!("about {hidden} are in flight and will be visible later"));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn unseen(queue: &Queue, seen: usize) -> usize {
    usize::try_from(queue.visible()).unwrap_or(usize::MAX).saturating_sub(seen)
}
