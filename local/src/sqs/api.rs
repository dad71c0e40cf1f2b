//! The wire protocols of SQS, as a function of the queues, a request and the time.
//!
//! Unmodified SDKs and the AWS command line speak AWS JSON 1.0, older ones the query protocol. There is one table of
//! operations for both.

mod perform;
mod asked;
mod protocol;
mod json;
mod query;
mod names;
mod xml;
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
mod testing;

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{Request, Response};

use crate::queue::{ErrorKind, SqsError};
use crate::sqs::Sqs;
use asked::Asked;
use protocol::Input;

/// What a request was, for whoever counts calls or lets one wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    /// The operation's name, as in `ReceiveMessage`.
    pub(crate) operation: String,
    /// Set for a receive that came back empty and may be asked again.
    pub(crate) wait: Option<Wait>,
}

/// How a receive waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wait {
    /// From its beginning to its end.
    pub(crate) longest: Duration,
    /// When a message may become receivable by itself.
    pub(crate) receivable: Option<SystemTime>,
}

/// Whether the request is for SQS, in either protocol.
pub(crate) fn is_sqs(request: &Request<Bytes>) -> bool {
    protocol::operation(request).is_some()
}

/// Answers one request. Whatever it holds, there is an answer.
pub(crate) fn answer(queues: &mut Sqs, request: &Request<Bytes>, now: SystemTime) -> (Response<Bytes>, Call) {
    let operation = protocol::operation(request).unwrap_or_default();
    let input = Input::new(request, &operation);
    let protocol = input.protocol();
    let mut asked = Asked::new(request, input, queues, now);
    let result = match perform::operation(&operation) {
        Some(perform) => perform(&mut asked),
        None => Err(SqsError::new(
            ErrorKind::UnknownOperation,
            format!("The action {operation} is not valid for this endpoint."),
        )),
    };
    let wait = asked.wait;
    let response = protocol.response(result);
    (response, Call { operation, wait })
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
        let error = world.refused("Dance", json!({}));
        assert_eq!(error.header, "InvalidAction;Sender");
        assert!(error.message.contains("action Dance is"), "{}", error.message);
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
