//! SQS events as the event source mapping delivers them, always the same bytes for the same numbers.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

/// Seed of the random receipt handles, ids and bodies.
const SEED: u64 = 42;
/// Length of receipt handles, about that of a standard queue.
const RECEIPT_HANDLE: usize = 410;

/// The contents of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// Messages in the event.
    pub messages: usize,
    /// Bytes of each body, at least 97.
    pub body: usize,
    /// Every Nth message fails; 0 for none.
    pub fail_every: usize,
}

impl Batch {
    /// Returns the number of messages that fail.
    #[must_use]
    pub fn failing(&self) -> usize {
        self.messages.checked_div(self.fail_every).unwrap_or(0)
    }

    /// Returns the event as JSON.
    #[must_use]
    pub fn event(&self) -> Vec<u8> {
        let mut random = fastrand::Rng::with_seed(SEED);
        let records = (0..self.messages)
            .map(|number| {
                let fails = self.fail_every > 0 && (number + 1) % self.fail_every == 0;
                let body = order(number, fails, self.body, &mut random);
                Record::new(body, &mut random)
            })
            .collect();
        serde_json::to_vec(&Event { records }).expect("strings can be written as JSON")
    }
}

#[derive(Serialize)]
struct Event {
    #[serde(rename = "Records")]
    records: Vec<Record>,
}

/// A record, with its fields in the order in which Lambda writes them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    message_id: String,
    receipt_handle: String,
    body: String,
    attributes: Attributes,
    message_attributes: BTreeMap<String, String>,
    md5_of_body: String,
    event_source: &'static str,
    #[serde(rename = "eventSourceARN")]
    event_source_arn: &'static str,
    aws_region: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Attributes {
    approximate_receive_count: &'static str,
    sent_timestamp: &'static str,
    sender_id: &'static str,
    approximate_first_receive_timestamp: &'static str,
}

impl Record {
    fn new(body: String, random: &mut fastrand::Rng) -> Self {
        let handle: String = (0..RECEIPT_HANDLE).map(|_| random.alphanumeric()).collect();
        Self {
            message_id: uuid(random.u128(..)),
            receipt_handle: format!("{handle}=="),
            body,
            attributes: Attributes {
                approximate_receive_count: "1",
                sent_timestamp: "1763700000000",
                sender_id: "AROAEXAMPLEEXAMPLEEX:producer",
                approximate_first_receive_timestamp: "1763700000123",
            },
            message_attributes: BTreeMap::new(),
            md5_of_body: format!("{:032x}", random.u128(..)),
            event_source: "aws:sqs",
            event_source_arn: "arn:aws:sqs:eu-west-1:123456789012:orders",
            aws_region: "eu-west-1",
        }
    }
}

fn uuid(bits: u128) -> String {
    let hex = format!("{bits:032x}");
    format!("{}-{}-4{}-a{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..])
}

/// Returns an order of exactly `size` bytes: as many items as fit, and a note for the rest.
fn order(number: usize, fails: bool, size: usize, random: &mut fastrand::Rng) -> String {
    let cents = random.u32(..100_000);
    let mut order = format!(
        r#"{{"orderId":"ord-{number:08}","fail":{fails},"amountCents":{cents},"currency":"EUR","items":["#
    );
    let end = |note: usize| format!(r#"],"note":"{}"}}"#, "x".repeat(note));
    for comma in std::iter::once("").chain(std::iter::repeat(",")) {
        let item = format!(r#"{comma}{{"sku":"{:06x}","qty":{}}}"#, random.u32(..1 << 24), random.u8(1..10));
        if order.len() + item.len() + end(0).len() > size {
            break;
        }
        order.push_str(&item);
    }
    let note = size.saturating_sub(order.len() + end(0).len());
    write!(order, "{}", end(note)).expect("a string takes whatever is written");
    order
}

#[cfg(test)]
mod tests {
    use aws_lambda_events::sqs::SqsEvent;

    use super::*;

    #[test]
    fn an_event_is_one_of_sqs_with_bodies_of_the_size_asked_for() {
        for body in [97, 200, 1024] {
            let batch = Batch { messages: 25, body, fail_every: 10 };
            let event: SqsEvent = serde_json::from_slice(&batch.event()).unwrap();
            assert_eq!(event.records.len(), 25);
            for message in &event.records {
                let order = message.body.as_deref().unwrap();
                assert_eq!(order.len(), body, "{order}");
                serde_json::from_str::<serde_json::Value>(order).unwrap();
                assert_eq!(message.message_id.as_deref().unwrap().len(), 36);
                assert_eq!(message.attributes["ApproximateReceiveCount"], "1");
            }
        }
    }

    #[test]
    fn every_nth_message_fails() {
        let failing = |batch: Batch| {
            let event: SqsEvent = serde_json::from_slice(&batch.event()).unwrap();
            let bodies = event.records.iter().filter_map(|message| message.body.as_deref());
            bodies.filter(|body| body.contains(r#""fail":true"#)).count()
        };
        for (messages, fail_every, expected) in [(25, 10, 2), (25, 0, 0), (3, 1, 3), (3, 4, 0)] {
            let batch = Batch { messages, body: 200, fail_every };
            assert_eq!((failing(batch), batch.failing()), (expected, expected), "{batch:?}");
        }
    }

    #[test]
    fn the_same_numbers_give_the_same_bytes() {
        let batch = Batch { messages: 3, body: 200, fail_every: 0 };
        assert_eq!(batch.event(), batch.event());
    }

    #[test]
    fn the_largest_batch_of_small_messages_is_as_large_as_lambda_takes() {
        let event = Batch { messages: 5500, body: 200, fail_every: 0 }.event();
        let limit = 6 * 1024 * 1024;
        assert!((limit * 9 / 10..=limit).contains(&event.len()), "{}", event.len());
    }
}
