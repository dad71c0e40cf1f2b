//! Batches entries into calls to SQS. A call is due when it has ten entries, a moment after its first entry, or at once if it must
//! not wait for more.

use std::collections::VecDeque;
use std::time::Duration;

use redrive_sqs::MAX_ENTRIES;

use super::guards::require;
use super::keys::{GroupKey, MessageKey};

/// Calls that may be in flight at a time.
const IN_FLIGHT: usize = 16;

/// The kinds of calls that settle messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SettleCall {
    DeadLetter,
    Delete,
    ChangeVisibility,
}

/// The entries that wait for calls. Times count from the start of the engine.
#[derive(Debug, Clone)]
pub(crate) struct Outbox {
    gathering: Duration,
    pub(crate) letters: VecDeque<Entry>,
    pub(crate) deletes: VecDeque<Entry>,
    pub(crate) changes: VecDeque<Entry>,
    /// The letters in flight.
    pub(crate) writing: Vec<(MessageKey, GroupKey)>,
    in_flight: usize,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) key: MessageKey,
    lane: usize,
    pub(crate) since: Duration,
}

impl Entry {
    const fn group(&self) -> GroupKey {
        GroupKey { batch: self.key.batch, lane: self.lane }
    }
}

impl Outbox {
    /// Creates an outbox whose calls wait this long for more entries.
    pub(crate) fn gathering(gathering: Duration) -> Self {
        let (letters, deletes, changes) = (VecDeque::new(), VecDeque::new(), VecDeque::new());
        Self { gathering, letters, deletes, changes, writing: Vec::new(), in_flight: 0 }
    }

    /// Adds a message of this lane. The letters of a lane are sent one by one, to keep their order: SQS may refuse an entry of
    /// a call and accept those after it.
    pub(crate) fn add(&mut self, kind: SettleCall, key: MessageKey, lane: usize, now: Duration) {
        let entries = match kind {
            SettleCall::DeadLetter => &mut self.letters,
            SettleCall::Delete => &mut self.deletes,
            SettleCall::ChangeVisibility => &mut self.changes,
        };
        entries.push_back(Entry { key, lane, since: now });
    }

    /// Returns the next call that is due, or any with `flush`. Letters are first, because the response depends on them.
    pub(crate) fn next_call(&mut self, now: Duration, flush: bool) -> Option<(SettleCall, Vec<MessageKey>)> {
        if self.in_flight >= IN_FLIGHT {
            return None;
        }
        let gathering = self.gathering;
        let is_due = |first: Option<&Entry>, count: usize| {
            first.is_some_and(|first| flush || count == MAX_ENTRIES || now >= first.since + gathering)
        };
        let letters = self.free_letters();
        let first = letters.first().map(|&place| &self.letters[place]);
        let call = if is_due(first, letters.len()) {
            (SettleCall::DeadLetter, self.take_letters(letters))
        } else {
            let others =
                [(SettleCall::Delete, &mut self.deletes), (SettleCall::ChangeVisibility, &mut self.changes)];
            let count = |entries: &VecDeque<Entry>| entries.len().min(MAX_ENTRIES);
            let (kind, entries) = others.into_iter().find(|(_, them)| is_due(them.front(), count(them)))?;
            (kind, entries.drain(..count(entries)).map(|entry| entry.key).collect())
        };
        self.in_flight += 1;
        Some(call)
    }

    /// Returns the places of the first letters of lanes that have none in flight, up to ten.
    fn free_letters(&self) -> Vec<usize> {
        let mut free: Vec<usize> = Vec::new();
        for (place, letter) in self.letters.iter().enumerate() {
            if free.len() == MAX_ENTRIES {
                break;
            }
            let is_of = |other: &usize| self.letters[*other].group() == letter.group();
            if require!(LettersInTurn, !self.is_writing(letter) && !free.iter().any(is_of)) {
                free.push(place);
            }
        }
        free
    }

    fn is_writing(&self, letter: &Entry) -> bool {
        self.writing.iter().any(|(_, group)| *group == letter.group())
    }

    fn take_letters(&mut self, places: Vec<usize>) -> Vec<MessageKey> {
        // Removed from the back, so that the other places stay valid.
        let leaving = places.into_iter().rev().filter_map(|place| self.letters.remove(place));
        let mut leaving: Vec<_> = leaving.map(|letter| (letter.key, letter.group())).collect();
        leaving.reverse();
        self.writing.extend(&leaving);
        leaving.into_iter().map(|(key, _)| key).collect()
    }

    /// Counts this many calls instead of one.
    pub(crate) const fn split(&mut self, calls: usize) {
        self.in_flight = self.in_flight + calls - 1;
    }

    pub(crate) const fn call_ended(&mut self) {
        self.in_flight -= 1;
    }

    /// Stops the letter of this message, if it had one, from delaying those behind it.
    pub(crate) fn answered(&mut self, key: MessageKey) {
        self.writing.retain(|(letter, _)| *letter != key);
    }

