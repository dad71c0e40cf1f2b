//! Readers that are asked for one field after the other.

use jiter::{Jiter, JiterResult};


pub(crate) fn redrive(text: &str, _: &mut Vec<u8>) -> usize {
    let event = redrive_event::Event::read(text).expect("an event");
    event.records.iter().flat_map(|entry| &entry.body).map(|body| body.0.len()).sum()
}

#[derive(Default)]
struct Entry {
    message_id: Option<String>,
    receipt_handle: Option<String>,
    body: Option<String>,
    source: Option<String>,
    system: [Option<String>; 6],
}

/// What it reads is borrowed from itself, so every text is copied.
pub(crate) fn jiter(text: &str, _: &mut Vec<u8>) -> usize {
    let records = records(&mut Jiter::new(text.as_bytes())).expect("an event");
    records.iter().flat_map(|entry| &entry.body).map(String::len).sum()
}

fn records(json: &mut Jiter<'_>) -> JiterResult<Vec<Entry>> {
    let mut records = Vec::new();
    let mut key = json.next_object()?.map(str::to_owned);
    while let Some(name) = key {
        if name == "Records" {
            let mut more = json.next_array()?.is_some();
            while more {
                records.push(entry(json)?);
                more = json.array_step()?.is_some();
            }
        } else {
            json.next_skip()?;
        }
        key = json.next_key()?.map(str::to_owned);
    }
    json.finish()?;
    Ok(records)
}

#[derive(Clone, Copy)]
enum Field {
    Id,
    Handle,
    Body,
    Source,
    System,
    Other,
}

fn entry(json: &mut Jiter<'_>) -> JiterResult<Entry> {
    let field = |key: &str| match key {
        "messageId" => Field::Id,
        "receiptHandle" => Field::Handle,
        "body" => Field::Body,
        "eventSourceARN" => Field::Source,
        "attributes" => Field::System,
        _ => Field::Other,
    };
    let mut entry = Entry::default();
    let mut key = json.next_object()?.map(field);
    while let Some(name) = key {
        match name {
            Field::Id => entry.message_id = Some(json.next_str()?.to_owned()),
            Field::Handle => entry.receipt_handle = Some(json.next_str()?.to_owned()),
            Field::Body => entry.body = Some(json.next_str()?.to_owned()),
            Field::Source => entry.source = Some(json.next_str()?.to_owned()),
            Field::System => entry.system = system(json)?,
            Field::Other => json.next_skip()?,
        }
        key = json.next_key()?.map(field);
    }
    Ok(entry)
}

fn system(json: &mut Jiter<'_>) -> JiterResult<[Option<String>; 6]> {
    let names = [
        "ApproximateReceiveCount",
        "SentTimestamp",
        "ApproximateFirstReceiveTimestamp",
        "MessageGroupId",
        "MessageDeduplicationId",
        "AWSTraceHeader",
    ];
    let field = |key: &str| names.iter().position(|name| *name == key);
    let mut system: [Option<String>; 6] = Default::default();
    let mut key = json.next_object()?.map(field);
    while let Some(name) = key {
        match name {
            Some(at) => system[at] = Some(json.next_str()?.to_owned()),
            None => json.next_skip()?,
        }
        key = json.next_key()?.map(field);
    }
    Ok(system)
}
