//! Settles the messages of a batch after its invocation.

use super::EventKind;
use super::invocation::{Finished, Judgement};
use super::state::WorldState;
use super::world::World;
use crate::cloudwatch::Invoked;
use crate::mapping::MappingConfig;
use crate::queue::Received;

/// Deletes the messages that succeeded, and reports those that failed. A failed message keeps its visibility timeout.
pub(super) fn settle(world: &World, config: &MappingConfig, finished: &Finished) {
    let Judgement { outcome, failed, behind, ignored } = finished.judge(config);
    world.act(|state, now| {
        state.account.cloudwatch.invoked(Invoked {
            function: &config.function,
            started_at: now - finished.duration,
            duration: finished.duration,
            failed: outcome.is_error(),
        });
        state.report(finished.event(config, outcome, failed.len()));
        for message in &finished.invocation.messages {
            let Received { message_id, receipt_handle, receive_count, .. } = message;
            let queue = config.queue.clone();
            if ignored.contains(message_id.as_str()) {
                state.messages.ignore_failure(message_id);
            }
            if !failed.contains(message_id.as_str())
                && state.account.sqs.delete(&queue, receipt_handle, now).is_ok()
            {
                continue;
            }
            let visibility_timeout = state.account.sqs.visibility_timeout(&queue).unwrap_or_default();
            let delivery = (queue.as_str(), message_id.as_str(), *receive_count);
            let ran = !behind.contains(message_id.as_str());
            let events = state.messages.give_back(delivery, ran, visibility_timeout, now);
            events.into_iter().for_each(|kind| state.report(kind));
        }
    });
}

/// Reports that no function saw these messages while they were hidden.
pub(super) fn give_back(state: &mut WorldState, queue: &str, messages: &[Received]) {
    for Received { message_id, receive_count, .. } in messages {
        if state.messages.not_delivered(message_id, *receive_count) {
            let (queue, message_id, attempt) = (queue.to_owned(), message_id.clone(), *receive_count);
            state.report(EventKind::NotDelivered { queue, message_id, attempt });
        }
    }
}
