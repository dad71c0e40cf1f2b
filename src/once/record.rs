//! The record of a key, and the rules for changing it. They are functions of values: the store's clock is an argument.

use std::time::{Duration, SystemTime};

/// A delivery that wants to handle a message.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Claim {
    /// The idempotency key, 1 to 1,024 bytes.
    pub key: String,
    /// A token that no other delivery has.
    pub token: String,
    /// The SHA-256 of the body in hexadecimal digits, with [`Once::check_payload`](super::Once::check_payload).
    pub payload: Option<String>,
    /// The number of times that the message was retried from a dead-letter queue, see
    /// [`Message::redrives`](crate::Message::redrives).
    pub redrives: u32,
    /// The time for which the claim lasts unless it is renewed.
    pub lease: Duration,
    /// The minimum time for which the store keeps the record.
    pub keep: Duration,
}

impl Claim {
    /// Creates a claim for the test of a store. It lasts 30 s, and the record is kept for an hour.
    #[must_use]
    pub fn new(key: impl Into<String>, token: impl Into<String>) -> Self {
        let (lease, keep) = (Duration::from_secs(30), Duration::from_secs(3_600));
        Self { key: key.into(), token: token.into(), payload: None, redrives: 0, lease, keep }
    }
}

/// The answer to a [`Claim`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a store has to know each")]
pub enum Claimed {
    /// This delivery has the key until the lease ends.
    Granted,
    /// Another delivery has the key.
    InProgress {
        /// The time until its lease ends.
        left: Duration,
        /// The [payload](Claim::payload) of the other delivery.
        payload: Option<String>,
    },
    /// The message was handled before.
    Ended {
        /// The end that was recorded.
        end: End,
        /// The [payload](Claim::payload) of the message that ended.
        payload: Option<String>,
    },
}

/// The end of a message.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a store has to know each")]
pub enum End {
    /// Its handler returned `Ok`.
    Done,
    /// Its handler discarded it.
    Discarded,
    /// Its handler rejected it.
    Rejected {
        /// The handler's own reason.
        reason: Option<String>,
        /// The error and its sources, at most 256 characters.
        error: String,
    },
}

/// A change to the record of a key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a store has to know each")]
pub enum Change {
    /// The handler still runs: the lease lasts this long from now.
    Renew(Duration),
    /// The message failed: the next delivery may claim the key at once.
    Release,
    /// The message has ended.
    End {
        /// The end to record.
        end: End,
        /// The minimum time from now for which the store keeps the record.
        keep: Duration,
    },
}

/// The data that a store keeps for a key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Record {
    /// The token of the delivery that wrote the record last.
    pub token: String,
    /// The end of the message, or `None` if it has not ended.
    pub end: Option<End>,
    /// The end of the lease, if the message has not ended.
    pub lease_until: SystemTime,
    /// The time from which the record no longer counts.
    pub expires: SystemTime,
    /// Like [`Claim::payload`].
    pub payload: Option<String>,
    /// Like [`Claim::redrives`].
    pub redrives: u32,
}

impl Record {
    /// Creates the record of a claim that is granted now.
    #[must_use]
    pub fn of(claim: &Claim, now: SystemTime) -> Self {
        Self {
            token: claim.token.clone(),
            end: None,
            lease_until: now + claim.lease,
            expires: now + claim.keep.max(claim.lease),
            payload: claim.payload.clone(),
            redrives: claim.redrives,
        }
    }

    /// Returns the answer to a claim, given the record of its key.
    ///
    /// A rejected message may run again after it was retried from a dead-letter queue, because somebody may have corrected the
    /// message or the program.
    #[must_use]
    pub fn claimed(record: Option<&Self>, claim: &Claim, now: SystemTime) -> Claimed {
        let Some(record) = record.filter(|record| record.expires > now) else { return Claimed::Granted };
        let payload = record.payload.clone();
        match &record.end {
            None if record.lease_until <= now || record.token == claim.token => Claimed::Granted,
            None => {
                let left = record.lease_until.duration_since(now).unwrap_or_default();
                Claimed::InProgress { left, payload }
            }
            Some(End::Rejected { .. }) if record.redrives < claim.redrives => Claimed::Granted,
            Some(end) => Claimed::Ended { end: end.clone(), payload },
        }
    }

