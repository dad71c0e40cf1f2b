//! Properties that hold for any request, for the fuzzers of `dev/fuzz/` and for tests.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::Request;

use crate::account::Account;
use crate::mapping::{Filter, MappingConfig, filtered};
use crate::queue::NewMessage;

/// Checks that a form of the query protocol is answered or refused, and never causes an error of ours.
///
/// # Panics
/// Panics if the property does not hold.
pub fn query(form: &[u8]) {
    let request =
        Request::post("/123456789012/q").header("content-type", "application/x-www-form-urlencoded");
    answered(&request.body(Bytes::copy_from_slice(form)).expect("a request"));
}

/// Checks that a call in CBOR is answered or refused, and never causes an error of ours. The first line is CloudWatch's
/// operation.
///
/// # Panics
/// Panics if the property does not hold.
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

/// Checks that a pattern is refused or read unchanged, and that it can be matched against any message. The first line is the
/// pattern, the rest the body.
///
/// # Panics
/// Panics if the property does not hold.
pub fn filter(text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    let (pattern, body) = text.split_once('\n').unwrap_or((&text, "{}"));
    let Ok(filter) = pattern.parse::<Filter>() else { return };
    assert_eq!(filter.as_str().parse(), Ok(filter.clone()));
    let mut account = account();
    let message = NewMessage { body: body.to_owned(), ..NewMessage::default() };
    if account.send("q", message, now()).is_err() {
        return;
    }
    let received = account.sqs.receive("q", 10, None, now()).expect("the queue is there");
    let mapping = MappingConfig { filters: vec![filter.clone(), filter], ..MappingConfig::default() };
    let (kept, dropped) = filtered(received, &mapping, &account.queue_arn("q"));
    assert_eq!(kept.len() + dropped.len(), 1);
}

fn answered(request: &Request<Bytes>) {
    let answer = || account().answer(request, now());
    let response = answer();
    assert!(!response.status().is_server_error(), "{request:?}: {response:?}");
    assert_eq!(answer().status(), response.status(), "{request:?}");
}

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_795_262_400)
}

/// Returns a new account with a queue and its dead-letter queue.
fn account() -> Account {
    let mut account = Account::new();
    let policy = format!(r#"{{"deadLetterTargetArn":"{}","maxReceiveCount":3}}"#, account.queue_arn("dead"));
    for (name, policy) in [("dead", None), ("q", Some(("RedrivePolicy", policy.as_str())))] {
        account.create_queue(name, policy, now()).expect("it can be made");
    }
    account
}

#[cfg(test)]
#[path = "../../../dev/fuzz/corpus.rs"]
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
