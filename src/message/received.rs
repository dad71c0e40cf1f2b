//! A message that a worker has received.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::types::{Message, MessageAttributeValue, MessageSystemAttributeName as Name};
use redrive_sqs::{Attribute, Attributes};

use crate::message::meta::asked;
use crate::message::record::{BatchContext, Record};
use crate::message::record_fn::{RecordFn, named};
use redrive_engine::decide::Policy;
use redrive_engine::{MessageMeta, MessageOverrides};
use redrive_event::{Borrowed, Entry, UserAttributes};

#[derive(Debug)]
pub(crate) struct ReceivedMessage {
    message: Message,
    attempt: u32,
    attributes: Option<Arc<Attributes>>,
    context: Arc<ReceiveContext>,
}

/// The data that the messages of one receive share.
pub(crate) struct ReceiveContext {
    /// The queue's ARN.
    pub(crate) arn: Arc<str>,
    pub(crate) batch: BatchContext,
    pub(crate) depends_on: Option<RecordFn<Vec<String>>>,
    pub(crate) rate_by: Option<RecordFn<Option<String>>>,
}

impl fmt::Debug for ReceiveContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceiveContext").finish_non_exhaustive()
    }
}

impl ReceivedMessage {
    /// Returns `None` without a message id, because such a message could not be reported.
    pub(crate) fn new(mut message: Message, context: &Arc<ReceiveContext>) -> Option<Self> {
        message.message_id().filter(|id| !id.is_empty())?;
        let attributes = message.message_attributes.take().filter(|attributes| !attributes.is_empty());
        let attributes = attributes.map(|attributes| Arc::new(owned(attributes)));
        let count = text(&message, &Name::ApproximateReceiveCount).and_then(|count| count.parse().ok());
        Some(Self { attempt: count.unwrap_or(1), attributes, context: Arc::clone(context), message })
    }

    pub(crate) fn receipt_handle(&self) -> &str {
        self.message.receipt_handle().unwrap_or_default()
    }

    pub(crate) fn body(&self) -> &str {
        self.message.body().unwrap_or_default()
    }

    /// Returns the size of the body and the attributes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let none = Attributes::default();
        redrive_sqs::size(self.body(), self.attributes.as_deref().unwrap_or(&none))
    }

    /// Returns the record that Lambda would make of this message.
    pub(crate) fn entry<'event>(&'event self, arn: &'event str) -> Entry<'event> {
        let text = |text: Option<&'event str>| text.map(Borrowed::from);
        Entry {
            message_id: text(self.message.message_id()),
            receipt_handle: text(self.message.receipt_handle()),
            body: text(self.message.body()),
            event_source: None,
            source: text(Some(arn)),
            attributes: self.message.attributes().map(|attributes| attributes.iter().collect()),
            message_attributes: self.attributes.clone().map(UserAttributes::Owned),
        }
    }
}

impl ReceivedMessage {
    /// Calls a function of the user for this message.
    fn ask<T: Default>(&self, function: Option<&RecordFn<T>>) -> T {
        let answer = function.and_then(|function| {
            let ReceiveContext { arn, batch, .. } = &*self.context;
            Some(named(function, &Record::new(self.entry(arn), batch)?))
        });
        answer.unwrap_or_default()
    }
}

impl MessageMeta for ReceivedMessage {
    fn id(&self) -> &str {
        self.message.message_id().unwrap_or_default()
    }

    fn attempt(&self) -> u32 {
        self.attempt
    }

    fn group(&self) -> Option<&str> {
        text(&self.message, &Name::MessageGroupId)
    }

    fn overrides(&self, policy: &Policy<'_>) -> Option<(MessageOverrides, Vec<String>)> {
        self.attributes.as_ref().map(|attributes| asked(attributes, policy))
    }

    fn first_received(&self) -> Option<Duration> {
        let milliseconds = text(&self.message, &Name::ApproximateFirstReceiveTimestamp)?;
        milliseconds.parse().ok().map(Duration::from_millis)
    }

    fn dependencies(&self) -> Vec<String> {
        self.ask(self.context.depends_on.as_ref())
    }

    fn rate_key(&self) -> Option<String> {
        self.ask(self.context.rate_by.as_ref())
    }
}

fn text<'m>(message: &'m Message, name: &Name) -> Option<&'m str> {
    message.attributes.as_ref()?.get(name).map(String::as_str)
}

fn owned(attributes: HashMap<String, MessageAttributeValue>) -> Attributes {
    let attribute = |(name, value): (String, MessageAttributeValue)| {
        let attribute = match (value.string_value, value.binary_value) {
            (Some(text), _) => Attribute::text(&value.data_type, text),
            (None, Some(bytes)) => Attribute::binary(&value.data_type, bytes.into_inner()),
            (None, None) => return None,
        };
        Some((name, attribute))
    };
    attributes.into_iter().filter_map(attribute).collect()
}
