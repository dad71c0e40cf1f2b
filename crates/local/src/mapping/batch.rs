//! Forms batches.

use std::time::SystemTime;

use super::record_size;
use crate::mapping::MappingConfig;
use crate::queue::Received;

/// Largest event in bytes that Lambda passes to a function, metadata of the records included.
/// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html>
const LARGEST_EVENT: usize = 6 << 20;

/// Length of `{"Records":[]}`.
const ENVELOPE: usize = 14;

/// A batch that is being filled.
#[derive(Debug)]
pub(super) struct Batch {
    messages: Vec<Received>,
    event_size: usize,
    opened: Option<SystemTime>,
    /// Messages that did not fit, which begin the next batch.
    excess: Vec<Received>,
}

#[derive(Debug)]
pub(super) struct Full {
    pub(super) messages: Vec<Received>,
    /// Time at which the first message was received.
    pub(super) opened: SystemTime,
}

impl Batch {
    pub(super) fn new() -> Self {
        Self { messages: Vec::new(), event_size: ENVELOPE, opened: None, excess: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.opened.is_none()
    }

    /// Returns the number of messages to request next: at most ten, SQS's limit, or none if the batch is full.
    pub(super) fn room(&self, mapping: &MappingConfig) -> usize {
        if self.excess.is_empty() {
            mapping.batch_size.saturating_sub(self.messages.len()).min(10)
        } else {
            0
        }
    }

    /// Returns the time at which the batch window closes, if the batch has any messages.
    pub(super) fn due(&self, mapping: &MappingConfig) -> Option<SystemTime> {
        Some(self.opened? + mapping.window)
    }

    /// Adds messages, at most as many as there is room for. The batch window opens with the first.
    pub(super) fn add(&mut self, messages: Vec<Received>, queue_arn: &str, now: SystemTime) {
        for message in messages {
            let size = record_size(&message, queue_arn) + usize::from(!self.messages.is_empty());
            let fits = self.messages.is_empty() || self.event_size + size <= LARGEST_EVENT;
            if !fits || !self.excess.is_empty() {
                self.excess.push(message);
                continue;
            }
            self.event_size += size;
            self.opened.get_or_insert(now);
            self.messages.push(message);
        }
    }

    /// Takes the messages out if the batch is full or its window has closed.
    pub(super) fn take(&mut self, mapping: &MappingConfig, queue_arn: &str, now: SystemTime) -> Option<Full> {
        let opened = self.opened?;
        if self.room(mapping) > 0 && opened + mapping.window > now {
            return None;
        }
        let full = std::mem::replace(self, Self::new());
        self.add(full.excess, queue_arn, now);
        Some(Full { messages: full.messages, opened })
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use proptest::prelude::*;

    use super::super::event;
    use super::super::tests::{ARN, mapping, received};
    use super::*;

    const NOW: SystemTime = UNIX_EPOCH;

    fn some(count: usize, body: &str) -> Vec<Received> {
        (0..count).map(|index| received(&format!("m{index}"), body)).collect()
    }

    #[test]
    fn without_a_window_a_batch_is_what_one_receive_gave() {
        let mapping = mapping(10, 0);
        let mut batch = Batch::new();
        assert!(batch.take(&mapping, ARN, NOW).is_none());
        assert_eq!(batch.room(&mapping), 10);
        batch.add(some(3, "tea"), ARN, NOW);
        assert_eq!(batch.take(&mapping, ARN, NOW).unwrap().messages.len(), 3);
        assert_eq!(batch.due(&mapping), None);
    }

    #[test]
    fn a_window_opens_with_the_first_message_and_a_full_batch_closes_it() {
        let mapping = mapping(12, 5);
        let mut batch = Batch::new();
        batch.add(some(10, "tea"), ARN, NOW);
        let later = NOW + Duration::from_secs(4);
        assert_eq!(batch.room(&mapping), 2);
        assert!(batch.take(&mapping, ARN, later).is_none());
        batch.add(some(1, "tea"), ARN, later);
        assert_eq!(batch.due(&mapping), Some(NOW + Duration::from_secs(5)));
        batch.add(some(1, "tea"), ARN, later);
        assert_eq!(batch.take(&mapping, ARN, later).unwrap().messages.len(), 12);
        batch.add(some(1, "tea"), ARN, later);
        assert_eq!(batch.take(&mapping, ARN, later + Duration::from_secs(5)).unwrap().messages.len(), 1);
    }

    #[test]
    fn a_batch_of_large_messages_is_split_below_six_megabytes() {
        let mapping = mapping(10, 0);
        let mut batch = Batch::new();
        batch.add(some(10, &"x".repeat(1_000_000)), ARN, NOW);
        let sizes: Vec<_> =
            std::iter::from_fn(|| batch.take(&mapping, ARN, NOW)).map(|full| full.messages.len()).collect();
        assert_eq!(sizes, [6, 4]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8))]

        #[test]
        fn no_message_is_lost_or_reordered_and_no_event_is_too_large(
            sizes in proptest::collection::vec(1_usize..1_048_576, 0..20),
            batch_size in 1_usize..=10,
        ) {
            let mapping = mapping(batch_size, 0);
            let messages: Vec<_> =
                sizes.iter().enumerate().map(|(i, size)| received(&i.to_string(), &"\"".repeat(*size))).collect();
            let mut waiting = messages.clone().into_iter().peekable();
            let (mut batch, mut seen) = (Batch::new(), Vec::new());
            while waiting.peek().is_some() || batch.due(&mapping).is_some() {
                let room = batch.room(&mapping);
                batch.add(waiting.by_ref().take(room).collect(), ARN, NOW);
                if let Some(Full { messages: taken, opened: _ }) = batch.take(&mapping, ARN, NOW) {
                    prop_assert!((1..=batch_size).contains(&taken.len()));
                    prop_assert!(event(&taken, ARN, |stamp| stamp).len() <= LARGEST_EVENT);
                    seen.extend(taken);
                }
            }
            let ids = |messages: &[Received]| messages.iter().map(|m| m.message_id.clone()).collect::<Vec<_>>();
            prop_assert_eq!(ids(&seen), ids(&messages));
        }
    }
}