    /// Returns when the next call is due if nothing is added, unless too many are in flight.
    pub(crate) fn due_at(&self) -> Option<Duration> {
        let free = self.letters.iter().find(|letter| !self.is_writing(letter));
        let fronts = free.into_iter().chain(self.deletes.front()).chain(self.changes.front());
        let first = fronts.map(|entry| entry.since).min();
        first.filter(|_| self.in_flight < IN_FLIGHT).map(|since| since + self.gathering)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::keys::BatchKey;

    const BATCH: BatchKey = BatchKey(0);

    const fn key(at: usize) -> MessageKey {
        MessageKey { batch: BATCH, at }
    }

    fn keys(places: impl IntoIterator<Item = usize>) -> Vec<MessageKey> {
        places.into_iter().map(key).collect()
    }

    const fn millis(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn ten_entries_are_due_at_once_and_fewer_after_20_ms_or_when_flushed() {
        let mut outbox = Outbox::gathering(millis(20));
        (0..12).for_each(|at| outbox.add(SettleCall::ChangeVisibility, key(at), at, millis(5)));
        assert_eq!(outbox.next_call(millis(5), false), Some((SettleCall::ChangeVisibility, keys(0..10))));
        assert_eq!(outbox.next_call(millis(24), false), None);
        assert_eq!(outbox.due_at(), Some(millis(25)));
        assert_eq!(outbox.next_call(millis(25), false), Some((SettleCall::ChangeVisibility, keys([10, 11]))));
        outbox.add(SettleCall::ChangeVisibility, key(12), 12, millis(30));
        assert_eq!(outbox.next_call(millis(30), true), Some((SettleCall::ChangeVisibility, keys([12]))));
        assert_eq!((outbox.next_call(millis(99), true), outbox.due_at()), (None, None));
    }

    #[test]
    fn letters_go_first_and_those_of_a_lane_wait_for_the_one_under_way() {
        let mut outbox = Outbox::gathering(millis(20));
        outbox.add(SettleCall::ChangeVisibility, key(9), 9, millis(0));
        outbox.add(SettleCall::DeadLetter, key(0), 0, millis(0));
        assert_eq!(outbox.next_call(millis(0), true), Some((SettleCall::DeadLetter, keys([0]))));
        outbox.add(SettleCall::DeadLetter, key(1), 0, millis(0));
        outbox.add(SettleCall::DeadLetter, key(5), 1, millis(0));
        assert_eq!(outbox.next_call(millis(0), true), Some((SettleCall::DeadLetter, keys([5]))));
        assert_eq!(outbox.next_call(millis(0), true), Some((SettleCall::ChangeVisibility, keys([9]))));
        assert_eq!((outbox.next_call(millis(99), true), outbox.due_at()), (None, None));
        outbox.call_ended();
        outbox.answered(key(0));
        assert_eq!(outbox.next_call(millis(99), true), Some((SettleCall::DeadLetter, keys([1]))));
    }

    #[test]
    fn no_more_than_sixteen_calls_are_under_way() {
        let mut outbox = Outbox::gathering(millis(20));
        (0..200).for_each(|at| outbox.add(SettleCall::ChangeVisibility, key(at), at, millis(0)));
        let calls = |outbox: &mut Outbox| std::iter::from_fn(|| outbox.next_call(millis(0), false)).count();
        assert_eq!(calls(&mut outbox), 16);
        outbox.call_ended();
        assert_eq!(calls(&mut outbox), 1);
    }

    proptest! {
        #[test]
        fn each_entry_leaves_once_and_the_letters_of_a_lane_in_order(
            letters in prop::collection::vec(0_usize..4, 0..60), changes in 0_usize..60, answers: Vec<prop::sample::Index>,
        ) {
            let mut outbox = Outbox::gathering(millis(20));
            letters.iter().enumerate().for_each(|(at, &of)| outbox.add(SettleCall::DeadLetter, key(at), of, millis(0)));
            (0..changes / 2).for_each(|at| outbox.add(SettleCall::ChangeVisibility, key(at), at, millis(0)));
            (changes / 2..changes).for_each(|at| outbox.add(SettleCall::Delete, key(at), at, millis(0)));
            let (mut under_way, mut left, mut changed) = (Vec::new(), Vec::new(), Vec::new());
            let mut answers = answers.into_iter();
            loop {
                while let Some(call) = outbox.next_call(millis(0), true) {
                    let places = call.1.iter().map(|key| key.at);
                    match call.0 {
                        SettleCall::DeadLetter => left.extend(places),
                        SettleCall::ChangeVisibility | SettleCall::Delete => changed.extend(places),
                    }
                    under_way.push(call);
                }
                let lanes_of = |call: &(SettleCall, Vec<MessageKey>)| match call.0 {
                    SettleCall::DeadLetter => call.1.iter().map(|key| letters[key.at]).collect(),
                    SettleCall::ChangeVisibility | SettleCall::Delete => Vec::new(),
                };
                for call in &under_way {
                    let lanes = lanes_of(call);
                    prop_assert!(lanes.iter().enumerate().all(|(at, lane)| !lanes[..at].contains(lane)));
                }
                for (one, other) in under_way.iter().enumerate().flat_map(|(at, one)| under_way[..at].iter().map(move |other| (one, other))) {
                    prop_assert!(lanes_of(one).iter().all(|lane| !lanes_of(other).contains(lane)));
                }
                if under_way.is_empty() {
                    break;
                }
                let which = answers.next().map_or(0, |index| index.index(under_way.len()));
                let answered = under_way.remove(which);
                outbox.call_ended();
                answered.1.into_iter().filter(|_| answered.0 == SettleCall::DeadLetter).for_each(|key| outbox.answered(key));
            }
            changed.sort_unstable();
            prop_assert_eq!(changed, (0..changes).collect::<Vec<_>>());
            for lane in 0..4 {
                let of_lane: Vec<_> = left.iter().filter(|&&at| letters[at] == lane).collect();
                prop_assert!(of_lane.is_sorted());
            }
            left.sort_unstable();
            prop_assert_eq!(left, (0..letters.len()).collect::<Vec<_>>());
        }
    }
}
