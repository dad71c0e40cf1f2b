//! Deletes messages.

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::DeleteMessageBatchRequestEntry;
use redrive_sqs::LaneMessage;

use super::calls::{Calls, Step};
use super::pace::Pace;
use super::signals::Stop;
use crate::find::Queue;

/// Deletes messages by receipt handle, each as long as `is_ready` allows it right before the call. With `stop` it ends when it is
/// time to stop. Without, it deletes all, as it must for messages that were sent elsewhere.
pub(crate) async fn delete(
    sqs: &Client,
    from: &Queue,
    handles: &[String],
    pace: &Pace,
    stop: Option<&Stop>,
    is_ready: impl Fn(usize) -> bool,
) -> Step {
    let mut calls = Calls::new(format!("delete from {}", from.name()), "sqs:DeleteMessage", pace, stop);
    for number in 0..handles.len() {
        calls.lanes.push(number, LaneMessage { group: None, size: 0 });
    }
    let call = async |numbers: &[usize]| {
        let entries = numbers.iter().map(|number| {
            let entry = DeleteMessageBatchRequestEntry::builder().id(number.to_string());
            entry.receipt_handle(&handles[*number]).build().expect("id and handle are given")
        });
        let call = sqs.delete_message_batch().queue_url(&from.url);
        let answer = call.set_entries(Some(entries.collect())).send().await?;
        Ok((answer.successful.into_iter().map(|entry| (entry.id, None)).collect(), answer.failed))
    };
    let mut all = Step::default();
    while let Some(step) = calls.next(&is_ready, call).await {
        all.outcomes.extend(step.outcomes);
        all.fatal = step.fatal;
    }
    all.outcomes.extend(calls.finish());
    all
}
