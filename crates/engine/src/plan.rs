//! Assigns messages to lanes. Lanes run at the same time, and the messages of a lane one after the other.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::MessageMeta;

/// The lanes of a batch, which are ranges of `order`. The records of a lane run one at a time.
#[derive(Debug, PartialEq, Eq)]
pub struct Plan {
    /// Indices of records.
    pub order: Arc<[usize]>,
    pub lanes: Vec<Range<usize>>,
}

/// Returns a lane per message, or on a FIFO queue a lane per message group. Lanes with the highest attempt are first, because
/// they have the fewest deliveries left.
pub fn plan<M, F: MessageMeta>(messages: &[M], is_fifo: bool, facts: impl Fn(&M) -> &F) -> Plan {
    if !is_fifo {
        let mut order: Vec<usize> = (0..messages.len()).collect();
        order.sort_by_key(|&index| Reverse(facts(&messages[index]).attempt()));
        return Plan { order: order.into(), lanes: (0..messages.len()).map(|at| at..at + 1).collect() };
    }
    let numbers = group_numbers(messages.iter().map(|message| facts(message).group()));
    let mut groups = by_number(&numbers, 0..messages.len());
    groups.sort_by_key(|group| Reverse(group.iter().map(|&index| facts(&messages[index]).attempt()).max()));
    let mut lanes = Vec::with_capacity(groups.len());
    let mut start = 0;
    for group in &groups {
        lanes.push(start..start + group.len());
        start += group.len();
    }
    Plan { order: groups.concat().into(), lanes }
}

/// Returns the number of each message's group. Groups are numbered in the order in which they appear.
pub(crate) fn group_numbers<'m>(groups: impl Iterator<Item = Option<&'m str>>) -> Vec<usize> {
    let mut numbers = HashMap::new();
    let number = |group| {
        let next = numbers.len();
        *numbers.entry(group).or_insert(next)
    };
    groups.map(number).collect()
}

/// Groups the items by their numbers, in their order.
pub(crate) fn by_number<T>(numbers: &[usize], items: impl IntoIterator<Item = T>) -> Vec<Vec<T>> {
    let mut groups: Vec<Vec<T>> = Vec::new();
    for (&number, item) in numbers.iter().zip(items) {
        if number == groups.len() {
            groups.push(Vec::new());
        }
        groups[number].push(item);
    }
    groups
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::Fake;

    fn fake(attempt: u32, group: Option<&str>) -> Fake {
        Fake { id: String::new(), attempt, group: group.map(str::to_owned) }
    }

    fn planned(messages: &[Fake], is_fifo: bool) -> Vec<Vec<usize>> {
        let plan = plan(messages, is_fifo, |message| message);
        plan.lanes.iter().map(|lane| plan.order[lane.clone()].to_vec()).collect()
    }

    #[test]
    fn on_a_standard_queue_each_message_of_a_group_has_its_own_lane() {
        let tenants = [(); 3].map(|()| fake(1, Some("acme")));
        assert_eq!(planned(&tenants, false), [[0], [1], [2]]);
    }

    #[test]
    fn on_a_fifo_queue_a_group_is_a_lane_and_a_batch_may_hold_several() {
        let messages = ["a", "b", "a", "c", "b"].map(|group| fake(1, Some(group)));
        assert_eq!(planned(&messages, true), [vec![0, 2], vec![1, 4], vec![3]]);
    }

    #[test]
    fn lanes_with_the_highest_attempt_start_first() {
        assert_eq!(planned(&[1, 3, 2, 3].map(|attempt| fake(attempt, None)), false), [[1], [3], [2], [0]]);
    }

    proptest! {
        #[test]
        fn every_record_is_in_one_lane_and_groups_keep_their_order(
            records in prop::collection::vec((1_u32..20, 0_usize..4), 0..40), is_fifo in any::<bool>(),
        ) {
            let groups = ["a", "b", "c", "d"];
            let messages: Vec<_> = records.iter().map(|&(attempt, group)| fake(attempt, Some(groups[group]))).collect();
            let lanes = planned(&messages, is_fifo);
            let mut all: Vec<_> = lanes.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..messages.len()).collect::<Vec<_>>());
            for lane in &lanes {
                prop_assert!(lane.is_sorted());
                prop_assert!(lane.iter().all(|&at| messages[at].group == messages[lane[0]].group));
            }
        }
    }
}
