//! Orders messages for sending, and forms batches within SQS's limits. Messages of a FIFO group are sent one after the other.

use std::collections::{BTreeMap, HashSet};

use crate::message::MAX_BYTES;

/// The properties of a message that decide when it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneMessage {
    /// FIFO group, or None if the order does not matter.
    pub group: Option<String>,
    /// Size in bytes.
    pub size: usize,
}

/// The messages that wait to be sent. Their numbers give the order.
#[derive(Debug, Default)]
pub struct Lanes(BTreeMap<usize, LaneMessage>);

impl Lanes {
    /// Queues a new message, or one to send again before those behind it.
    pub fn push(&mut self, number: usize, message: LaneMessage) {
        self.0.insert(number, message);
    }

    /// Takes up to `most` messages to send next, only one of each group because it might fail alone. Empty when no messages
    /// are left.
    pub fn next_batch(&mut self, most: usize) -> Vec<(usize, LaneMessage)> {
        self.next_batch_of(most, |_| true)
    }

    /// Takes up to `most` messages to send next that are free. A message that is not also blocks those behind it in its group.
    pub fn next_batch_of(
        &mut self,
        most: usize,
        is_free: impl Fn(usize) -> bool,
    ) -> Vec<(usize, LaneMessage)> {
        let (mut numbers, mut bytes) = (Vec::new(), 0);
        let mut groups: HashSet<&str> = HashSet::new();
        for (number, LaneMessage { group, size }) in &self.0 {
            if numbers.len() == most {
                break;
            }
            // A message that is too large for this batch also blocks later messages of its group.
            let is_first = group.as_deref().is_none_or(|group| groups.insert(group));
            if is_first && is_free(*number) && (numbers.is_empty() || bytes + size <= MAX_BYTES) {
                numbers.push(*number);
                bytes += size;
            }
        }
        numbers.into_iter().filter_map(|number| self.0.remove_entry(&number)).collect()
    }

    /// Removes a waiting message.
    pub fn remove(&mut self, number: usize) {
        self.0.remove(&number);
    }

    /// Removes the waiting messages of a group, and returns their numbers.
    pub fn stop(&mut self, group: &str) -> Vec<usize> {
        let stopped = self.0.extract_if(.., |_, message| message.group.as_deref() == Some(group));
        stopped.map(|(number, _)| number).collect()
    }

    /// Returns the waiting messages in order.
    pub fn waiting(&self) -> impl Iterator<Item = (usize, &LaneMessage)> {
        self.0.iter().map(|(number, message)| (*number, message))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::message::MAX_ENTRIES;

    fn message(group: Option<&str>, size: usize) -> LaneMessage {
        LaneMessage { group: group.map(str::to_owned), size }
    }

    fn lanes(messages: impl IntoIterator<Item = LaneMessage>) -> Lanes {
        Lanes(messages.into_iter().enumerate().collect())
    }

    fn next(lanes: &mut Lanes, most: usize) -> Vec<usize> {
        lanes.next_batch(most).into_iter().map(|(number, _)| number).collect()
    }

    fn batches(messages: Vec<LaneMessage>) -> Vec<Vec<usize>> {
        let mut lanes = lanes(messages);
        std::iter::from_fn(|| Some(next(&mut lanes, MAX_ENTRIES)).filter(|batch| !batch.is_empty())).collect()
    }

    #[test]
    fn a_low_rate_makes_small_batches() {
        let mut lanes = lanes(vec![message(None, 1); 5]);
        assert_eq!(
            [next(&mut lanes, 2), next(&mut lanes, 2), next(&mut lanes, 2)],
            [vec![0, 1], vec![2, 3], vec![4]]
        );
    }

    #[test]
    fn eleven_letters_are_two_batches() {
        let batches = batches(vec![message(None, 1); 11]);
        assert_eq!(batches, [(0..10).collect(), vec![10]]);
    }

    #[test]
    fn letters_of_a_group_follow_one_another_and_groups_go_side_by_side() {
        let messages = [Some("a"), Some("a"), Some("b"), Some("a"), Some("b")].map(|group| message(group, 1));
        assert_eq!(batches(messages.to_vec()), [vec![0, 2], vec![1, 4], vec![3]]);
    }

    #[test]
    fn a_letter_that_fails_stops_what_is_behind_it_and_nothing_else() {
        let mut lanes = lanes([Some("a"), Some("b"), Some("a"), None, Some("b")].map(|g| message(g, 1)));
        assert_eq!(next(&mut lanes, 10), [0, 1, 3]);
        assert_eq!(lanes.stop("a"), [2]);
        assert_eq!(next(&mut lanes, 10), [4]);
    }

    #[test]
    fn a_letter_that_goes_again_goes_before_those_behind_it() {
        let messages = [Some("a"), Some("a"), Some("b"), Some("b")].map(|group| message(group, 1));
        let mut lanes = lanes(messages.clone());
        assert_eq!(next(&mut lanes, 10), [0, 2]);
        lanes.push(0, messages[0].clone());
        assert_eq!(next(&mut lanes, 10), [0, 3]);
        assert_eq!(next(&mut lanes, 10), [1]);
    }

    #[test]
    fn a_batch_may_be_just_a_mebibyte() {
        let messages = [MAX_BYTES, 1, MAX_BYTES - 1, 1].map(|size| message(None, size));
        assert_eq!(batches(messages.to_vec()), [vec![0], vec![1, 2], vec![3]]);
    }

    proptest! {
        #[test]
        fn each_letter_is_sent_once_in_the_order_of_its_group_and_batches_fit(
            messages in prop::collection::vec((prop::option::of("[abc]"), 1..MAX_BYTES), 0..40),
        ) {
            let messages: Vec<_> = messages.iter().map(|(group, size)| message(group.as_deref(), *size)).collect();
            let batches = batches(messages.clone());
            for batch in &batches {
                let bytes: usize = batch.iter().map(|index| messages[*index].size).sum();
                prop_assert!(batch.len() <= MAX_ENTRIES && bytes <= MAX_BYTES);
                let mut groups: Vec<_> = batch.iter().filter_map(|index| messages[*index].group.clone()).collect();
                groups.sort();
                let count = groups.len();
                groups.dedup();
                prop_assert_eq!(groups.len(), count, "two of a group in one batch");
            }
            let sent: Vec<usize> = batches.concat();
            let mut sorted = sent.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..messages.len()).collect::<Vec<_>>());
            for group in ["a", "b", "c"] {
                let of_group = |index: &&usize| messages[**index].group.as_deref() == Some(group);
                prop_assert!(sent.iter().filter(of_group).is_sorted());
            }
        }

        #[test]
        fn a_batch_is_not_smaller_than_it_must_be(sizes in prop::collection::vec(1..MAX_BYTES, 1..40)) {
            let messages: Vec<_> = sizes.iter().map(|size| message(None, *size)).collect();
            let batches = batches(messages);
            let bytes = |batch: &Vec<usize>| batch.iter().map(|index| sizes[*index]).sum::<usize>();
            for pair in batches.windows(2) {
                let smallest = pair[1].iter().map(|index| sizes[*index]).min().unwrap_or_default();
                prop_assert!(pair[0].len() == MAX_ENTRIES || bytes(&pair[0]) + smallest > MAX_BYTES);
            }
        }
    }
}
