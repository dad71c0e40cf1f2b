//! The details of the message that the page shows.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::letter;
use super::shared::Shared;
use crate::{AttributeValue, MessageAttribute, SentMessage};

/// Returns body, attributes, note and log lines. The stream has already sent the row itself.
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

pub(super) fn invocation(shared: &Shared, request_id: &str) -> Value {
    json!({ "logs": shared.model().logs.of(request_id) })
}

fn as_sent(sent: &SentMessage) -> Value {
    let SentMessage { queue, message } = sent;
    let attributes = message.attributes.iter().map(|(name, attribute)| (name.clone(), shown(attribute)));
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

/// An attribute to send: text, or with its type. The value of a `Binary` is base64.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Given {
    Text(String),
    Typed {
        #[serde(rename = "type")]
        data_type: String,
        value: String,
    },
}

impl Given {
    pub(super) fn attribute(self, name: &str) -> Result<MessageAttribute, String> {
        let (data_type, value) = match self {
            Self::Text(value) => return Ok(MessageAttribute::text(&value)),
            Self::Typed { data_type, value } => (data_type, value),
        };
        let value = if is_binary(&data_type) {
            let bytes = BASE64_STANDARD.decode(&value);
            AttributeValue::Binary(bytes.map_err(|wrong| format!("attribute {name} is not base64: {wrong}"))?)
        } else {
            AttributeValue::Text(value)
        };
        Ok(MessageAttribute { data_type, value })
    }
}

fn shown(attribute: &MessageAttribute) -> Value {
    let value = match &attribute.value {
        AttributeValue::Text(text) => text.clone(),
        AttributeValue::Binary(bytes) => BASE64_STANDARD.encode(bytes),
    };
    json!({ "type": attribute.data_type, "value": value })
}

/// Returns true for `Binary`, with or without a custom suffix.
fn is_binary(data_type: &str) -> bool {
    data_type.split('.').next() == Some("Binary")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(json: &Value) -> Result<MessageAttribute, String> {
        serde_json::from_value::<Given>(json.clone()).expect("it is an attribute").attribute("a")
    }

    #[test]
    fn an_attribute_comes_back_as_it_went() {
        let text = |value: &str| AttributeValue::Text(value.to_owned());
        for (data_type, value) in [
            ("String", text("web")),
            ("Number.int", text("7")),
            ("Binary", AttributeValue::Binary(vec![0, 255])),
            ("Binary.png", AttributeValue::Binary(vec![1])),
        ] {
            let attribute = MessageAttribute { data_type: data_type.to_owned(), value };
            assert_eq!(given(&shown(&attribute)), Ok(attribute));
        }
        assert_eq!(given(&json!("web")), Ok(MessageAttribute::text("web")));
    }

    #[test]
    fn a_binary_value_that_is_no_base64_is_refused_by_its_name() {
        let refused = given(&json!({ "type": "Binary", "value": "???" })).unwrap_err();
        assert!(refused.starts_with("attribute a is not base64"), "{refused}");
    }
}
