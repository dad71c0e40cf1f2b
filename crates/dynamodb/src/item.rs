//! Items in the layout of Powertools, with additional attributes of redrive, which items of Powertools lack.

use std::collections::HashMap;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::types::AttributeValue;
use redrive::once::{Claim, End, Record};

pub(crate) type Item = HashMap<String, AttributeValue>;

pub(crate) const IN_PROGRESS: &str = "INPROGRESS";
pub(crate) const COMPLETED: &str = "COMPLETED";
pub(crate) const REJECTED: &str = "rejected";
const DISCARDED: &str = "discarded";
const DONE: &str = "done";

/// Returns the item of a record whose message has not ended.
pub(crate) fn item_of(id: String, record: &Record) -> Item {
    let mut item = Item::from([
        ("id".to_owned(), text(id)),
        ("status".to_owned(), text(IN_PROGRESS)),
        ("expiration".to_owned(), seconds(record.expires)),
        ("in_progress_expiration".to_owned(), millis(record.lease_until)),
        ("token".to_owned(), text(&*record.token)),
        ("redrives".to_owned(), number(record.redrives)),
    ]);
    item.extend(record.payload.clone().map(|payload| ("validation".to_owned(), text(payload))));
    item
}

/// Returns the attributes that record how a message ended.
pub(crate) fn end_of(end: &End) -> Vec<(&'static str, AttributeValue)> {
    match end {
        End::Done => vec![("outcome", text(DONE))],
        End::Discarded => vec![("outcome", text(DISCARDED))],
        End::Rejected { reason, error } => {
            let reason = reason.as_deref().map(|reason| ("reason", text(reason)));
            [("outcome", text(REJECTED)), ("error", text(&**error))].into_iter().chain(reason).collect()
        }
    }
}

/// Reads the record from an item. The error names the wrong attribute, and what is allowed.
pub(crate) fn record_of(item: &Item) -> Result<Record, String> {
    // The latest instant that every platform supports: the end of the year 9999.
    let never = UNIX_EPOCH + Duration::from_secs(253_402_300_799);
    let is_ours = item.contains_key("redrives");
    let own = |name| if is_ours { text_in(item, name) } else { Ok(None) };
    let mut record = Record::of(&Claim::new("", ""), UNIX_EPOCH);
    record.token = own("token")?.unwrap_or_default();
    // Powertools hashes differently.
    record.payload = own("validation")?;
    record.redrives = number_in(item, "redrives")?.and_then(|n| u32::try_from(n).ok()).unwrap_or_default();
    record.expires = time_in(item, "expiration", Duration::from_secs)?.unwrap_or(never);
    // If Powertools does not know how much time a function has left, it has the key until the record expires.
    record.lease_until =
        time_in(item, "in_progress_expiration", Duration::from_millis)?.unwrap_or(record.expires);
    record.end = match text_in(item, "status")?.as_deref() {
        Some(IN_PROGRESS) => None,
        Some(COMPLETED) => Some(end_in(item)?),
        other => return Err(fault("status", other, "INPROGRESS, COMPLETED")),
    };
    Ok(record)
}

/// Reads how a message ended. Powertools records only successes.
fn end_in(item: &Item) -> Result<End, String> {
    match text_in(item, "outcome")?.as_deref() {
        None | Some(DONE) => Ok(End::Done),
        Some(DISCARDED) => Ok(End::Discarded),
        Some(REJECTED) => Ok(End::Rejected {
            reason: text_in(item, "reason")?,
            error: text_in(item, "error")?.unwrap_or_default(),
        }),
        other => Err(fault("outcome", other, "done, discarded, rejected")),
    }
}

fn text_in(item: &Item, name: &str) -> Result<Option<String>, String> {
    match item.get(name) {
        None => Ok(None),
        Some(AttributeValue::S(text)) => Ok(Some(text.clone())),
        Some(other) => Err(format!("{name} {other:?}, allowed: a string")),
    }
}

fn number_in(item: &Item, name: &str) -> Result<Option<u64>, String> {
    item.get(name).map(|_| whole_in(item, name)).transpose()
}

pub(crate) fn whole_in<T: FromStr>(item: &Item, name: &str) -> Result<T, String> {
    let allowed = |found: &dyn std::fmt::Debug| format!("{name} {found:?}, allowed: a whole number");
    match item.get(name) {
        None => Err(format!("no {name}, allowed: a whole number")),
        Some(AttributeValue::N(digits)) => digits.parse().map_err(|_| allowed(digits)),
        Some(other) => Err(allowed(other)),
    }
}

fn time_in(item: &Item, name: &str, unit: fn(u64) -> Duration) -> Result<Option<SystemTime>, String> {
    let Some(since) = number_in(item, name)? else { return Ok(None) };
    let time = UNIX_EPOCH.checked_add(unit(since));
    time.map(Some).ok_or_else(|| format!("{name} {since}, allowed: a time"))
}

fn fault(name: &str, found: Option<&str>, allowed: &str) -> String {
    match found {
        Some(found) => format!("{name} {found:?}, allowed: {allowed}"),
        None => format!("no {name}, allowed: {allowed}"),
    }
}

