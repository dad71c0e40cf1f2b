//! What must hold of whatever clients send, for the fuzzers of `fuzz/` and for tests.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::{Request, Response};

use crate::clock::ClientClock;
use crate::cloudformation::{CloudFormation, api as cloudformation};
use crate::cloudwatch::{CloudWatch, api as cloudwatch};
use crate::mapping::{Filter, MappingConfig, filtered};
use crate::protocol::{Service, unknown_service};
use crate::queue::NewMessage;
use crate::sqs::{Sqs, api as sqs};

const REGION: &str = "eu-west-1";
const ACCOUNT: &str = "123456789012";
/// A form of the query protocol is answered or refused, and never with an error of ours.
///
/// # Panics
/// It is not.
pub fn query(form: &[u8]) {
    let request =
        Request::post("/123456789012/q").header("content-type", "application/x-www-form-urlencoded");
    answered(&request.body(Bytes::copy_from_slice(form)).expect("a request"));
}

/// A call in CBOR is answered or refused, and never with an error of ours. The first line is CloudWatch's operation.
///
/// # Panics
/// It is not.
pub fn cbor(call: &[u8]) {
    let (operation, input) = call.split_at(call.iter().position(|byte| *byte == b'\n').unwrap_or(0));
    let operation = String::from_utf8_lossy(operation);
    let path = format!("/service/GraniteServiceVersion20100801/operation/{operation}");
    let Ok(request) = Request::post(path).body(Bytes::copy_from_slice(input.get(1..).unwrap_or_default()))
    else {
        return;
    };
    answered(&request);
}

/// A pattern is read as it is written, or refused; and it keeps a message or not, whatever is in it. The first line is
/// the pattern, the rest the body.
///
/// # Panics
/// It is not.
pub fn filter(text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    let (pattern, body) = text.split_once('\n').unwrap_or((&text, "{}"));
    let Ok(filter) = pattern.parse::<Filter>() else { return };
    assert_eq!(filter.as_str().parse(), Ok(filter.clone()));
    let mut queues = queues();
    let message = NewMessage { body: body.to_owned(), ..NewMessage::default() };
    if queues.send("q", message, now()).is_err() {
        return;
    }
    let received = queues.receive("q", 10, None, now()).expect("the queue is there");
    let mapping = MappingConfig { filters: vec![filter.clone(), filter], ..MappingConfig::default() };
    let (kept, dropped) = filtered(received, &mapping, &queues.arn("q"));
    assert_eq!(kept.len() + dropped.len(), 1);
}

fn answered(request: &Request<Bytes>) {
    let response = answer(request);
    assert!(!response.status().is_server_error(), "{request:?}: {response:?}");
    assert_eq!(answer(request).status(), response.status(), "{request:?}");
}

/// In the order of the endpoint, from services that know as little as on the first day.
fn answer(request: &Request<Bytes>) -> Response<Bytes> {
    let mut cloudwatch = CloudWatch::new(REGION, ACCOUNT);
    let mut cloudformation = CloudFormation::new(REGION, ACCOUNT, None, now());
    of(&sqs::SERVICE, &mut queues(), request)
        .or_else(|| of(&cloudwatch::SERVICE, &mut cloudwatch, request))
        .or_else(|| of(&cloudformation::SERVICE, &mut cloudformation, request))
        .unwrap_or_else(|| unknown_service(request))
}

fn of<S>(service: &Service<S>, state: &mut S, request: &Request<Bytes>) -> Option<Response<Bytes>> {
    let call = service.read(request)?;
    Some(service.answer(&call, state, now(), ClientClock::default()).0)
}

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_795_262_400)
}

/// A queue and its dead-letter queue.
fn queues() -> Sqs {
    let mut queues = Sqs::new(REGION, ACCOUNT);
    let policy = format!(r#"{{"deadLetterTargetArn":"{}","maxReceiveCount":3}}"#, queues.arn("dead"));
    let policy = BTreeMap::from([("RedrivePolicy".to_owned(), policy)]);
    for (name, attributes) in [("dead", &BTreeMap::new()), ("q", &policy)] {
        queues.create(name, attributes, now()).expect("it can be made");
    }
    queues
}

#[cfg(test)]
#[path = "../../fuzz/corpus.rs"]
pub(crate) mod corpus;

#[cfg(test)]
mod tests {
    use super::corpus::check;

    #[test]
    fn the_corpora_of_the_fuzzers_hold() {
        check("query", &[], super::query);
        check("cbor", &[], super::cbor);
        check("filter", &[], super::filter);
    }
}
