//! What becomes of the messages of a batch once it is clear how it ended.

use super::EventKind;
use super::invocation::{Finished, Judgement};
use super::state::State;
use super::world::World;
use crate::cloudwatch::Invoked;
use crate::mapping::MappingConfig;
use crate::queue::Received;

/// Deletes what succeeded and tells what failed. A message that failed is left alone, with the visibility timeout that
/// it has.
pub(super) fn settle(world: &World, config: &MappingConfig, finished: &Finished) {
    let Judgement { outcome, failed, ignored } = finished.judge(config.report_batch_item_failures);
    world.act(|state, now| {
        state.cloudwatch.invoked(Invoked {
            function: &config.function,
            started_at: now - finished.duration,
            duration: finished.duration,
            failed: outcome.is_error(),
        });
        state.tell(finished.event(config, outcome, failed.len()));
        for message in &finished.invocation.messages {
            let Received { message_id, receipt_handle, receive_count, .. } = message;
            let queue = config.queue.clone();
            if ignored.contains(message_id.as_str()) {
                state.tracker.ignore_failure(message_id);
            }
            if !failed.contains(message_id.as_str()) && state.sqs.delete(&queue, receipt_handle, now).is_ok()
            {
                continue;
            }
            let visibility_timeout = state.sqs.visibility_timeout(&queue).unwrap_or_default();
            let Some(seconds) = state.tracker.give_back(message_id, visibility_timeout, now) else {
                continue;
            };
            let (attempt, message_id) = (*receive_count, message_id.clone());
            state.tell(EventKind::Failed { queue: queue.clone(), message_id: message_id.clone(), attempt });
            state.tell(EventKind::BackIn { queue, message_id, seconds });
        }
    });
}

/// Tells that no function saw these messages while they were hidden.
pub(super) fn give_back(state: &mut State, queue: &str, messages: &[Received]) {
    for Received { message_id, .. } in messages {
        if let Some(attempt) = state.tracker.not_delivered(message_id) {
            let (queue, message_id) = (queue.to_owned(), message_id.clone());
            state.tell(EventKind::NotDelivered { queue, message_id, attempt });
        }
    }
}
