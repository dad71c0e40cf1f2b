//! A message to send.

use std::time::Duration;

use aws_sdk_sqs::types::{
    MessageSystemAttributeNameForSends, MessageSystemAttributeValue, SendMessageBatchRequestEntry,
};
use redrive_sqs::{Attributes, Outgoing, size};

use super::attributes::to_sdk;
use super::rules::QueueRules;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NewMessage {
    pub(crate) body: String,
    pub(crate) attributes: Attributes,
    pub(crate) group_id: Option<String>,
    pub(crate) deduplication_id: Option<String>,
    pub(crate) trace_header: Option<String>,
    pub(crate) delay: Option<Duration>,
}

impl NewMessage {
    /// Returns the size in bytes that SQS counts toward its limits.
    pub(crate) fn size(&self) -> usize {
        size(&self.body, &self.attributes)
    }

    /// Returns the reason why the queue would refuse it, if any.
    pub(crate) fn fault(&self, to: &QueueRules) -> Option<String> {
        let outgoing = Outgoing {
            body: &self.body,
            attributes: &self.attributes,
            group_id: self.group_id.as_deref(),
            deduplication_id: self.deduplication_id.as_deref(),
            delay: self.delay,
        };
        outgoing.validate(to.is_fifo, to.largest)
    }

    pub(super) fn entry(&self, number: usize) -> SendMessageBatchRequestEntry {
        let delay = self.delay.filter(|delay| !delay.is_zero());
        let mut entry = SendMessageBatchRequestEntry::builder()
            .id(number.to_string())
            .message_body(&self.body)
            .set_message_group_id(self.group_id.clone())
            .set_message_deduplication_id(self.deduplication_id.clone())
            .set_delay_seconds(delay.map(|delay| i32::try_from(delay.as_secs()).unwrap_or(i32::MAX)));
        for (name, attribute) in &self.attributes {
            entry = entry.message_attributes(name, to_sdk(attribute));
        }
        if let Some(header) = &self.trace_header {
            let value = MessageSystemAttributeValue::builder().data_type("String").string_value(header);
            entry = entry.message_system_attributes(
                MessageSystemAttributeNameForSends::AwsTraceHeader,
                value.build().expect("the type is given"),
            );
        }
        entry.build().expect("id and body are given")
    }
}

impl From<NewMessage> for redrive_send::NewMessage {
    fn from(message: NewMessage) -> Self {
        let mut new = Self::text(message.body);
        for (name, value) in message.attributes {
            new = new.attribute(name, value);
        }
        if let Some(group) = message.group_id {
            new = new.group(group);
        }
        if let Some(id) = message.deduplication_id {
            new = new.deduplication(id);
        }
        if let Some(header) = message.trace_header {
            new = new.trace_header(header);
        }
        match message.delay {
            Some(delay) => new.delay(delay),
            None => new,
        }
    }
}

#[cfg(test)]
mod tests {
    use redrive_sqs::Attribute;

    use super::*;

    #[test]
    fn an_entry_has_all_that_the_message_has() {
        let message = NewMessage {
            body: "b".to_owned(),
            attributes: Attributes::from([("png".to_owned(), Attribute::binary("Binary.png", [0, 255]))]),
            group_id: Some("g".to_owned()),
            deduplication_id: Some("d".to_owned()),
            trace_header: Some("Root=1".to_owned()),
            delay: Some(Duration::from_secs(5)),
        };
        let entry = message.entry(7);
        assert_eq!((entry.id(), entry.message_body(), entry.message_group_id()), ("7", "b", Some("g")));
        assert_eq!((entry.message_deduplication_id(), entry.delay_seconds()), (Some("d"), Some(5)));
        let system = entry.message_system_attributes().expect("one");
        let trace = &system[&MessageSystemAttributeNameForSends::AwsTraceHeader];
        assert_eq!(trace.string_value(), Some("Root=1"));
        let attributes = entry.message_attributes.expect("one");
        assert_eq!(super::super::from_sdk(attributes), message.attributes);
    }
}
