//! A bounded list of items that remembers which of them changed after a version. Pure.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included, Unbounded};

/// The latest items, up to a limit. Each has a number, from 1 on, and the version of its last change.
#[derive(Debug)]
pub(super) struct Shelf<T> {
    most: usize,
    next: u64,
    things: BTreeMap<u64, (u64, T)>,
    /// Numbers by version. Each item is here once.
    changes: BTreeMap<u64, u64>,
}

impl<T> Shelf<T> {
    pub(super) fn new(most: usize) -> Self {
        Self { most, next: 1, things: BTreeMap::new(), changes: BTreeMap::new() }
    }

    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Returns the number of the oldest item that is kept.
    pub(super) fn first(&self) -> u64 {
        self.things.keys().next().copied().unwrap_or(self.next)
    }

    pub(super) fn get(&self, number: u64) -> Option<&T> {
        self.things.get(&number).map(|(_, thing)| thing)
    }

    pub(super) fn since(&self, number: u64) -> impl Iterator<Item = &T> {
        self.things.range((Excluded(number), Unbounded)).map(|(_, (_, thing))| thing)
    }

    /// Adds an item. Returns the oldest item if it had to be dropped.
    pub(super) fn add(&mut self, thing: T, version: u64) -> Option<T> {
        self.things.insert(self.next, (version, thing));
        self.changes.insert(version, self.next);
        self.next += 1;
        if self.things.len() <= self.most {
            return None;
        }
        let (_, (version, oldest)) = self.things.pop_first()?;
        self.changes.remove(&version);
        Some(oldest)
    }

    /// Returns an item that is about to change. Versions rise.
    pub(super) fn change(&mut self, number: u64, version: u64) -> Option<&mut T> {
        let (last, thing) = self.things.get_mut(&number)?;
        self.changes.remove(last);
        *last = version;
        self.changes.insert(version, number);
        Some(thing)
    }

    /// Returns the items that changed after one version and up to another, in the order of the changes, each with its
    /// version.
    pub(super) fn changed(&self, after: u64, to: u64) -> impl Iterator<Item = (u64, &T)> {
        // The end of a range must not precede its start.
        let changes = self.changes.range((Excluded(after), Included(to.max(after + 1))));
        changes
            .filter(move |(version, _)| **version <= to)
            .filter_map(|(version, number)| Some((*version, self.get(*number)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(shelf: &Shelf<&'static str>, after: u64) -> Vec<&'static str> {
        shelf.changed(after, 100).map(|(_, thing)| *thing).collect()
    }

    #[test]
    fn a_thing_is_told_once_and_after_its_last_change() {
        let mut shelf = Shelf::new(10);
        shelf.add("a", 1);
        shelf.add("b", 2);
        *shelf.change(1, 3).unwrap() = "A";
        assert_eq!(changed(&shelf, 0), ["b", "A"]);
        assert_eq!(changed(&shelf, 2), ["A"]);
        assert!(changed(&shelf, 3).is_empty());
        assert_eq!(shelf.changed(0, 2).count(), 1);
        assert_eq!(shelf.changed(9, 2).count(), 0);
    }

    #[test]
    fn the_oldest_go_when_there_are_too_many() {
        let mut shelf = Shelf::new(2);
        assert_eq!((shelf.add("a", 1), shelf.add("b", 2), shelf.add("c", 3)), (None, None, Some("a")));
        assert_eq!((shelf.first(), shelf.next(), shelf.get(1)), (2, 4, None));
        assert!(shelf.change(1, 4).is_none());
        assert_eq!(changed(&shelf, 0), ["b", "c"]);
        assert_eq!(shelf.since(2).collect::<Vec<_>>(), [&"c"]);
    }
}
