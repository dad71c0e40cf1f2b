//! In which order and in which batches letters are sent: ten at a time, below the limit of a batch, and of a FIFO group
//! one after the other.

use crate::message::{MAX_BYTES, MAX_ENTRIES};

/// A letter as far as its turn depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Its FIFO group; none where order does not matter.
    pub group: Option<String>,
    /// In bytes.
    pub size: usize,
}

/// The letters that wait, by their index, in the order in which they came.
#[derive(Debug)]
pub struct Lanes {
    turns: Vec<Turn>,
    waiting: Vec<usize>,
}

impl Lanes {
    /// All wait.
    #[must_use]
    pub fn new(turns: Vec<Turn>) -> Self {
        let waiting = (0..turns.len()).collect();
        Self { turns, waiting }
    }

    /// The letters to send next: never two of a group, since the first might fail alone. Empty at the end.
    pub fn next_batch(&mut self) -> Vec<usize> {
        let mut batch: Vec<usize> = Vec::new();
        let mut bytes = 0;
        let mut passed_over: Vec<Option<&str>> = Vec::new();
        for &index in &self.waiting {
            let turn = &self.turns[index];
            let group = turn.group.as_deref();
            let behind = group.is_some()
                && (passed_over.contains(&group)
                    || batch.iter().any(|other| self.turns[*other].group.as_deref() == group));
            let room = batch.is_empty() || (batch.len() < MAX_ENTRIES && bytes + turn.size <= MAX_BYTES);
            if room && !behind {
                batch.push(index);
                bytes += turn.size;
            } else {
                passed_over.push(group);
            }
        }
        self.waiting.retain(|index| !batch.contains(index));
        batch
    }

    /// Lets a letter of the last batch wait once more, before those behind it.
    pub fn again(&mut self, index: usize) {
        let at = self.waiting.partition_point(|other| *other < index);
        self.waiting.insert(at, index);
    }

    /// Gives up on what waits behind a letter that failed.
    pub fn stop_behind(&mut self, failed: usize) -> Vec<usize> {
        let group = self.turns[failed].group.clone();
        let behind = |index: &usize| group.is_some() && self.turns[*index].group == group;
        let (behind, waiting) = self.waiting.iter().copied().partition(behind);
        self.waiting = waiting;
        behind
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn turn(group: Option<&str>, size: usize) -> Turn {
        Turn { group: group.map(str::to_owned), size }
    }

    fn batches(turns: Vec<Turn>) -> Vec<Vec<usize>> {
        let mut lanes = Lanes::new(turns);
        std::iter::from_fn(|| Some(lanes.next_batch()).filter(|batch| !batch.is_empty())).collect()
    }

    #[test]
    fn eleven_letters_are_two_batches() {
        let batches = batches(vec![turn(None, 1); 11]);
        assert_eq!(batches, [(0..10).collect(), vec![10]]);
    }

    #[test]
    fn letters_of_a_group_follow_one_another_and_groups_go_side_by_side() {
        let turns = [Some("a"), Some("a"), Some("b"), Some("a"), Some("b")].map(|group| turn(group, 1));
        assert_eq!(batches(turns.to_vec()), [vec![0, 2], vec![1, 4], vec![3]]);
    }

    #[test]
    fn a_letter_that_fails_stops_what_is_behind_it_and_nothing_else() {
        let mut lanes = Lanes::new([Some("a"), Some("b"), Some("a"), None].map(|g| turn(g, 1)).to_vec());
        assert_eq!(lanes.next_batch(), [0, 1, 3]);
        assert_eq!(lanes.stop_behind(0), [2]);
        assert_eq!(lanes.stop_behind(3), [0; 0]);
        assert_eq!(lanes.next_batch(), [0; 0]);
    }

    #[test]
    fn a_letter_that_goes_again_goes_before_those_behind_it() {
        let turns = [Some("a"), Some("a"), Some("b"), Some("b")].map(|group| turn(group, 1));
        let mut lanes = Lanes::new(turns.to_vec());
        assert_eq!(lanes.next_batch(), [0, 2]);
        lanes.again(0);
        assert_eq!(lanes.next_batch(), [0, 3]);
        assert_eq!(lanes.next_batch(), [1]);
    }

    proptest! {
        #[test]
        fn each_letter_is_sent_once_in_the_order_of_its_group_and_batches_fit(
            turns in prop::collection::vec((prop::option::of("[abc]"), 1..MAX_BYTES), 0..40),
        ) {
            let turns: Vec<_> = turns.iter().map(|(group, size)| turn(group.as_deref(), *size)).collect();
            let batches = batches(turns.clone());
            for batch in &batches {
                let bytes: usize = batch.iter().map(|index| turns[*index].size).sum();
                prop_assert!(batch.len() <= MAX_ENTRIES && bytes <= MAX_BYTES);
                let mut groups: Vec<_> = batch.iter().filter_map(|index| turns[*index].group.clone()).collect();
                groups.sort();
                let count = groups.len();
                groups.dedup();
                prop_assert_eq!(groups.len(), count, "two of a group in one batch");
            }
            let sent: Vec<usize> = batches.concat();
            let mut sorted = sent.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..turns.len()).collect::<Vec<_>>());
            for group in ["a", "b", "c"] {
                let of_group = |index: &&usize| turns[**index].group.as_deref() == Some(group);
                prop_assert!(sent.iter().filter(of_group).is_sorted());
            }
        }

        #[test]
        fn a_batch_is_not_smaller_than_it_must_be(sizes in prop::collection::vec(1..MAX_BYTES, 1..40)) {
            let turns: Vec<_> = sizes.iter().map(|size| turn(None, *size)).collect();
            let batches = batches(turns);
            let bytes = |batch: &Vec<usize>| batch.iter().map(|index| sizes[*index]).sum::<usize>();
            for pair in batches.windows(2) {
                let smallest = pair[1].iter().map(|index| sizes[*index]).min().unwrap_or_default();
                prop_assert!(pair[0].len() == MAX_ENTRIES || bytes(&pair[0]) + smallest > MAX_BYTES);
            }
        }
    }
}
