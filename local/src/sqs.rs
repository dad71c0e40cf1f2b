//! The wire protocol of SQS, AWS JSON 1.0, as a function of the queues, a request and the time.
//!
//! Unmodified SDKs and the AWS command line speak it. An error carries the JSON shape's name in its body and the
//! code of the retired query protocol in a header, since some SDKs match on one and some on the other.

mod acknowledge;
mod batch;
mod manage;
mod receive;
mod send;
#[cfg(test)]
mod testing;
mod wire;

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{Request, Response};

use crate::queue::{ErrorKind, SqsError};
use crate::queues::Queues;
use wire::Asked;

/// What a request was, for whoever counts calls or lets one wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    /// The operation's name, as in `ReceiveMessage`.
    pub(crate) operation: String,
    /// A receive that came back empty and may be asked again until this much time has passed.
    pub(crate) wait: Option<Duration>,
}

const TARGET: &str = "x-amz-target";
const SERVICE: &str = "AmazonSQS.";

/// Whether the request names an operation of SQS.
pub(crate) fn is_sqs(request: &Request<Bytes>) -> bool {
    request.headers().get(TARGET).is_some_and(|target| target.as_bytes().starts_with(SERVICE.as_bytes()))
}

/// Answers one request. Whatever it holds, there is an answer.
pub(crate) fn answer(
    queues: &mut Queues,
    request: &Request<Bytes>,
    now: SystemTime,
) -> (Response<Bytes>, Call) {
    let target = request.headers().get(TARGET).and_then(|target| target.to_str().ok()).unwrap_or_default();
    let operation = target.strip_prefix(SERVICE).unwrap_or(target);
    let mut asked = Asked::new(request, queues, now);
    let result = perform(operation, &mut asked);
    let wait = asked.wait;
    let response = match result {
        Ok(body) => wire::success(body),
        Err(error) => wire::failure(&error),
    };
    (response, Call { operation: operation.to_owned(), wait })
}

fn perform(operation: &str, asked: &mut Asked<'_>) -> Result<Bytes, SqsError> {
    match operation {
        "SendMessage" => send::one(asked),
        "SendMessageBatch" => send::batch(asked),
        "ReceiveMessage" => receive::receive(asked),
        "DeleteMessage" => acknowledge::delete(asked),
        "DeleteMessageBatch" => acknowledge::delete_batch(asked),
        "ChangeMessageVisibility" => acknowledge::change_visibility(asked),
        "ChangeMessageVisibilityBatch" => acknowledge::change_visibility_batch(asked),
        "CreateQueue" => manage::create(asked),
        "DeleteQueue" => manage::delete(asked),
        "PurgeQueue" => manage::purge(asked),
        "GetQueueUrl" => manage::url(asked),
        "ListQueues" => manage::list(asked),
        "ListDeadLetterSourceQueues" => manage::list_sources(asked),
        "GetQueueAttributes" => manage::attributes(asked),
        "SetQueueAttributes" => manage::set_attributes(asked),
        "TagQueue" => manage::tag(asked),
        "UntagQueue" => manage::untag(asked),
        "ListQueueTags" => manage::tags(asked),
        _ => Err(SqsError::new(
            ErrorKind::UnknownOperation,
            format!("redrive-local does not have the SQS operation \"{operation}\""),
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::testing::{World, request};
    use super::*;

    #[test]
    fn an_operation_is_known_by_its_target() {
        let with = |target: &str| is_sqs(&request(target, &json!({})));
        assert!(with("AmazonSQS.SendMessage"));
        assert!(!with("GraniteServiceVersion20100801.PutMetricData"));
        assert!(!is_sqs(&Request::new(Bytes::new())));
    }

    #[test]
    fn an_unknown_operation_is_refused_by_name() {
        let mut world = World::new();
        let error = world.refused("StartMessageMoveTask", json!({}));
        assert_eq!(error.header, "UnknownOperationException;Sender");
        assert!(error.message.contains("\"StartMessageMoveTask\""), "{}", error.message);
        let (response, call) = answer(&mut world.queues, &Request::new(Bytes::new()), SystemTime::UNIX_EPOCH);
        assert_eq!((response.status().as_u16(), call.operation.as_str()), (400, ""));
    }

    #[test]
    fn an_error_has_shape_message_status_and_the_header_of_the_query_protocol() {
        let mut world = World::new();
        let error = world.refused("ReceiveMessage", json!({ "QueueUrl": "http://h/1/none" }));
        assert_eq!(error.status, 400);
        assert_eq!(error.shape, "com.amazonaws.sqs#QueueDoesNotExist");
        assert_eq!(error.header, "AWS.SimpleQueueService.NonExistentQueue;Sender");
        assert_eq!(error.message, "The specified queue does not exist.");
    }

    #[test]
    fn a_body_that_is_no_json_or_of_another_type_is_refused() {
        let mut world = World::new();
        for body in ["", "[", "7", r#"{"QueueUrl": 7}"#] {
            let mut request = request("AmazonSQS.SendMessage", &json!({}));
            *request.body_mut() = Bytes::from(body);
            let (response, _) = answer(&mut world.queues, &request, SystemTime::UNIX_EPOCH);
            assert_eq!(response.status(), 400, "{body}");
        }
    }

    #[test]
    fn a_missing_parameter_is_named() {
        let mut world = World::new();
        let error = world.refused("SendMessage", json!({ "MessageBody": "a" }));
        assert_eq!(error.header, "MissingParameter;Sender");
        assert_eq!(error.message, "The request must contain the parameter QueueUrl.");
    }
}
