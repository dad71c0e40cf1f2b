//! The operations of SQS, by name.

use bytes::Bytes;

use super::asked::Asked;
use super::{acknowledge, inspect, manage, moves, permit, receive, send};
use crate::queue::SqsError;

pub(super) type Operation = fn(&mut Asked<'_>) -> Result<Bytes, SqsError>;

const OPERATIONS: [(&str, Operation); 23] = [
    ("AddPermission", permit::add),
    ("CancelMessageMoveTask", moves::cancel),
    ("ChangeMessageVisibility", acknowledge::change_visibility),
    ("ChangeMessageVisibilityBatch", acknowledge::change_visibility_batch),
    ("CreateQueue", manage::create),
    ("DeleteMessage", acknowledge::delete),
    ("DeleteMessageBatch", acknowledge::delete_batch),
    ("DeleteQueue", manage::delete),
    ("GetQueueAttributes", inspect::attributes),
    ("GetQueueUrl", inspect::url),
    ("ListDeadLetterSourceQueues", inspect::list_sources),
    ("ListMessageMoveTasks", moves::list),
    ("ListQueueTags", manage::tags),
    ("ListQueues", inspect::list),
    ("PurgeQueue", manage::purge),
    ("ReceiveMessage", receive::receive),
    ("RemovePermission", permit::remove),
    ("SendMessage", send::one),
    ("SendMessageBatch", send::batch),
    ("SetQueueAttributes", manage::set_attributes),
    ("StartMessageMoveTask", moves::start),
    ("TagQueue", manage::tag),
    ("UntagQueue", manage::untag),
];

pub(super) fn operation(name: &str) -> Option<Operation> {
    OPERATIONS.iter().find(|(known, _)| *known == name).map(|(_, operation)| *operation)
}
