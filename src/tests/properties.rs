//! Properties of any input of an invocation, for the fuzzers of `dev/fuzz/` and for tests.

use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use redrive_event::Event;
use redrive_sqs::{Attribute, Attributes, DeadLetter};

use crate::message::invocation::Invocation;
use crate::message::meta::Known;
use crate::message::record::{BatchContext, Record};
use crate::message::records::Records;
use crate::telemetry::report::{report, response};
use redrive_engine::plan::plan;
use redrive_engine::{Backoff, MessageOverrides, NextStep, Outcome, Overrides, Settlement};

/// The maxReceiveCount of the queue in [`overrides`].
const MAX_RECEIVE_COUNT: u32 = 10;

/// Checks that an event is read as `serde_json` reads it, or refused, and that each of its records is planned, reported and
/// answered for.
///
/// # Panics
/// The check fails.
pub fn event(payload: &[u8], deadline: Instant) {
    if let Ok(text) = std::str::from_utf8(payload) {
        let usual = redrive_event::read_usual(text);
        assert!(
            usual.is_none_or(|usual| serde_json::from_str::<Event<'_>>(text).ok() == Some(usual)),
            "{text}"
        );
    }
    let limits = limits(deadline);
    if let Ok(records) = Records::read(Bytes::copy_from_slice(payload), &limits) {
        read_to_the_end(records.list());
    }
}

/// Checks that a message gets no more deliveries than its queue gives, and no delay that SQS does not know, or a warning. The
/// first line is its `redrive.max-attempts`, the rest its `redrive.backoff`.
///
/// # Panics
/// The check fails.
pub fn overrides(text: &[u8], deadline: Instant) {
    let text = String::from_utf8_lossy(text);
    let (attempts, backoff) = text.split_once('\n').unwrap_or((&text, "{}"));
    let attribute = |name: &str, value: &str| (name.to_owned(), Attribute::text("String", value));
    let attributes = Attributes::from([
        attribute("redrive.max-attempts", attempts),
        attribute("redrive.backoff", backoff),
    ]);
    let (overrides, warnings) =
        MessageOverrides::read(&attributes, &Backoff::default(), Some(MAX_RECEIVE_COUNT));
    let followed = usize::from(overrides.max_attempts.is_some()) + usize::from(overrides.backoff.is_some());
    assert!(followed + warnings.len() >= 2, "{overrides:?} {warnings:?}");
    let most = limits(deadline).max_attempts(&attributes);
    assert!(most.is_some_and(|most| (1..=MAX_RECEIVE_COUNT).contains(&most)), "{most:?}");
    if let Some(backoff) = overrides.backoff {
        for (attempt, random) in [(1, 0.0), (2, 0.5), (100, 1.0), (u32::MAX, 1.0)] {
            let delay = backoff.delay(attempt, random);
            assert!(delay <= Duration::from_secs(43_200), "{delay:?} after attempt {attempt}: {backoff:?}");
        }
    }
}

fn limits(deadline: Instant) -> BatchContext {
    BatchContext {
        max_receive_count: Some(MAX_RECEIVE_COUNT),
        has_dead_letter_queue: true,
        overrides: Overrides::Less,
        origin_senders: None,
        deadline,
        invocation: Invocation::until(deadline),
    }
}

/// Reads everything that can be read of an event, as a batch of failures would.
pub(crate) fn read_to_the_end(records: &[Record<'_>]) {
    let failed = || Settlement {
        outcome: Outcome::TimedOut,
        action: NextStep::ByRedrivePolicy,
        ..Settlement::default()
    };
    let settled: Vec<_> = records.iter().map(|_| failed()).collect();
    for record in records {
        let attributes = record.attributes();
        let (_, warnings) = MessageOverrides::read(&attributes, &Backoff::default(), Some(MAX_RECEIVE_COUNT));
        assert!(warnings.len() <= 3);
        let _ = DeadLetter::find(&attributes, None);
    }
    let known: Vec<_> =
        records.iter().map(|record| Known { record, depends_on: None, ahead: Duration::ZERO }).collect();
    assert_eq!(plan(&known, false, |known| known).order.len(), records.len());
    let _ = report(records, &settled, SystemTime::UNIX_EPOCH, true);
    let response = response(records, &settled);
    assert!(response.batch_item_failures.iter().all(|failure| !failure.item_identifier.is_empty()));
}

#[cfg(test)]
#[path = "../../dev/fuzz/corpus.rs"]
mod corpus;

#[cfg(test)]
mod tests {
    use super::corpus::check;
    use super::*;

    #[test]
    fn the_corpora_of_the_fuzzers_hold() {
        check("event", &["events"], |payload| event(payload, Instant::now()));
        check("overrides", &[], |text| overrides(text, Instant::now()));
    }
}
