//! Writes letters into `orders-dead`, and reads the messages of `orders`.

use std::collections::BTreeSet;

use aws_sdk_sqs::types::{Message, MessageAttributeValue, MessageSystemAttributeName};

use crate::support::{ACCOUNT, Aws, REGION};

pub(crate) use crate::letters::{DEAD, text};

pub(crate) const ORDERS: &str = "orders";

/// What redrive writes beside a letter.
pub(crate) fn note(message_id: &str, reason: &str) -> MessageAttributeValue {
    note_of(ORDERS, message_id, reason)
}

pub(crate) fn note_of(queue: &str, message_id: &str, reason: &str) -> MessageAttributeValue {
    text(&format!(
        r#"{{"reason":"{reason}","error":"card refused","exception":"orders::Refused","failed_at":"2026-11-21T07:50:00.000Z",
        "attempts":3,"message_id":"{message_id}","source":"arn:aws:sqs:{REGION}:{ACCOUNT}:{queue}"}}"#
    ))
}

/// Writes letters as redrive does: bodies `0`, `1`, ... and reasons in turns.
pub(crate) fn write(aws: &Aws, count: usize, reasons: &[&str]) {
    let url = aws.queue_url(DEAD);
    aws.wait(async {
        for number in 0..count {
            let note = note(&format!("m{number}"), reasons[number % reasons.len()]);
            let sent = aws.sqs.send_message().queue_url(&url).message_body(number.to_string());
            sent.message_attributes("redrive.dead-letter", note).send().await.unwrap();
        }
    });
}

/// The orders with so many letters in their dead-letter queue.
pub(crate) fn with_letters(count: usize, reasons: &[&str]) -> Aws {
    let aws = Aws::with_orders(false);
    write(&aws, count, reasons);
    aws
}

/// A letter of a FIFO queue as redrive writes it: with the id of its message as deduplication id.
pub(crate) fn write_in_group(aws: &Aws, group: &str, body: &str, reason: &str) {
    let id = format!("message-{body}");
    let letter = aws.sqs.send_message().queue_url(aws.queue_url("orders-dead.fifo")).message_body(body);
    let letter = letter.message_group_id(group).message_deduplication_id(&id);
    let note = note_of("orders.fifo", &id, reason);
    aws.wait(letter.message_attributes("redrive.dead-letter", note).send()).unwrap();
}

/// Many letters, of which every second is `rejected` and the others are a `panic`.
pub(crate) fn write_many(aws: &Aws, count: usize) {
    use aws_sdk_sqs::types::SendMessageBatchRequestEntry as Entry;
    let url = aws.queue_url(DEAD);
    aws.wait(async {
        for batch in (0..count).collect::<Vec<_>>().chunks(10) {
            let entries = batch.iter().map(|number| {
                let reason = if number % 2 == 0 { "rejected" } else { "panic" };
                let entry =
                    Entry::builder().id(number.to_string()).message_body(format!("{{\"n\":{number}}}"));
                let entry =
                    entry.message_attributes("redrive.dead-letter", note(&format!("m{number}"), reason));
                entry.build().unwrap()
            });
            let call = aws.sqs.send_message_batch().queue_url(&url).set_entries(Some(entries.collect()));
            assert!(call.send().await.unwrap().failed().is_empty());
        }
    });
}

/// Receives what is visible, without putting it back.
pub(crate) fn take(aws: &Aws, queue: &str) -> Vec<Message> {
    let url = aws.queue_url(queue);
    aws.wait(async {
        let mut all = Vec::new();
        loop {
            let received = aws
                .sqs
                .receive_message()
                .queue_url(&url)
                .max_number_of_messages(10)
                .visibility_timeout(600)
                .message_attribute_names("All")
                .message_system_attribute_names(MessageSystemAttributeName::All);
            let messages = received.send().await.unwrap().messages.unwrap_or_default();
            if messages.is_empty() {
                return all;
            }
            all.extend(messages);
        }
    })
}

/// The same, deleted as they come: of a group on a FIFO queue the next ten are handed out then.
pub(crate) fn drain(aws: &Aws, queue: &str) -> Vec<Message> {
    let mut all = Vec::new();
    loop {
        let received = take(aws, queue);
        if received.is_empty() {
            return all;
        }
        for message in &received {
            let delete = aws.sqs.delete_message().queue_url(aws.queue_url(queue));
            aws.wait(delete.set_receipt_handle(message.receipt_handle.clone()).send()).unwrap();
        }
        all.extend(received);
    }
}

/// The bodies that are visible, in the order in which they come.
pub(crate) fn arrived(aws: &Aws, queue: &str) -> Vec<String> {
    take(aws, queue).into_iter().map(|message| message.body.unwrap_or_default()).collect()
}

/// The same, sorted.
pub(crate) fn bodies(aws: &Aws, queue: &str) -> Vec<String> {
    let mut bodies = arrived(aws, queue);
    bodies.sort_by_key(|body| (body.len(), body.clone()));
    bodies
}

/// Each body once.
pub(crate) fn distinct(bodies: &[String]) -> usize {
    bodies.iter().collect::<BTreeSet<_>>().len()
}
