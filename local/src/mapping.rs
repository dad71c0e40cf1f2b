//! The rules of the event source mapping: what it may be, how a batch is formed, and what a response deletes.
//!
//! Nothing here waits or calls: time and messages are arguments.

mod record;
mod response;

use std::time::{Duration, SystemTime};

pub(crate) use record::event;
use record::record_size;
pub(crate) use response::failed_messages;

use crate::local::MappingConfig;
use crate::queue::Received;

/// The largest event that Lambda hands to a function, metadata of the records included.
/// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html>
const LARGEST_EVENT: usize = 6 << 20;

/// The length of `{"Records":[]}`.
const ENVELOPE: usize = 14;

/// Checks a mapping as AWS does when it is created.
/// <https://docs.aws.amazon.com/lambda/latest/api/API_CreateEventSourceMapping.html>
///
/// # Errors
/// What is not allowed, and what is.
pub(crate) fn check(
    mapping: &MappingConfig,
    visibility_timeout: Duration,
    function_timeout: Duration,
) -> Result<(), String> {
    let MappingConfig { queue, function, batch_size, window, .. } = mapping;
    let subject = format!("mapping of queue {queue} to function {function}");
    let fifo = queue.ends_with(".fifo");
    if !(1..=10_000).contains(batch_size) || (fifo && *batch_size > 10) {
        let allowed = if fifo { "10 on a FIFO queue" } else { "10000" };
        return Err(format!("{subject}: batch size {batch_size} is not between 1 and {allowed}"));
    }
    if *window > Duration::from_secs(300) || (fifo && !window.is_zero()) {
        let allowed = if fifo { "0 s, as it must be on a FIFO queue" } else { "between 0 and 300 s" };
        return Err(format!("{subject}: batching window {window:?} is not {allowed}"));
    }
    if *batch_size > 10 && *window < Duration::from_secs(1) {
        return Err(format!(
            "{subject}: batch size {batch_size} is above 10, which needs a batching window of 1 s"
        ));
    }
    if mapping.maximum_concurrency == 0 {
        return Err(format!("{subject}: maximum concurrency 0 is less than 1"));
    }
    if visibility_timeout < function_timeout {
        return Err(format!(
            "{subject}: queue visibility timeout: {} seconds is less than function timeout: {} seconds",
            visibility_timeout.as_secs(),
            function_timeout.as_secs()
        ));
    }
    Ok(())
}

/// What AWS recommends beyond what it enforces: a visibility timeout of six function timeouts and the batching window.
/// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html>
pub(crate) fn warning(
    mapping: &MappingConfig,
    visibility_timeout: Duration,
    function_timeout: Duration,
) -> Option<String> {
    let recommended = 6 * function_timeout + mapping.window;
    (visibility_timeout < recommended).then(|| {
        format!(
            "queue {}: visibility timeout {} s is below the recommended {} s, six times the timeout of function {} \
             and the batching window",
            mapping.queue,
            visibility_timeout.as_secs(),
            recommended.as_secs(),
            mapping.function
        )
    })
}

/// A batch that is being filled.
#[derive(Debug)]
pub(crate) struct Batch {
    messages: Vec<Received>,
    event_size: usize,
    due: Option<SystemTime>,
    /// What did not fit any more: the beginning of the next batch.
    excess: Vec<Received>,
}

impl Batch {
    pub(crate) fn new() -> Self {
        Self { messages: Vec::new(), event_size: ENVELOPE, due: None, excess: Vec::new() }
    }

    /// How many messages to ask SQS for next: at most the ten that it gives at once, none if the batch is full.
    pub(crate) fn room(&self, mapping: &MappingConfig) -> usize {
        if self.excess.is_empty() { (mapping.batch_size - self.messages.len()).min(10) } else { 0 }
    }

    /// When the batch window closes, if the batch has any messages.
    pub(crate) fn due(&self) -> Option<SystemTime> {
        self.due
    }

    /// Adds messages, at most as many as there is room for; the batch window opens with the first.
    pub(crate) fn add(
        &mut self,
        messages: Vec<Received>,
        mapping: &MappingConfig,
        queue_arn: &str,
        now: SystemTime,
    ) {
        for message in messages {
            let size = record_size(&message, queue_arn) + usize::from(!self.messages.is_empty());
            let fits = self.messages.is_empty() || self.event_size + size <= LARGEST_EVENT;
            if !fits || !self.excess.is_empty() {
                self.excess.push(message);
                continue;
            }
            self.event_size += size;
            self.due.get_or_insert(now + mapping.window);
            self.messages.push(message);
        }
    }

