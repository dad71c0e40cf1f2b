//! Which letters are held, and until when. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use redrive_sqs::lease::Leases;

/// A letter by its key, its handle, and how many seconds it is to stay hidden.
pub(super) type Change = (usize, Arc<str>, u64);

/// By message id, since a letter that is received again has a new handle, and the old one is worth nothing.
#[derive(Debug)]
pub(super) struct Held {
    /// The key and the handle of each.
    letters: BTreeMap<Box<str>, (usize, Arc<str>)>,
    /// By the clock of holds.
    leases: Leases<usize>,
    received: usize,
}

impl Held {
    pub(super) fn new(visibility: Duration) -> Self {
        Self { letters: BTreeMap::new(), leases: Leases::new(visibility), received: 0 }
    }

    /// Adds a letter whose receive was sent at this time.
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

    /// Makes all letters visible, which are held no longer.
    pub(super) fn release(&mut self) -> Vec<Change> {
        let letters = std::mem::take(&mut self.letters).into_values();
        let forgotten = letters.inspect(|(key, _)| _ = self.leases.forget(*key));
        forgotten.map(|(key, handle)| (key, handle, 0)).collect()
    }

    /// The letters to extend now. One that is not held any more may be someone else's, and is not among them.
    pub(super) fn due(&mut self, now: Duration) -> Vec<Change> {
        self.leases.expired(now);
        let tens = std::iter::from_fn(|| Some(self.leases.due(now)).filter(|ten| !ten.is_empty()));
        let due: BTreeMap<_, _> = tens.flatten().collect();
        let change = |(key, handle): &(usize, Arc<str>)| Some((*key, Arc::clone(handle), *due.get(key)?));
        self.letters.values().filter_map(change).collect()
    }

    /// SQS has granted some of the changes that were asked for at this time.
    pub(super) fn extended(&mut self, changes: &[Change], granted: &BTreeSet<usize>, asked: Duration) {
        for &(key, _, seconds) in changes {
            match granted.contains(&key) {
                true => self.leases.extended(key, asked, seconds),
                false => self.leases.not_extended(key, asked),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hold_that_ran_out_is_not_brought_back_by_an_extension() {
        let at = |seconds: u64| Duration::from_secs(100 + seconds);
        let mut held = Held::new(Duration::from_secs(3));
        held.add("late", "h", at(0));
        held.add("in-time", "h", at(2));
        let due = held.due(at(3));
        held.extended(&due, &BTreeSet::from([1, 2]), at(3));
        assert_eq!(["late", "in-time"].map(|id| held.holds(id, at(5))), [false, true]);
    }
}
