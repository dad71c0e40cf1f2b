//! All that is known of one message, for the one that is looked at.

use serde_json::{Map, Value, json};

use super::shared::Shared;
use super::{attribute, letter};
use crate::SentMessage;

/// Body, attributes, note and log lines. The row itself has come with the stream.
pub(super) fn message(shared: &Shared, id: &str) -> Option<Value> {
    let message = shared.model().find(id)?.clone();
    let is_letter = message.end.as_ref().is_some_and(|end| end.reason.is_some());
    let dead_letter_queue = shared.setup.dead_letter_queues.get(&message.queue).filter(|_| is_letter);
    let note = dead_letter_queue.and_then(|queue| letter::note_for(id, queue, &shared.control));
    let sent = shared.control.message(id);
    let model = shared.model();
    Some(json!({
        "id": id,
        "sent": sent.map(|sent| as_sent(&sent)),
        "note": note,
        "logs": model.logs.of(id),
    }))
}

/// The log lines of an invocation.
pub(super) fn invocation(shared: &Shared, request_id: &str) -> Value {
    json!({ "logs": shared.model().logs.of(request_id) })
}

fn as_sent(sent: &SentMessage) -> Value {
    let SentMessage { queue, message } = sent;
    let attributes =
        message.attributes.iter().map(|(name, attribute)| (name.clone(), attribute::shown(attribute)));
    json!({
        "queue": queue,
        "body": message.body,
        "attributes": attributes.collect::<Map<_, _>>(),
        "group_id": message.group_id,
        "deduplication_id": message.deduplication_id,
        "delay": message.delay.map(|delay| delay.as_secs()),
        "trace_header": message.trace_header,
    })
}