pub(crate) fn text(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

pub(crate) fn number(number: impl Into<u128>) -> AttributeValue {
    AttributeValue::N(number.into().to_string())
}

/// Rounds the end of a lease or a record up, so that it is never shorter than promised.
pub(crate) fn millis(time: SystemTime) -> AttributeValue {
    number(since_1970(time).as_nanos().div_ceil(1_000_000))
}

pub(crate) fn seconds(time: SystemTime) -> AttributeValue {
    number(since_1970(time).as_nanos().div_ceil(1_000_000_000))
}

/// Rounds the current time down.
pub(crate) fn millis_now(now: SystemTime) -> AttributeValue {
    number(since_1970(now).as_millis())
}

pub(crate) fn seconds_now(now: SystemTime) -> AttributeValue {
    number(since_1970(now).as_secs())
}

fn since_1970(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use redrive::once::{Change, Claimed};

    use super::*;

    const NOW: SystemTime = UNIX_EPOCH;

    fn at(millis: u64) -> SystemTime {
        NOW + Duration::from_millis(millis)
    }

    fn digits_of(text: &str) -> AttributeValue {
        AttributeValue::N(text.to_owned())
    }

    /// Returns an item as Powertools for Python writes it, without attributes whose value is empty.
    fn of_powertools(status: &str, expiration: &str, lease: &str) -> Item {
        let numbers = [("expiration", expiration), ("in_progress_expiration", lease)];
        let numbers = numbers.into_iter().filter(|(_, digits)| !digits.is_empty());
        let mut item: Item = numbers.map(|(name, digits)| (name.to_owned(), digits_of(digits))).collect();
        item.insert("id".to_owned(), text("payments#9b2f"));
        item.insert("status".to_owned(), text(status));
        item.insert("validation".to_owned(), text("d41d8cd98f00b204e9800998ecf8427e"));
        item.insert("data".to_owned(), text("{}"));
        item
    }

    #[test]
    fn a_claim_is_read_as_it_was_written() {
        for payload in [None, Some("e3b0".to_owned())] {
            let mut claim = Claim::new("k", "a");
            (claim.payload, claim.redrives) = (payload, 2);
            let record = Record::of(&claim, NOW);
            assert_eq!(record_of(&item_of("k".to_owned(), &record)), Ok(record));
        }
    }

    #[test]
    fn an_end_is_read_as_it_was_written() {
        let rejected = |reason: Option<&str>| End::Rejected {
            reason: reason.map(str::to_owned),
            error: "no".to_owned(),
        };
        for end in [End::Done, End::Discarded, rejected(None), rejected(Some("no-stock"))] {
            let mut record = Record::of(&Claim::new("k", "a"), NOW);
            let mut item = item_of("k".to_owned(), &record);
            item.insert("status".to_owned(), text(COMPLETED));
            item.extend(end_of(&end).into_iter().map(|(name, value)| (name.to_owned(), value)));
            record.change("a", &Change::End { end, keep: Duration::from_secs(3_600) }, NOW);
            assert_eq!(record_of(&item), Ok(record));
        }
    }

    #[test]
    fn a_completed_item_of_powertools_is_done_until_it_expires() {
        let record = record_of(&of_powertools(COMPLETED, "10", "5000")).unwrap();
        let claim = Claim::new("k", "a");
        let done = Claimed::Ended { end: End::Done, payload: None };
        assert_eq!(Record::claimed(Some(&record), &claim, at(9_999)), done);
        assert_eq!(Record::claimed(Some(&record), &claim, at(10_000)), Claimed::Granted);
    }

    #[test]
    fn an_item_in_progress_at_powertools_blocks_until_its_lease_ends() {
        for (lease, ends) in [("5000", 5_000), ("", 10_000)] {
            let record = record_of(&of_powertools(IN_PROGRESS, "10", lease)).unwrap();
            let claim = Claim::new("k", "a");
            let left = Claimed::InProgress { left: Duration::from_millis(1), payload: None };
            assert_eq!(Record::claimed(Some(&record), &claim, at(ends - 1)), left);
            assert_eq!(Record::claimed(Some(&record), &claim, at(ends)), Claimed::Granted);
        }
    }

    #[test]
    fn times_are_never_shorter_than_they_were_promised() {
        let time = UNIX_EPOCH + Duration::new(1, 1);
        assert_eq!((millis(time), seconds(time)), (number(1_001_u32), number(2_u32)));
        assert_eq!((millis_now(time), seconds_now(time)), (number(1_000_u32), number(1_u32)));
        let whole = UNIX_EPOCH + Duration::from_secs(1);
        assert_eq!((millis(whole), seconds(whole)), (number(1_000_u32), number(1_u32)));
    }

    #[test]
    fn an_item_of_another_layout_is_refused_by_attribute_and_value() {
        let with = |name: &str, value| {
            let mut item = of_powertools(COMPLETED, "10", "5000");
            item.insert(name.to_owned(), value);
            record_of(&item).unwrap_err()
        };
        assert_eq!(with("status", text("DONE")), "status \"DONE\", allowed: INPROGRESS, COMPLETED");
        assert_eq!(with("status", number(1_u32)), "status N(\"1\"), allowed: a string");
        assert_eq!(with("expiration", digits_of("1.5")), "expiration \"1.5\", allowed: a whole number");
        assert_eq!(with("expiration", text("soon")), "expiration S(\"soon\"), allowed: a whole number");
        assert_eq!(with("expiration", number(u64::MAX)), format!("expiration {}, allowed: a time", u64::MAX));
        assert_eq!(with("outcome", text("lost")), "outcome \"lost\", allowed: done, discarded, rejected");
        assert_eq!(record_of(&Item::new()), Err("no status, allowed: INPROGRESS, COMPLETED".to_owned()));
    }
}
