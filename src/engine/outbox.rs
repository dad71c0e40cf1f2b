//! Batches entries into calls to SQS. A call is due when it has ten entries, a moment after its first entry, or at once if
//! no more entries are to come.

use std::collections::VecDeque;
use std::time::Duration;

use redrive_sqs::MAX_ENTRIES;

use super::guards::{Guard, holds};
use super::keys::{GroupKey, MessageKey};

/// How many calls may be in flight at a time.
const IN_FLIGHT: usize = 16;

/// What a call does to its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    Letters,
    Deletes,
    Changes,
}

/// Times count from the start of the engine.
#[derive(Debug, Clone)]
pub(crate) struct Outbox {
    gathering: Duration,
    letters: VecDeque<Entry>,
    deletes: VecDeque<Entry>,
    changes: VecDeque<Entry>,
    /// The lanes of the letters in flight.
    lanes: Vec<GroupKey>,
    in_flight: usize,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    key: MessageKey,
    /// Of a letter.
    lane: GroupKey,
    since: Duration,
}

impl Outbox {
    /// One whose calls wait this long for more entries.
    pub(crate) fn gathering(gathering: Duration) -> Self {
        let (letters, deletes, changes) = (VecDeque::new(), VecDeque::new(), VecDeque::new());
        Self { gathering, letters, deletes, changes, lanes: Vec::new(), in_flight: 0 }
    }

    /// Adds a message. The letters of a lane are sent one by one, to keep their order: SQS may refuse an entry of a call and
    /// accept those after it.
    pub(crate) fn add(&mut self, kind: Kind, key: MessageKey, lane: GroupKey, now: Duration) {
        let entries = match kind {
            Kind::Letters => &mut self.letters,
            Kind::Deletes => &mut self.deletes,
            Kind::Changes => &mut self.changes,
        };
        entries.push_back(Entry { key, lane, since: now });
    }

    /// The next call that is due; `flush` makes all of them due. Letters come first, since the response depends on them.
    pub(crate) fn next_call(&mut self, now: Duration, flush: bool) -> Option<(Kind, Vec<MessageKey>)> {
        if self.in_flight == IN_FLIGHT {
            return None;
        }
        let is_due = |first: Option<Duration>, entries| {
            let is_old = |since| now >= since + self.gathering;
            first.is_some_and(|since| flush || entries == MAX_ENTRIES || is_old(since))
        };
        let front = |entries: &mut VecDeque<Entry>| {
            let count = entries.len().min(MAX_ENTRIES);
            let first = entries.front().map(|entry| entry.since);
            is_due(first, count).then(|| entries.drain(..count).map(|entry| entry.key).collect())
        };
        let letters = free_letters(&self.letters, &self.lanes);
        let first = letters.first().map(|&place| self.letters[place].since);
        let call = if is_due(first, letters.len()) {
            (Kind::Letters, take_letters(&mut self.letters, &mut self.lanes, letters))
        } else if let Some(deletes) = front(&mut self.deletes) {
            (Kind::Deletes, deletes)
        } else {
            (Kind::Changes, front(&mut self.changes)?)
        };
        self.in_flight += 1;
        Some(call)
    }

    /// A call has ended; `lanes` are those of its letters.
    pub(crate) fn answered(&mut self, lanes: &[GroupKey]) {
        self.in_flight -= 1;
        for lane in lanes {
            if let Some(at) = self.lanes.iter().position(|busy| busy == lane) {
                self.lanes.swap_remove(at);
            }
        }
    }

    /// When the next call is due if nothing is added, unless too many are in flight.
    pub(crate) fn due_at(&self) -> Option<Duration> {
        let free = self.letters.iter().find(|entry| !self.lanes.contains(&entry.lane));
        let fronts = free.into_iter().chain(self.deletes.front()).chain(self.changes.front());
        let first = fronts.map(|entry| entry.since).min();
        first.filter(|_| self.in_flight < IN_FLIGHT).map(|since| since + self.gathering)
    }

    /// What waits, since when, and the lanes of the letters in flight.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> (impl Iterator<Item = (Kind, MessageKey, Duration)>, &[GroupKey]) {
        let entries =
            [(Kind::Letters, &self.letters), (Kind::Deletes, &self.deletes), (Kind::Changes, &self.changes)];
        let all =
            entries.into_iter().flat_map(|(kind, them)| them.iter().map(move |it| (kind, it.key, it.since)));
        (all, &self.lanes)
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.letters.is_empty() && self.deletes.is_empty() && self.changes.is_empty()
    }
}

/// The places of the first letters of lanes that have none in flight, up to ten.
fn free_letters(letters: &VecDeque<Entry>, lanes: &[GroupKey]) -> Vec<usize> {
    let mut free: Vec<usize> = Vec::new();
    for (place, letter) in letters.iter().enumerate() {
        if free.len() == MAX_ENTRIES {
            break;
        }
        let is_of = |other: &usize| letters[*other].lane == letter.lane;
        if !holds(Guard::LettersInTurn) || !lanes.contains(&letter.lane) && !free.iter().any(is_of) {
            free.push(place);
        }
    }
    free
}

