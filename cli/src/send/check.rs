//! What SQS would refuse of a message, found before any is sent. Pure.
//! <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html>

use std::time::Duration;

use anyhow::{Context, bail};
use aws_sdk_sqs::types::QueueAttributeName;

use super::entry::size;
use super::read::Sending;
use crate::find::Queue;
use crate::messages::Address;

const MOST_ATTRIBUTES: usize = 10;
const LONGEST_DELAY: Duration = Duration::from_secs(900);

/// What of a queue decides whether it takes a message.
#[derive(Debug, Clone, Copy)]
struct Rules<'a> {
    name: &'a str,
    is_fifo: bool,
    needs_deduplication_id: bool,
    largest: usize,
}

/// Checks all of them, and gives those a deduplication id that need one.
///
/// # Errors
/// The first that the queue would not take.
pub(super) fn check(sendings: Vec<Sending>, queue: &Queue, run: &str) -> anyhow::Result<Vec<Sending>> {
    let by_content = queue.text(&QueueAttributeName::ContentBasedDeduplication) == Some("true");
    let largest = queue.count(&QueueAttributeName::MaximumMessageSize) as usize;
    let rules = Rules {
        name: queue.name(),
        is_fifo: queue.is_fifo(),
        needs_deduplication_id: queue.is_fifo() && !by_content,
        largest: if largest == 0 { redrive_sqs::MAX_BYTES } else { largest },
    };
    let sendings = sendings.into_iter().enumerate().map(|(index, mut sending)| {
        rules.check(&sending).with_context(|| sending.place.clone())?;
        if rules.needs_deduplication_id && sending.message.deduplication_id.is_none() {
            sending.message.deduplication_id = Some(format!("{run}-{}", index + 1));
        }
        Ok(sending)
    });
    sendings.collect()
}

impl Rules<'_> {
    fn check(&self, Sending { to, message, .. }: &Sending) -> anyhow::Result<()> {
        if let Address::Queue(queue) = to
            && queue != self.name
            && !self.name.ends_with(&format!("-{queue}"))
        {
            bail!("it is for the queue {queue}, not for {}", self.name);
        }
        if message.body.is_empty() {
            bail!("the body is empty, allowed: 1 byte to 1 MiB");
        }
        let size = size(message);
        if size > self.largest {
            bail!("body and attributes have {size} bytes, {} allows {}", self.name, self.largest);
        }
        if message.attributes.len() > MOST_ATTRIBUTES {
            bail!("it has {} attributes, allowed: {MOST_ATTRIBUTES}", message.attributes.len());
        }
        let delay = message.delay.unwrap_or_default();
        if delay > LONGEST_DELAY {
            bail!("the delay is {} s, allowed: 0 to {}", delay.as_secs(), LONGEST_DELAY.as_secs());
        }
        match self.is_fifo {
            true if message.group_id.is_none() => {
                bail!("a message of a FIFO queue needs a group_id: give --group-id")
            }
            true if !delay.is_zero() => {
                bail!("a message of a FIFO queue has no delay of its own, only its queue has")
            }
            false if message.deduplication_id.is_some() => {
                bail!("deduplication_id is for FIFO queues only, {} is none", self.name)
            }
            true | false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use redrive_local::NewMessage;

    use super::*;

    const STANDARD: Rules<'_> =
        Rules { name: "shop-orders", is_fifo: false, needs_deduplication_id: false, largest: 1_000 };

    fn refusal(rules: Rules<'_>, line: &str) -> String {
        let outgoing = crate::messages::parse(line).unwrap().remove(0);
        let sending = Sending { place: "line 1".to_owned(), to: outgoing.to, message: outgoing.message };
        rules.check(&sending).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn what_sqs_would_refuse_is_named() {
        let long = format!(r#"{{"body": "{}"}}"#, "a".repeat(1_001));
        let many: Vec<String> = (0..11).map(|number| format!("\"a{number}\": \"1\"")).collect();
        let many = format!(r#"{{"body": "x", "attributes": {{{}}}}}"#, many.join(","));
        for (line, expected) in [
            (r#"{"body": ""}"#, "the body is empty"),
            (long.as_str(), "have 1001 bytes, shop-orders allows 1000"),
            (many.as_str(), "11 attributes, allowed: 10"),
            (r#"{"body": "x", "delay": 901}"#, "the delay is 901 s, allowed: 0 to 900"),
            (r#"{"body": "x", "deduplication_id": "a"}"#, "for FIFO queues only"),
            (r#"{"body": "x", "queue": "invoices"}"#, "for the queue invoices, not for shop-orders"),
        ] {
            assert!(refusal(STANDARD, line).contains(expected), "{}", refusal(STANDARD, line));
        }
        for line in [
            r#"{"body": "x", "queue": "orders", "delay": 900, "group_id": "fair"}"#,
            r#"{"body": {"a": 1}, "queue": "shop-orders"}"#,
        ] {
            assert_eq!(refusal(STANDARD, line), "");
        }
        let fifo = Rules { name: "orders.fifo", is_fifo: true, needs_deduplication_id: true, ..STANDARD };
        assert!(refusal(fifo, r#"{"body": "x"}"#).contains("needs a group_id"));
        assert!(
            refusal(fifo, r#"{"body": "x", "group_id": "a", "delay": 1}"#).contains("no delay of its own")
        );
        assert_eq!(refusal(fifo, r#"{"body": "x", "group_id": "a", "deduplication_id": "d"}"#), "");
    }

    #[test]
    fn each_message_of_a_fifo_queue_gets_a_deduplication_id_unless_its_content_is_one() {
        let ids = |attributes: &[(QueueAttributeName, &str)]| -> Vec<Option<String>> {
            let attributes = attributes.iter().map(|(name, value)| (name.clone(), (*value).to_owned()));
            let queue = Queue::new("q/a.fifo".to_owned(), String::new(), attributes.collect());
            let message =
                NewMessage { body: "x".to_owned(), group_id: Some("g".to_owned()), ..NewMessage::default() };
            let sending = Sending { place: String::new(), to: Address::Any, message };
            let checked = check(vec![sending.clone(), sending], &queue, "run").unwrap();
            checked.into_iter().map(|sending| sending.message.deduplication_id).collect()
        };
        assert_eq!(ids(&[]), [Some("run-1".to_owned()), Some("run-2".to_owned())]);
        assert_eq!(ids(&[(QueueAttributeName::ContentBasedDeduplication, "true")]), [None, None]);
    }
}
