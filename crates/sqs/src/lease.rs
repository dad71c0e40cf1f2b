//! The leases of messages: how long a process may work on each of them.
//!
//! A lease begins when the receive request was sent, since SQS may have hidden the message at any time from then on. Times
//! are those of the caller's clock.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::{LONGEST_VISIBILITY, MAX_ENTRIES};

/// Longest time for which a lease is extended: SQS's maximum minus 5 s for calls.
pub const LONGEST: Duration = LONGEST_VISIBILITY.saturating_sub(Duration::from_secs(5));

/// The leases of all messages in hand, by key.
#[derive(Debug, Clone)]
pub struct Leases<K> {
    visibility: Duration,
    held: BTreeMap<K, Lease>,
    /// Times of the next extensions.
    due: BTreeSet<(Duration, K)>,
    /// Times at which leases end.
    ends: BTreeSet<(Duration, K)>,
}

#[derive(Debug, Clone, Copy)]
struct Lease {
    received: Duration,
    until: Duration,
    due: Option<Duration>,
    is_extending: bool,
    /// True while a delete or a change of the visibility timeout is under way.
    is_settling: bool,
}

/// The state of a lease, which decides if its message may be settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Held,
    /// Wait for the answer to the extension under way, which might undo the settlement.
    Extending,
    Lost,
}

impl<K: Copy + Ord> Leases<K> {
    #[must_use]
    pub fn new(visibility: Duration) -> Self {
        Self { visibility, held: BTreeMap::new(), due: BTreeSet::new(), ends: BTreeSet::new() }
    }

    /// Adds a message whose receive request was sent at `received`. The first extension is due after a third of the time that
    /// is left, so that late messages of a poll also get time before it.
    pub fn take(&mut self, key: K, received: Duration, now: Duration) {
        let until = received + self.visibility;
        self.held.insert(key, Lease { received, until, due: None, is_extending: false, is_settling: false });
        self.ends.insert((until, key));
        self.schedule(key, now + until.saturating_sub(now) / 3);
    }

    fn schedule(&mut self, key: K, at: Duration) {
        let Some(lease) = self.held.get_mut(&key) else { return };
        if let Some(due) = lease.due.take() {
            self.due.remove(&(due, key));
        }
        // Near the end of the twelve hours, an extension gains nothing.
        let longer = lease.received + LONGEST > lease.until + Duration::from_secs(1);
        if !lease.is_settling && !lease.is_extending && longer {
            lease.due = Some(at);
            self.due.insert((at, key));
        }
    }

    /// Returns the leases to extend in one call, each with its new length in whole seconds: up to ten, including those due
    /// soon.
    pub fn due(&mut self, now: Duration) -> Vec<(K, u64)> {
        if self.due_at().is_none_or(|at| at > now) {
            return Vec::new();
        }
        let soon = now + self.visibility / 12;
        let keys: Vec<_> =
            self.due.iter().take_while(|(at, _)| *at <= soon).take(MAX_ENTRIES).copied().collect();
        let mut extended = Vec::with_capacity(keys.len());
        for (at, key) in keys {
            self.due.remove(&(at, key));
            if let Some(lease) = self.held.get_mut(&key) {
                (lease.due, lease.is_extending) = (None, true);
                let left = (lease.received + LONGEST).saturating_sub(now);
                extended.push((key, self.visibility.min(left).as_secs()));
            }
        }
        extended
    }

    /// Returns the time of the next extension.
    #[must_use]
    pub fn due_at(&self) -> Option<Duration> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Records an extension that SQS granted. Its request was sent at `asked`.
    pub fn extended(&mut self, key: K, asked: Duration, seconds: u64) {
        let Some(lease) = self.held.get_mut(&key) else { return };
        lease.is_extending = false;
        let length = Duration::from_secs(seconds);
        self.ends.remove(&(lease.until, key));
        lease.until = asked + length;
        self.ends.insert((lease.until, key));
        self.schedule(key, asked + length / 3);
    }

    /// Schedules another try of an extension that got no answer.
    pub fn not_extended(&mut self, key: K, now: Duration) {
        let Some(lease) = self.held.get_mut(&key) else { return };
        lease.is_extending = false;
        let pause = (self.visibility / 12).clamp(Duration::from_millis(250), Duration::from_secs(5));
        self.schedule(key, now + pause);
    }

    /// Stops extensions of a message that is about to be deleted or delayed.
    pub fn settle(&mut self, key: K) -> Standing {
        let Some(lease) = self.held.get_mut(&key) else { return Standing::Lost };
        lease.is_settling = true;
        if let Some(due) = lease.due.take() {
            self.due.remove(&(due, key));
        }
        if lease.is_extending { Standing::Extending } else { Standing::Held }
    }

    /// Returns the end of the lease, until which nobody else receives the message. `None` if the lease is lost.
    #[must_use]
    pub fn until(&self, key: K) -> Option<Duration> {
        self.held.get(&key).map(|lease| lease.until)
    }

    /// Returns each lease for tests: key, end, next extension, whether an extension is under way, whether its message is
    /// being settled.
    #[doc(hidden)]
    pub fn each(&self) -> impl Iterator<Item = (K, Duration, Option<Duration>, bool, bool)> {
        let lease = |(key, it): (&K, &Lease)| (*key, it.until, it.due, it.is_extending, it.is_settling);
        self.held.iter().map(lease)
    }

    /// Removes a message that is deleted, returned or lost. Returns true if it had a lease.
    pub fn forget(&mut self, key: K) -> bool {
        let Some(lease) = self.held.remove(&key) else { return false };
        self.ends.remove(&(lease.until, key));
        if let Some(due) = lease.due {
            self.due.remove(&(due, key));
        }
        true
    }

    /// Removes the messages whose leases have ended, and returns their keys.
    pub fn expired(&mut self, now: Duration) -> Vec<K> {
        let keys: Vec<_> = self.ends.iter().take_while(|(at, _)| *at <= now).map(|(_, key)| *key).collect();
        for key in &keys {
            self.forget(*key);
        }
        keys
    }

    /// Returns the time at which the next lease ends.
    #[must_use]
    pub fn ends_at(&self) -> Option<Duration> {
        self.ends.first().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests;