    /// Applies a change if it comes from the delivery that has the key. Returns false if it does not apply. A repeated change
    /// is confirmed again, because its first answer may have been lost.
    pub fn change(&mut self, token: &str, change: &Change, now: SystemTime) -> bool {
        if self.token != token {
            return false;
        }
        match change {
            Change::End { end, keep } if self.end.is_none() => {
                self.end = Some(end.clone());
                self.expires = now + *keep;
            }
            Change::End { end, .. } => return self.end.as_ref() == Some(end),
            Change::Renew(_) | Change::Release if self.end.is_some() => return false,
            Change::Renew(lease) => {
                self.lease_until = now + *lease;
                self.expires = self.expires.max(self.lease_until);
            }
            Change::Release => {
                self.lease_until = now;
                // A renewal that arrives later must not claim the key again.
                self.token.clear();
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: SystemTime = SystemTime::UNIX_EPOCH;

    const fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn end(end: End) -> Change {
        Change::End { end, keep: secs(100) }
    }

    fn rejected() -> End {
        End::Rejected { reason: Some("no-stock".to_owned()), error: "sold out".to_owned() }
    }

    #[test]
    fn a_key_is_granted_to_one_token_until_its_lease_ends() {
        let (first, second) = (Claim::new("k", "a"), Claim::new("k", "b"));
        assert_eq!(Record::claimed(None, &first, NOW), Claimed::Granted);
        let record = Record::of(&first, NOW);
        assert_eq!(Record::claimed(Some(&record), &first, NOW), Claimed::Granted, "its answer was lost");
        let left = Claimed::InProgress { left: secs(29), payload: None };
        assert_eq!(Record::claimed(Some(&record), &second, NOW + secs(1)), left);
        assert_eq!(Record::claimed(Some(&record), &second, NOW + secs(30)), Claimed::Granted);
    }

    #[test]
    fn only_the_token_that_has_the_key_changes_the_record() {
        for change in [Change::Renew(secs(60)), Change::Release, end(End::Done)] {
            let mut record = Record::of(&Claim::new("k", "b"), NOW);
            let before = record.clone();
            assert!(!record.change("a", &change, NOW), "{change:?}");
            assert_eq!(record, before, "{change:?}");
            assert!(record.change("b", &change, NOW), "{change:?}");
            assert_ne!(record, before, "{change:?}");
        }
    }

    #[test]
    fn a_released_key_is_granted_at_once_and_a_renewed_one_later() {
        let mut record = Record::of(&Claim::new("k", "a"), NOW);
        assert!(record.change("a", &Change::Renew(secs(30)), NOW + secs(20)));
        let second = Claim::new("k", "b");
        let answer = |record: &Record, at| Record::claimed(Some(record), &second, NOW + secs(at));
        assert_eq!(answer(&record, 40), Claimed::InProgress { left: secs(10), payload: None });
        assert!(record.change("a", &Change::Release, NOW + secs(41)));
        assert_eq!(answer(&record, 41), Claimed::Granted);
    }

    #[test]
    fn an_ended_message_stays_ended_until_its_record_expires() {
        let mut record = Record::of(&Claim::new("k", "a"), NOW);
        assert!(record.change("a", &end(End::Done), NOW + secs(10)));
        assert!(record.change("a", &end(End::Done), NOW + secs(11)), "its answer was lost");
        for late in [Change::Release, Change::Renew(secs(30)), end(rejected())] {
            assert!(!record.change("a", &late, NOW + secs(11)), "{late:?}");
        }
        let second = Claim::new("k", "b");
        let done = Claimed::Ended { end: End::Done, payload: None };
        assert_eq!(Record::claimed(Some(&record), &second, NOW + secs(109)), done);
        assert_eq!(Record::claimed(Some(&record), &second, NOW + secs(110)), Claimed::Granted);
    }

    #[test]
    fn a_rejected_message_runs_again_only_after_a_retry_from_the_dlq() {
        let mut record = Record::of(&Claim::new("k", "a"), NOW);
        record.change("a", &end(rejected()), NOW);
        let again = |redrives| Claim { redrives, ..Claim::new("k", "b") };
        let ended = Claimed::Ended { end: rejected(), payload: None };
        assert_eq!(Record::claimed(Some(&record), &again(0), NOW), ended);
        assert_eq!(Record::claimed(Some(&record), &again(1), NOW), Claimed::Granted);
        record.end = Some(End::Done);
        let done = Claimed::Ended { end: End::Done, payload: None };
        assert_eq!(Record::claimed(Some(&record), &again(1), NOW), done);
    }
}
