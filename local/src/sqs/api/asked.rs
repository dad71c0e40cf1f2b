//! What an operation is asked, whichever protocol asks.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{Request, header};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Wait;
use super::protocol::Input;
use crate::queue::SqsError;
use crate::sqs::Sqs;

/// A request and all that an operation may look at or change.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    request: &'a Request<Bytes>,
    input: Input<'a>,
    pub(super) queues: &'a mut Sqs,
    pub(super) now: SystemTime,
    /// Set by a receive that came back empty and may wait.
    pub(super) wait: Option<Wait>,
}

impl<'a> Asked<'a> {
    pub(super) fn new(
        request: &'a Request<Bytes>,
        input: Input<'a>,
        queues: &'a mut Sqs,
        now: SystemTime,
    ) -> Self {
        Self { request, input, queues, now, wait: None }
    }

    pub(super) fn input<T: DeserializeOwned>(&self) -> Result<T, SqsError> {
        self.input.read()
    }

    pub(super) fn output(&self, output: &impl Serialize) -> Result<Bytes, SqsError> {
        self.input.protocol().output(output)
    }

    /// The answer of an operation that has nothing to say.
    pub(super) fn nothing(&self) -> Result<Bytes, SqsError> {
        Ok(self.input.protocol().nothing())
    }

    /// The URL of a queue at the address where the request came in.
    pub(super) fn url(&self, name: &str) -> String {
        let host = self.request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
        let host = host.or_else(|| self.request.uri().authority().map(|authority| authority.as_str()));
        format!("http://{}/{}/{name}", host.unwrap_or("localhost"), self.queues.account())
    }

    /// The name at the end of a queue's URL, whatever comes before.
    pub(super) fn queue(&self, url: Option<String>) -> Result<String, SqsError> {
        let url = required(url, "QueueUrl")?;
        let name = url.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        if self.queues.exists(name) { Ok(name.to_owned()) } else { Err(SqsError::no_such_queue()) }
    }
}

pub(super) fn required<T>(value: Option<T>, parameter: &str) -> Result<T, SqsError> {
    value.ok_or_else(|| SqsError::missing(parameter))
}

/// A number of seconds within a range that begins at zero.
pub(super) fn seconds(value: i64, parameter: &str, most: u64, reason: &str) -> Result<Duration, SqsError> {
    match u64::try_from(value) {
        Ok(seconds) if seconds <= most => Ok(Duration::from_secs(seconds)),
        _ => Err(SqsError::invalid(parameter, value, reason)),
    }
}

pub(super) fn visibility_timeout(value: i64) -> Result<Duration, SqsError> {
    seconds(value, "VisibilityTimeout", 43_200, "Must be between 0 and 43200, if provided.")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::World;

    #[test]
    fn a_queue_is_known_by_the_end_of_its_url_and_its_url_has_the_host_of_the_request() {
        let mut world = World::new();
        let answer = world.ask("GetQueueUrl", json!({ "QueueName": "q" }));
        assert_eq!(answer["QueueUrl"], "http://127.0.0.1:4566/123456789012/q");
        for url in ["q", "https://sqs.eu-west-1.amazonaws.com/999/q", "http://127.0.0.1:1/1/q/"] {
            world.ask("GetQueueAttributes", json!({ "QueueUrl": url }));
        }
    }
}
