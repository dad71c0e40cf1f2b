//! The operations of SQS and its protocols: AWS JSON 1.0, and the query protocol of older clients.

mod request;
mod attribute;
mod send;
mod receive;
mod acknowledge;
mod batch;
mod manage;
mod inspect;
mod moves;
mod permit;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

use super::Sqs;
use crate::protocol::{Query, SERIALIZATION, Service, UNKNOWN_OPERATION, plain};

pub(crate) static SERVICE: Service<Sqs> = Service {
    name: "sqs",
    operations: &[
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
    ],
    target: Some(("AmazonSQS", "1.0")),
    query: Some(QUERY),
    routes: &[],
    unknown: (UNKNOWN_OPERATION, "The action {} is not valid for this endpoint."),
    unreadable: (SERIALIZATION, "{}"),
    body: plain,
};

/// The names are those of the service model of SDKs that spoke the query protocol, such as botocore up to 1.31.80.
const QUERY: Query = Query {
    version: "2012-11-05",
    namespace: "http://queue.amazonaws.com/doc/2012-11-05/",
    flat: true,
    lists: &[
        ("AWSAccountIds", "AWSAccountId"),
        ("Actions", "ActionName"),
        ("AttributeNames", "AttributeName"),
        ("Entries", "{}RequestEntry"),
        ("Failed", "BatchResultErrorEntry"),
        ("MessageAttributeNames", "MessageAttributeName"),
        ("MessageSystemAttributeNames", "MessageSystemAttributeName"),
        ("Messages", "Message"),
        ("QueueUrls", "QueueUrl"),
        ("Results", "ListMessageMoveTasksResultEntry"),
        ("Successful", "{}ResultEntry"),
        ("TagKeys", "TagKey"),
        ("queueUrls", "QueueUrl"),
    ],
    maps: &[
        ("Attributes", "Attribute", "Name"),
        ("MessageAttributes", "MessageAttribute", "Name"),
        ("MessageSystemAttributes", "MessageSystemAttribute", "Name"),
        ("Tags", "Tag", "Key"),
    ],
};