    /// Takes the messages out if the batch is full or its window has closed.
    pub(crate) fn take(
        &mut self,
        mapping: &MappingConfig,
        queue_arn: &str,
        now: SystemTime,
    ) -> Option<Vec<Received>> {
        if self.room(mapping) > 0 && self.due.is_none_or(|due| due > now) {
            return None;
        }
        let full = std::mem::replace(self, Self::new());
        self.add(full.excess, mapping, queue_arn, now);
        Some(full.messages)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;
    use std::time::UNIX_EPOCH;

    use proptest::prelude::*;

    use super::*;

    pub(crate) const ARN: &str = "arn:aws:sqs:eu-west-1:123456789012:orders";
    const NOW: SystemTime = UNIX_EPOCH;

    pub(crate) fn mapping(batch_size: usize, window: u64) -> MappingConfig {
        MappingConfig {
            queue: "orders".into(),
            function: "worker".into(),
            batch_size,
            window: Duration::from_secs(window),
            maximum_concurrency: 5,
            report_batch_item_failures: true,
            enabled: true,
        }
    }

    pub(crate) fn received(id: &str, body: &str) -> Received {
        Received {
            message_id: id.into(),
            receipt_handle: format!("handle-{id}"),
            body: body.into(),
            md5_of_body: "d41d8cd98f00b204e9800998ecf8427e".into(),
            md5_of_attributes: None,
            attributes: BTreeMap::new(),
            receive_count: 1,
            sent_at: NOW + Duration::from_millis(1_700_000_000_123),
            first_received_at: NOW + Duration::from_millis(1_700_000_001_456),
            sender_id: "AIDASENDER".into(),
            group_id: None,
            deduplication_id: None,
            sequence_number: None,
            trace_header: None,
            dead_letter_source: None,
        }
    }

    fn some(count: usize, body: &str) -> Vec<Received> {
        (0..count).map(|index| received(&format!("m{index}"), body)).collect()
    }

    #[test]
    fn without_a_window_a_batch_is_what_one_receive_gave() {
        let mapping = mapping(10, 0);
        let mut batch = Batch::new();
        assert!(batch.take(&mapping, ARN, NOW).is_none());
        assert_eq!(batch.room(&mapping), 10);
        batch.add(some(3, "tea"), &mapping, ARN, NOW);
        assert_eq!(batch.take(&mapping, ARN, NOW).unwrap().len(), 3);
        assert_eq!(batch.due(), None);
    }

    #[test]
    fn a_window_opens_with_the_first_message_and_a_full_batch_closes_it() {
        let mapping = mapping(12, 5);
        let mut batch = Batch::new();
        batch.add(some(10, "tea"), &mapping, ARN, NOW);
        let later = NOW + Duration::from_secs(4);
        assert_eq!(batch.room(&mapping), 2);
        assert!(batch.take(&mapping, ARN, later).is_none());
        batch.add(some(1, "tea"), &mapping, ARN, later);
        assert_eq!(batch.due(), Some(NOW + Duration::from_secs(5)));
        batch.add(some(1, "tea"), &mapping, ARN, later);
        assert_eq!(batch.take(&mapping, ARN, later).unwrap().len(), 12);
        batch.add(some(1, "tea"), &mapping, ARN, later);
        assert_eq!(batch.take(&mapping, ARN, later + Duration::from_secs(5)).unwrap().len(), 1);
    }

    #[test]
    fn a_batch_of_large_messages_is_split_below_six_megabytes() {
        let mapping = mapping(10, 0);
        let mut batch = Batch::new();
        batch.add(some(10, &"x".repeat(1_000_000)), &mapping, ARN, NOW);
        let sizes: Vec<_> =
            std::iter::from_fn(|| batch.take(&mapping, ARN, NOW)).map(|messages| messages.len()).collect();
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
            while waiting.peek().is_some() || batch.due().is_some() {
                let room = batch.room(&mapping);
                batch.add(waiting.by_ref().take(room).collect(), &mapping, ARN, NOW);
                if let Some(taken) = batch.take(&mapping, ARN, NOW) {
                    prop_assert!((1..=batch_size).contains(&taken.len()));
                    prop_assert!(event(&taken, ARN, |stamp| stamp).len() <= LARGEST_EVENT);
                    seen.extend(taken);
                }
            }
            let ids = |messages: &[Received]| messages.iter().map(|m| m.message_id.clone()).collect::<Vec<_>>();
            prop_assert_eq!(ids(&seen), ids(&messages));
        }
    }

    #[test]
    fn what_aws_refuses_is_refused() {
        let fifo = |mapping| MappingConfig { queue: "orders.fifo".into(), ..mapping };
        let (minute, second) = (Duration::from_secs(60), Duration::from_secs(1));
        for (mapping, visibility, refusal) in [
            (mapping(0, 0), minute, Some("batch size 0 is not between 1 and 10000")),
            (mapping(10_001, 1), minute, Some("batch size 10001 is not between 1 and 10000")),
            (fifo(mapping(11, 0)), minute, Some("batch size 11 is not between 1 and 10 on a FIFO queue")),
            (mapping(11, 0), minute, Some("batch size 11 is above 10, which needs a batching window of 1 s")),
            (mapping(10, 301), minute, Some("batching window 301s is not between 0 and 300 s")),
            (
                fifo(mapping(10, 1)),
                minute,
                Some("batching window 1s is not 0 s, as it must be on a FIFO queue"),
            ),
            (
                mapping(10, 0),
                second,
                Some("queue visibility timeout: 1 seconds is less than function timeout: 10 seconds"),
            ),
            (mapping(10_000, 300), minute, None),
            (fifo(mapping(10, 0)), 10 * second, None),
        ] {
            let result = check(&mapping, visibility, 10 * second);
            assert_eq!(result.as_ref().err().map(|text| text.split_once(": ").unwrap().1), refusal);
        }
    }

    #[test]
    fn a_visibility_timeout_below_six_function_timeouts_is_warned_about() {
        let warn = |visibility| {
            warning(&mapping(10, 5), Duration::from_secs(visibility), Duration::from_secs(10)).is_some()
        };
        assert!(warn(64));
        assert!(!warn(65));
    }
}
