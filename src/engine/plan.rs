//! Messages to lanes: which messages may run at the same time, and which run one after the other.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::Facts;

/// Lanes are runs of `order`; a lane's records run one at a time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Indices of records.
    pub(crate) order: Arc<[usize]>,
    pub(crate) lanes: Vec<Range<usize>>,
}

/// A lane per message; on a FIFO queue a lane per message group. Lanes with the highest attempt come first, since
/// they have the fewest deliveries left.
pub(crate) fn plan<F: Facts>(messages: &[F], is_fifo: bool) -> Plan {
    if is_fifo { by_group(messages) } else { one_by_one(messages) }
}

fn one_by_one<F: Facts>(messages: &[F]) -> Plan {
    let mut order: Vec<usize> = (0..messages.len()).collect();
    order.sort_by_key(|&index| Reverse(messages[index].attempt()));
    Plan { order: order.into(), lanes: (0..messages.len()).map(|at| at..at + 1).collect() }
}

fn by_group<F: Facts>(messages: &[F]) -> Plan {
    let mut numbers = HashMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let number = *numbers.entry(message.group()).or_insert(groups.len());
        if number == groups.len() {
            groups.push(Vec::new());
        }
        groups[number].push(index);
    }
    groups.sort_by_key(|group| Reverse(group.iter().map(|&index| messages[index].attempt()).max()));
    let mut lanes = Vec::with_capacity(groups.len());
    let mut start = 0;
    for group in &groups {
        lanes.push(start..start + group.len());
        start += group.len();
    }
    Plan { order: groups.concat().into(), lanes }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::Sample;

    fn planned(samples: &[Sample]) -> Vec<Vec<usize>> {
        let records: Vec<_> = samples.iter().enumerate().map(|(at, sample)| sample.record(at)).collect();
        let plan = plan(&records, samples.iter().any(|sample| sample.fifo));
        plan.lanes.iter().map(|lane| plan.order[lane.clone()].to_vec()).collect()
    }

    #[test]
    fn on_a_standard_queue_every_message_has_a_lane_of_its_own_even_with_a_group() {
        let tenant = Sample { group: Some("acme"), ..Sample::default() };
        assert_eq!(planned(&[tenant; 3]), [[0], [1], [2]]);
    }

    #[test]
    fn on_a_fifo_queue_a_group_is_a_lane_and_a_batch_may_hold_several() {
        let of = |group| Sample { group: Some(group), fifo: true, ..Sample::default() };
        assert_eq!(
            planned(&[of("a"), of("b"), of("a"), of("c"), of("b")]),
            [vec![0, 2], vec![1, 4], vec![3]]
        );
    }

    #[test]
    fn lanes_with_the_highest_attempt_start_first() {
        let at = |attempt| Sample { attempt, ..Sample::default() };
        assert_eq!(planned(&[at(1), at(3), at(2), at(3)]), [[1], [3], [2], [0]]);
    }

    proptest! {
        #[test]
        fn every_record_is_in_one_lane_and_groups_keep_their_order(
            records in prop::collection::vec((1_u32..20, 0_usize..4), 0..40), fifo in any::<bool>(),
        ) {
            let groups = ["a", "b", "c", "d"];
            let samples: Vec<_> = records
                .iter()
                .map(|&(attempt, group)| Sample { attempt, group: Some(groups[group]), fifo, ..Sample::default() })
                .collect();
            let lanes = planned(&samples);
            let mut all: Vec<_> = lanes.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..samples.len()).collect::<Vec<_>>());
            for lane in &lanes {
                prop_assert!(lane.is_sorted());
                prop_assert!(lane.iter().all(|&at| samples[at].group == samples[lane[0]].group));
            }
        }
    }
}
