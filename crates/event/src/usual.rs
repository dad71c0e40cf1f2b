//! Reads an event as Lambda writes it, with [`Json`]. An unusual event, such as one with a repeated field or a number in
//! place of a string, is left to `serde_json`, which also reports errors.

use super::json::Json;
use super::{Borrowed, Entry, Event, System, UserAttributes};

/// Reads an event, or returns `None` if it is unusual.
pub(super) fn read(text: &str) -> Option<Event<'_>> {
    let mut json = Json::new(text);
    let mut records = None;
    json.object(|json, key| match key {
        "Records" => once(&mut records, list(json)),
        _ => json.skip().map(drop),
    })?;
    let records = records.filter(|_| json.is_over())?;
    Some(Event { records })
}

fn list<'event>(json: &mut Json<'event>) -> Option<Vec<Entry<'event>>> {
    let mut records = Vec::new();
    json.array(|json| {
        records.push(entry(json)?);
        Some(())
    })?;
    Some(records)
}

fn entry<'event>(json: &mut Json<'event>) -> Option<Entry<'event>> {
    let mut entry = Entry::default();
    json.object(|json, key| match key {
        "messageId" => once(&mut entry.message_id, text(json)),
        "receiptHandle" => once(&mut entry.receipt_handle, text(json)),
        "body" => once(&mut entry.body, text(json)),
        "eventSource" => once(&mut entry.event_source, text(json)),
        "eventSourceARN" => once(&mut entry.source, text(json)),
        "attributes" => once(&mut entry.attributes, system(json)),
        "messageAttributes" => once(&mut entry.message_attributes, json.skip().map(UserAttributes::Json)),
        _ => json.skip().map(drop),
    })?;
    Some(entry)
}

fn system<'event>(json: &mut Json<'event>) -> Option<System<'event>> {
    let mut system = System::default();
    json.object(|json, key| match system.attribute(key) {
        Some(attribute) => once(attribute, text(json)),
        None => json.skip().map(drop),
    })?;
    Some(system)
}

fn text<'event>(json: &mut Json<'event>) -> Option<Borrowed<'event>> {
    json.text().map(Borrowed)
}

/// Fills a field that has no value yet.
fn once<T>(field: &mut Option<T>, value: Option<T>) -> Option<()> {
    if field.is_some() {
        return None;
    }
    *field = Some(value?);
    Some(())
}

#[cfg(test)]
mod tests;