fn take_letters(
    letters: &mut VecDeque<Entry>,
    lanes: &mut Vec<GroupKey>,
    places: Vec<usize>,
) -> Vec<MessageKey> {
    // Removed from the back, so that the other places stay valid.
    let leaving = places.into_iter().rev().filter_map(|place| letters.remove(place));
    let mut leaving: Vec<Entry> = leaving.collect();
    leaving.reverse();
    lanes.extend(leaving.iter().map(|entry| entry.lane));
    leaving.into_iter().map(|entry| entry.key).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::engine::keys::BatchKey;

    const BATCH: BatchKey = BatchKey(0);

    const fn key(at: usize) -> MessageKey {
        MessageKey { batch: BATCH, at }
    }

    fn keys(places: impl IntoIterator<Item = usize>) -> Vec<MessageKey> {
        places.into_iter().map(key).collect()
    }

    const fn lane(lane: usize) -> GroupKey {
        GroupKey { batch: BATCH, lane }
    }

    const fn millis(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn ten_entries_are_due_at_once_and_fewer_after_20_ms_or_when_flushed() {
        let mut outbox = Outbox::gathering(millis(20));
        (0..12).for_each(|at| outbox.add(Kind::Changes, key(at), lane(at), millis(5)));
        assert_eq!(outbox.next_call(millis(5), false), Some((Kind::Changes, keys(0..10))));
        assert_eq!(outbox.next_call(millis(24), false), None);
        assert_eq!(outbox.due_at(), Some(millis(25)));
        assert_eq!(outbox.next_call(millis(25), false), Some((Kind::Changes, keys([10, 11]))));
        outbox.add(Kind::Changes, key(12), lane(12), millis(30));
        assert_eq!(outbox.next_call(millis(30), true), Some((Kind::Changes, keys([12]))));
        assert_eq!((outbox.is_empty(), outbox.due_at()), (true, None));
    }

    #[test]
    fn letters_go_first_and_those_of_a_lane_wait_for_the_one_under_way() {
        let mut outbox = Outbox::gathering(millis(20));
        outbox.add(Kind::Changes, key(9), lane(9), millis(0));
        outbox.add(Kind::Letters, key(0), lane(0), millis(0));
        assert_eq!(outbox.next_call(millis(0), true), Some((Kind::Letters, keys([0]))));
        outbox.add(Kind::Letters, key(1), lane(0), millis(0));
        outbox.add(Kind::Letters, key(5), lane(1), millis(0));
        assert_eq!(outbox.next_call(millis(0), true), Some((Kind::Letters, keys([5]))));
        assert_eq!(outbox.next_call(millis(0), true), Some((Kind::Changes, keys([9]))));
        assert_eq!((outbox.next_call(millis(99), true), outbox.due_at()), (None, None));
        outbox.answered(&[lane(0)]);
        assert_eq!(outbox.next_call(millis(99), true), Some((Kind::Letters, keys([1]))));
    }

    #[test]
    fn no_more_than_sixteen_calls_are_under_way() {
        let mut outbox = Outbox::gathering(millis(20));
        (0..200).for_each(|at| outbox.add(Kind::Changes, key(at), lane(at), millis(0)));
        let calls = |outbox: &mut Outbox| std::iter::from_fn(|| outbox.next_call(millis(0), false)).count();
        assert_eq!(calls(&mut outbox), 16);
        outbox.answered(&[]);
        assert_eq!(calls(&mut outbox), 1);
    }

    proptest! {
        #[test]
        fn everything_leaves_once_and_the_letters_of_a_lane_in_order(
            letters in prop::collection::vec(0_usize..4, 0..60), changes in 0_usize..60, answers: Vec<prop::sample::Index>,
        ) {
            let mut outbox = Outbox::gathering(millis(20));
            letters.iter().enumerate().for_each(|(at, &of)| outbox.add(Kind::Letters, key(at), lane(of), millis(0)));
            (0..changes / 2).for_each(|at| outbox.add(Kind::Changes, key(at), lane(at), millis(0)));
            (changes / 2..changes).for_each(|at| outbox.add(Kind::Deletes, key(at), lane(at), millis(0)));
            let (mut under_way, mut left, mut changed) = (Vec::new(), Vec::new(), Vec::new());
            let mut answers = answers.into_iter();
            loop {
                while let Some(call) = outbox.next_call(millis(0), true) {
                    let places = call.1.iter().map(|key| key.at);
                    match call.0 {
                        Kind::Letters => left.extend(places),
                        Kind::Changes | Kind::Deletes => changed.extend(places),
                    }
                    under_way.push(call);
                }
                let lanes_of = |call: &(Kind, Vec<MessageKey>)| match call.0 {
                    Kind::Letters => call.1.iter().map(|key| lane(letters[key.at])).collect(),
                    Kind::Changes | Kind::Deletes => Vec::new(),
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
                outbox.answered(&lanes_of(&answered));
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
