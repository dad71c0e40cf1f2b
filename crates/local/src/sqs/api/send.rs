//! `SendMessage` and `SendMessageBatch`.

use std::collections::BTreeMap;

use redrive_sqs::{LONGEST_DELAY, MAX_BYTES};
use serde::{Deserialize, Serialize};

use super::attribute::{WireAttribute, read_attributes};
use super::batch;
use super::request::{Context, required, seconds};
use crate::protocol::{Answer, AwsError};
use crate::queue::{AttributeValue, MessageAttribute, NewMessage, Sent, error, size};

/// A message, alone or as the entry of a batch.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Message {
    queue_url: Option<String>,
    #[serde(default)]
    id: String,
    message_body: Option<String>,
    delay_seconds: Option<i64>,
    message_attributes: Option<BTreeMap<String, WireAttribute>>,
    message_system_attributes: Option<BTreeMap<String, WireAttribute>>,
    message_deduplication_id: Option<String>,
    message_group_id: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct BatchInput {
    queue_url: Option<String>,
    #[serde(default)]
    entries: Vec<Message>,
}

#[derive(Debug, Serialize)]
struct Entry {
    #[serde(rename = "Id")]
    id: String,
    #[serde(flatten)]
    sent: Sent,
}

pub(super) fn one(context: &mut Context<'_>) -> Answer {
    let mut input: Message = context.input()?;
    let queue = context.queue(input.queue_url.take())?;
    let sent = send(context, &queue, input.read()?)?;
    context.output(&sent)
}

/// Sends a message. X-Ray's HTTP header replaces the trace header of a message that has none.
/// <https://docs.aws.amazon.com/xray/latest/devguide/xray-services-sqs.html>
fn send(context: &mut Context<'_>, queue: &str, mut message: NewMessage) -> Result<Sent, AwsError> {
    let traced = message.trace_header.is_some();
    message.trace_header =
        message.trace_header.or_else(|| context.call.header(TRACE_HEADER).map(str::to_owned));
    let sent = context.service.send(queue, message, context.now)?;
    // The digest covers only attributes that the client sent as such.
    Ok(Sent { md5_of_system_attributes: sent.md5_of_system_attributes.filter(|_| traced), ..sent })
}

const TRACE_HEADER: &str = "x-amzn-trace-id";

pub(super) fn batch(context: &mut Context<'_>) -> Answer {
    let input: BatchInput = context.input()?;
    let queue = context.queue(input.queue_url)?;
    batch::check(input.entries.iter().map(|entry| entry.id.as_str()), "SendMessageBatch")?;
    let messages: Vec<_> =
        input.entries.into_iter().map(|mut entry| (std::mem::take(&mut entry.id), entry.read())).collect();
    context.service.check_batch(&queue, messages.iter().flat_map(|(_, message)| message))?;
    let total: usize = messages.iter().flat_map(|(_, message)| message).map(size).sum();
    if total > MAX_BYTES {
        let message =
            format!("Batch requests cannot be longer than {MAX_BYTES} bytes. You have sent {total} bytes.");
        return Err(error::BATCH_REQUEST_TOO_LONG.error(message));
    }
    let answer = batch::Answer::new(messages.into_iter().map(|(id, message)| {
        let sent = message.and_then(|message| send(context, &queue, message));
        let output = sent.map(|sent| Entry { id: id.clone(), sent });
        (id, output)
    }));
    context.output(&answer)
}

impl Message {
    fn read(self) -> Result<NewMessage, AwsError> {
        let reason = error::delay_seconds();
        let delay = self.delay_seconds.map(|delay| seconds(delay, "DelaySeconds", LONGEST_DELAY, &reason));
        Ok(NewMessage {
            body: required(self.message_body, "MessageBody")?,
            attributes: read_attributes(self.message_attributes.unwrap_or_default())?,
            trace_header: trace_header(self.message_system_attributes.unwrap_or_default())?,
            group_id: self.message_group_id,
            deduplication_id: self.message_deduplication_id,
            delay: delay.transpose()?,
        })
    }
}

/// Reads `AWSTraceHeader`, the only system attribute that a sender may set.
fn trace_header(attributes: BTreeMap<String, WireAttribute>) -> Result<Option<String>, AwsError> {
    let mut attributes = read_attributes(attributes)?;
    let header = attributes.remove("AWSTraceHeader");
    if let Some(name) = attributes.keys().next() {
        let message = format!("Message system attribute name '{name}' is invalid.");
        return Err(error::INVALID_PARAMETER_VALUE.error(message));
    }
    match header {
        None => Ok(None),
        Some(MessageAttribute { data_type, value: AttributeValue::Text(text) }) if data_type == "String" => {
            Ok(Some(text))
        }
        Some(_) => {
            let message = "The message system attribute 'AWSTraceHeader' must be of type String.";
            Err(error::INVALID_PARAMETER_VALUE.error(message))
        }
    }
}
