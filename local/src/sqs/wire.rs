//! Requests and responses of AWS JSON 1.0.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use crate::queue::{AttributeValue, ErrorKind, MessageAttribute, SqsError};
use crate::queues::Queues;

/// A request and all that an operation may look at or change.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    request: &'a Request<Bytes>,
    pub(super) queues: &'a mut Queues,
    pub(super) now: SystemTime,
    /// Set by a receive that came back empty and may wait.
    pub(super) wait: Option<Duration>,
}

impl<'a> Asked<'a> {
    pub(super) fn new(request: &'a Request<Bytes>, queues: &'a mut Queues, now: SystemTime) -> Self {
        Self { request, queues, now, wait: None }
    }

    pub(super) fn input<T: DeserializeOwned>(&self) -> Result<T, SqsError> {
        serde_json::from_slice(self.request.body())
            .map_err(|error| SqsError::new(ErrorKind::SerializationException, error.to_string()))
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

pub(super) fn output(body: &impl Serialize) -> Result<Bytes, SqsError> {
    let bytes = serde_json::to_vec(body);
    bytes
        .map(Bytes::from)
        .map_err(|error| SqsError::new(ErrorKind::SerializationException, error.to_string()))
}

pub(super) fn success(body: Bytes) -> Response<Bytes> {
    response(StatusCode::OK, body)
}

/// The answer of an operation that has nothing to say.
pub(super) fn nothing() -> Result<Bytes, SqsError> {
    Ok(Bytes::from_static(b"{}"))
}

pub(super) fn failure(error: &SqsError) -> Response<Bytes> {
    let body = json!({ "__type": error.shape(), "message": error.to_string() });
    let mut response = response(error.status(), Bytes::from(body.to_string()));
    if let Ok(value) = HeaderValue::from_str(&format!("{};Sender", error.code())) {
        response.headers_mut().insert("x-amzn-query-error", value);
    }
    response
}

fn response(status: StatusCode, body: Bytes) -> Response<Bytes> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-amz-json-1.0"));
    if let Ok(id) = HeaderValue::from_str(&Uuid::new_v4().to_string()) {
        headers.insert("x-amzn-requestid", id);
    }
    response
}

/// A message attribute as JSON has it.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct WireAttribute {
    #[serde(skip_serializing_if = "Option::is_none")]
    string_value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    binary_value: Option<String>,
    data_type: String,
}

impl WireAttribute {
    pub(super) fn write(attribute: &MessageAttribute) -> Self {
        let data_type = attribute.data_type.clone();
        match &attribute.value {
            AttributeValue::Text(text) => {
                Self { string_value: Some(text.clone()), binary_value: None, data_type }
            }
            AttributeValue::Binary(bytes) => {
                Self { string_value: None, binary_value: Some(BASE64_STANDARD.encode(bytes)), data_type }
            }
        }
    }

    fn read(self, name: &str) -> Result<MessageAttribute, SqsError> {
        let refused = |what: &str| {
            let message = format!("The message attribute '{name}' {what}.");
            SqsError::new(ErrorKind::InvalidParameterValue, message)
        };
        let value = match (self.string_value, self.binary_value) {
            (Some(text), None) => AttributeValue::Text(text),
            (None, Some(text)) => {
                let bytes = BASE64_STANDARD.decode(text);
                AttributeValue::Binary(bytes.map_err(|_| refused("has a binary value that is not base64"))?)
            }
            (Some(_), Some(_)) => return Err(refused("must not have two values")),
            (None, None) => return Err(refused("must contain a message attribute value")),
        };
        Ok(MessageAttribute { data_type: self.data_type, value })
    }
}

pub(super) fn read_attributes(
    attributes: BTreeMap<String, WireAttribute>,
) -> Result<BTreeMap<String, MessageAttribute>, SqsError> {
    let read = attributes.into_iter().map(|(name, attribute)| {
        let attribute = attribute.read(&name)?;
        Ok((name, attribute))
    });
    read.collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::World;
    use super::*;

    #[test]
    fn a_queue_is_known_by_the_end_of_its_url_and_its_url_has_the_host_of_the_request() {
        let mut world = World::new();
        let answer = world.ask("GetQueueUrl", json!({ "QueueName": "q" }));
        assert_eq!(answer["QueueUrl"], "http://127.0.0.1:4566/123456789012/q");
        for url in ["q", "https://sqs.eu-west-1.amazonaws.com/999/q", "http://127.0.0.1:1/1/q/"] {
            world.ask("GetQueueAttributes", json!({ "QueueUrl": url }));
        }
    }

    #[test]
    fn an_attribute_without_a_value_or_with_bad_base64_is_refused() {
        let mut world = World::new();
        for attribute in [
            json!({ "DataType": "String" }),
            json!({ "DataType": "Binary", "BinaryValue": "%" }),
            json!({ "DataType": "String", "StringValue": "a", "BinaryValue": "AA==" }),
        ] {
            let attributes = json!({ "a": attribute });
            let input = json!({ "QueueUrl": "q", "MessageBody": "b", "MessageAttributes": attributes });
            assert_eq!(world.refused("SendMessage", input).header, "InvalidParameterValue;Sender");
        }
    }
}
