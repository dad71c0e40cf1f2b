//! Leased letters, with the ends of their visibility timeouts. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use redrive_sqs::lease::Leases;

/// A letter's key, its receipt handle, and its new visibility timeout in seconds.
pub(super) type Change = (usize, Arc<str>, u64);

/// Letters by message id, because a letter that is received again gets a new handle, and the old one is invalid.
#[derive(Debug)]
pub(super) struct LeasedLetters {
    /// Key and receipt handle of each letter.
    letters: BTreeMap<Box<str>, (usize, Arc<str>)>,
    /// Leases by the clock of this module.
    leases: Leases<usize>,
    received: usize,
}

impl LeasedLetters {
    pub(super) fn new(visibility: Duration) -> Self {
        Self { letters: BTreeMap::new(), leases: Leases::new(visibility), received: 0 }
    }

    /// Adds a letter, whose receive was sent at this time.
    pub(super) fn add(&mut self, id: &str, handle: &str, since: Duration) {
        self.remove(id);
        self.received += 1;
        self.letters.insert(id.into(), (self.received, handle.into()));
        self.leases.take(self.received, since, since);
    }

    pub(super) fn len(&self) -> usize {
        self.letters.len()
    }

    pub(super) fn holds(&self, id: &str, now: Duration) -> bool {
        let until = self.letters.get(id).and_then(|(key, _)| self.leases.until(*key));
        until.is_some_and(|until| until > now)
    }

    pub(super) fn handle(&self, id: &str) -> Option<&str> {
        self.letters.get(id).map(|(_, handle)| &**handle)
    }

    pub(super) fn remove(&mut self, id: &str) {
        if let Some((key, _)) = self.letters.remove(id) {
            self.leases.forget(key);
        }
    }

    /// Removes all letters, and returns the changes that make them visible.
    pub(super) fn release(&mut self) -> Vec<Change> {
        let letters = std::mem::take(&mut self.letters).into_values();
        let forgotten = letters.inspect(|(key, _)| _ = self.leases.forget(*key));
        forgotten.map(|(key, handle)| (key, handle, 0)).collect()
    }

    /// Returns the letters to extend now. One whose timeout has ended is not among them, because somebody else may have it.
    pub(super) fn due(&mut self, now: Duration) -> Vec<Change> {
        self.leases.expired(now);
        let tens = std::iter::from_fn(|| Some(self.leases.due(now)).filter(|ten| !ten.is_empty()));
        let due: BTreeMap<_, _> = tens.flatten().collect();
        let change = |(key, handle): &(usize, Arc<str>)| Some((*key, Arc::clone(handle), *due.get(key)?));
        self.letters.values().filter_map(change).collect()
    }

    /// Records the changes that SQS granted to a request that was sent at this time.
    pub(super) fn extended(&mut self, changes: &[Change], granted: &BTreeSet<usize>, requested: Duration) {
        for &(key, _, seconds) in changes {
            match granted.contains(&key) {
                true => self.leases.extended(key, requested, seconds),
                false => self.leases.not_extended(key, requested),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extension_does_not_renew_a_lease_that_ended() {
        let at = |seconds: u64| Duration::from_secs(100 + seconds);
        let mut leased = LeasedLetters::new(Duration::from_secs(3));
        leased.add("late", "h", at(0));
        leased.add("in-time", "h", at(2));
        let due = leased.due(at(3));
        leased.extended(&due, &BTreeSet::from([1, 2]), at(3));
        assert_eq!(["late", "in-time"].map(|id| leased.holds(id, at(5))), [false, true]);
    }
}
