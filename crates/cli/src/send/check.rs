//! Finds messages that SQS would refuse, before any is sent. Pure.

use anyhow::{Context, bail};
use redrive_sqs::cut_to;

use super::read::Given;
use crate::find::Queue;
use crate::messages::Address;
use crate::sqs::QueueRules;

/// Checks all messages, and adds deduplication ids if needed.
///
/// # Errors
/// The queue would refuse a message: the error names the first one.
pub(super) fn check(given: Vec<Given>, queue: &Queue, run: &str) -> anyhow::Result<Vec<Given>> {
    let rules = QueueRules::of(queue);
    let checked = given.into_iter().enumerate().map(|(index, mut given)| {
        check_one(&given, queue.name(), &rules).with_context(|| given.place.clone())?;
        let message = &mut given.message;
        if rules.is_fifo && !rules.deduplicates_by_content && message.deduplication_id.is_none() {
            message.deduplication_id = Some(format!("{run}-{}", index + 1));
        }
        Ok(given)
    });
    checked.collect()
}

fn check_one(Given { to, message, .. }: &Given, name: &str, rules: &QueueRules) -> anyhow::Result<()> {
    if let Address::Queue(queue) = to
        && queue != name
        && !name.ends_with(&format!("-{queue}"))
    {
        bail!("it is for the queue {}, not for {name}", cut_to(queue, 80));
    }
    match message.fault(rules) {
        Some(fault) => bail!(fault),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_sqs::types::QueueAttributeName;

    use super::*;
    use crate::sqs::NewMessage;

    fn refusal(is_fifo: bool, line: &str) -> String {
        let given = super::super::read::of_text("stdin", line).unwrap().remove(0);
        let name = if is_fifo { "orders.fifo" } else { "shop-orders" };
        let checked = check_one(&given, name, &QueueRules::for_tests(is_fifo, 1_000));
        checked.err().map(|error| error.to_string()).unwrap_or_default()
    }

    /// Returns an event with an attribute of any type.
    fn event(data_type: &str, value: &str) -> String {
        let attribute = serde_json::json!({ "n": { "dataType": data_type, "stringValue": value } });
        serde_json::json!({ "Records": [{ "body": "x", "messageAttributes": attribute }] }).to_string()
    }

    #[test]
    fn a_message_that_sqs_would_refuse_is_named() {
        let long = format!(r#"{{"body": "{}"}}"#, "a".repeat(1_001));
        let many: Vec<String> = (0..11).map(|number| format!("\"a{number}\": \"1\"")).collect();
        let many = format!(r#"{{"body": "x", "attributes": {{{}}}}}"#, many.join(","));
        for (line, expected) in [
            (r#"{"body": ""}"#, "the body is empty"),
            (r#"{"body": "\u0001"}"#, "the body contains the character \\u{1}"),
            (r#"{"body": "x", "attributes": {"AWS.a": "1"}}"#, "the attribute name is \"AWS.a\""),
            (r#"{"body": "x", "attributes": {"a": ""}}"#, "the attribute a is empty"),
            (r#"{"body": "x", "group_id": "a b"}"#, "group_id is \"a b\", allowed: 1 to 128"),
            (long.as_str(), "have 1001 bytes, allowed: 1000"),
            (many.as_str(), "11 attributes, allowed: 10"),
            (r#"{"body": "x", "delay": 901}"#, "delay is 901, allowed: 0 to 900 seconds"),
            (
                r#"{"body": "x", "deduplication_id": "a"}"#,
                "deduplication_id is \"a\", allowed for FIFO queues only",
            ),
            (r#"{"body": "x", "queue": "invoices"}"#, "for the queue invoices, not for shop-orders"),
            (r#"{"body": "x", "attributes": {"a..b": "1"}}"#, "\"a..b\""),
            (r#"{"body": "x", "attributes": {"a": "\u0000"}}"#, "\\u{0}"),
            (&event("Number", "many"), "\"many\""),
            (&event("Text", "x"), "\"Text\""),
            (
                &event(&format!("String.{}", "x".repeat(250)), "x"),
                "the type of the attribute n has 257 bytes, allowed: 256",
            ),
        ] {
            assert!(refusal(false, line).contains(expected), "{}", refusal(false, line));
        }
        for line in [
            r#"{"body": "x", "queue": "orders", "delay": 900, "group_id": "fair"}"#,
            r#"{"body": {"a": 1}, "queue": "shop-orders"}"#,
        ] {
            assert_eq!(refusal(false, line), "");
        }
        for (line, expected) in [
            (r#"{"body": "x"}"#, "group_id is missing"),
            (r#"{"body": "x", "group_id": ""}"#, "group_id is \"\""),
            (r#"{"body": "x", "group_id": "a", "deduplication_id": "d d"}"#, "deduplication_id is \"d d\""),
            (r#"{"body": "x", "group_id": "a", "delay": 1}"#, "delay is 1, allowed for standard queues only"),
        ] {
            assert!(refusal(true, line).contains(expected), "{}", refusal(true, line));
        }
        assert_eq!(refusal(true, r#"{"body": "x", "group_id": "a", "deduplication_id": "d"}"#), "");
    }

    #[test]
    fn fifo_messages_get_deduplication_ids_unless_their_content_is_one() {
        let ids = |attributes: &[(QueueAttributeName, &str)]| -> Vec<Option<String>> {
            let attributes = attributes.iter().map(|(name, value)| (name.clone(), (*value).to_owned()));
            let queue = Queue::new("q/a.fifo".to_owned(), String::new(), attributes.collect());
            let message =
                NewMessage { body: "x".to_owned(), group_id: Some("g".to_owned()), ..NewMessage::default() };
            let given = Given { place: String::new(), to: Address::Any, message };
            let checked = check(vec![given.clone(), given], &queue, "run").unwrap();
            checked.into_iter().map(|given| given.message.deduplication_id).collect()
        };
        assert_eq!(ids(&[]), [Some("run-1".to_owned()), Some("run-2".to_owned())]);
        assert_eq!(ids(&[(QueueAttributeName::ContentBasedDeduplication, "true")]), [None, None]);
    }
}
