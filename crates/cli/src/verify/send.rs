//! Sends the messages of a run, and keeps what SQS acknowledged.

use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::operation::send_message::builders::SendMessageFluentBuilder;
use aws_sdk_sqs::types::{MessageAttributeValue, SendMessageBatchRequestEntry};
use futures_util::stream::{self, StreamExt};
use tokio::time::sleep;

use super::plan::{Plan, Planned};
use super::queues::Queues;
use super::tally::Sent;
use super::worker::ATTRIBUTE;

/// Calls for a message that SQS does not acknowledge.
const CALLS: usize = 5;
const PAUSE: Duration = Duration::from_millis(500);

/// Entries of a call, and calls at the same time.
const ENTRIES: usize = 10;
const AT_A_TIME: usize = 4;

/// Sends all messages. The client must attempt each call once, so that all calls are counted.
pub(super) async fn send(sqs: &Client, queues: &Queues, plan: &Plan, run: &str) -> Vec<Sent> {
    let standard: Vec<&Planned> = plan.messages.iter().filter(|each| each.group.is_none()).collect();
    let batches = stream::iter(standard.chunks(ENTRIES))
        .map(|batch| send_batch(sqs, &queues.standard, batch))
        .buffer_unordered(AT_A_TIME)
        .collect::<Vec<_>>();
    let in_order = async {
        let mut sent = Vec::new();
        for planned in plan.messages.iter().filter(|each| each.group.is_some()) {
            sent.push((planned.number, send_in_order(sqs, &queues.fifo, planned, run).await));
        }
        sent
    };
    let (batches, in_order) = tokio::join!(batches, in_order);
    let mut sends = vec![Sent::default(); plan.messages.len()];
    batches.into_iter().flatten().chain(in_order).for_each(|(number, send)| sends[number] = send);
    sends
}

/// Sends some messages of the FIFO queue again, which SQS must take for the same within five minutes.
pub(super) async fn repeat(sqs: &Client, queues: &Queues, plan: &Plan, run: &str) {
    for planned in plan.messages.iter().filter(|planned| planned.is_sent_twice()) {
        // Whatever SQS answers, the message must not be there twice.
        let _ = in_order(sqs, &queues.fifo, planned, run).send().await;
    }
}

/// Sends messages of the standard queue, and those that SQS does not acknowledge again.
async fn send_batch(sqs: &Client, url: &str, batch: &[&Planned]) -> Vec<(usize, Sent)> {
    let mut sends: Vec<_> = batch.iter().map(|planned| (planned.number, Sent::default())).collect();
    for _ in 0..CALLS {
        let open: Vec<_> =
            batch.iter().zip(&mut sends).filter(|(_, (_, send))| !send.is_acknowledged).collect();
        if open.is_empty() {
            break;
        }
        let entries = open.iter().map(|(planned, _)| {
            let entry = SendMessageBatchRequestEntry::builder().id(planned.number.to_string());
            let entry = entry.message_body(planned.body()).message_attributes(ATTRIBUTE, attribute(planned));
            entry.build().expect("an id and a body")
        });
        let answer =
            sqs.send_message_batch().queue_url(url).set_entries(Some(entries.collect())).send().await;
        let successes = answer.map(|answer| answer.successful).unwrap_or_default();
        for (_, (number, send)) in open {
            send.calls += 1;
            send.is_acknowledged = successes.iter().any(|entry| entry.id == number.to_string());
        }
        if sends.iter().any(|(_, send)| !send.is_acknowledged) {
            sleep(PAUSE).await;
        }
    }
    sends
}

/// Sends a message of the FIFO queue. One that SQS does not acknowledge is sent again before the next one, which SQS takes for the
/// same.
async fn send_in_order(sqs: &Client, url: &str, planned: &Planned, run: &str) -> Sent {
    let call = in_order(sqs, url, planned, run);
    let mut send = Sent::default();
    while !send.is_acknowledged && send.calls < CALLS {
        if send.calls > 0 {
            sleep(PAUSE).await;
        }
        send.calls += 1;
        send.is_acknowledged = call.clone().send().await.is_ok();
    }
    send
}

fn in_order(sqs: &Client, url: &str, planned: &Planned, run: &str) -> SendMessageFluentBuilder {
    let group = planned.group.unwrap_or_default().to_string();
    let call = sqs.send_message().queue_url(url).message_group_id(group).message_body(planned.body());
    let call = call.message_attributes(ATTRIBUTE, attribute(planned));
    call.message_deduplication_id(format!("{run}-{}", planned.number))
}

fn attribute(planned: &Planned) -> MessageAttributeValue {
    let number = planned.number.to_string();
    MessageAttributeValue::builder().data_type("String").string_value(number).build().expect("it has a type")
}
