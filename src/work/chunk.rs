//! Which messages one call of a bulk handler takes.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::ops::Range;

/// How many messages a call takes where the consumer does not say.
const MESSAGES: NonZeroUsize = NonZeroUsize::new(100).expect("it is not zero");

/// The limits of a call, and whether one that fails as a whole is tried again in halves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chunks {
    pub(crate) messages: NonZeroUsize,
    /// Of the bodies, as they were received.
    pub(crate) bytes: usize,
    pub(crate) halves: bool,
}

impl Default for Chunks {
    fn default() -> Self {
        Self { messages: MESSAGES, bytes: usize::MAX, halves: false }
    }
}

/// Heads of lanes, each with the rest of its lane, which waits until they have ended: a lane is in one chunk at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) items: Range<usize>,
    pub(crate) rest: Range<usize>,
}

/// Takes the first messages that one call may take, at least one; nothing if there are no lanes.
pub(crate) fn cut(
    lanes: &mut VecDeque<Range<usize>>,
    limits: Chunks,
    bytes_of: impl Fn(usize) -> usize,
) -> Vec<Segment> {
    let (mut segments, mut messages, mut bytes) = (Vec::new(), 0, 0_usize);
    while let Some(lane) = lanes.front() {
        let mut end = lane.start;
        while end < lane.end && messages < limits.messages.get() {
            let more = bytes.saturating_add(bytes_of(end));
            if messages > 0 && more > limits.bytes {
                break;
            }
            (messages, bytes, end) = (messages + 1, more, end + 1);
        }
        if end == lane.start {
            break;
        }
        segments.push(Segment { items: lane.start..end, rest: end..lane.end });
        let is_full = end < lane.end;
        lanes.pop_front();
        if is_full {
            break;
        }
    }
    segments
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn limits(messages: usize, bytes: usize) -> Chunks {
        Chunks { messages: NonZeroUsize::new(messages).unwrap(), bytes, halves: false }
    }

    #[test]
    fn a_chunk_ends_where_it_is_full_and_the_rest_of_a_group_waits() {
        let mut lanes = VecDeque::from([0..2, 2..6, 6..7]);
        let first = cut(&mut lanes, limits(3, usize::MAX), |_| 1);
        assert_eq!(first, [Segment { items: 0..2, rest: 2..2 }, Segment { items: 2..3, rest: 3..6 }]);
        assert_eq!(lanes.iter().collect::<Vec<_>>(), [&(6..7)]);
    }

    #[test]
    fn a_message_larger_than_the_limit_is_alone() {
        let mut lanes = VecDeque::from([0..1, 1..2, 2..3]);
        let sizes = [10, 900, 10];
        let mut next = || cut(&mut lanes, limits(9, 100), |at| sizes[at]).len();
        assert_eq!([next(), next(), next(), next()], [1, 1, 1, 0]);
    }

    proptest! {
        #[test]
        fn every_message_is_in_one_chunk_no_lane_is_in_two_at_a_time_and_no_limit_is_passed(
            lanes in prop::collection::vec(1_usize..6, 0..20),
            sizes in prop::collection::vec(0_usize..50, 120),
            messages in 1_usize..12, bytes in 1_usize..200, at_a_time in 1_usize..4, seed in any::<u64>(),
        ) {
            let limits = limits(messages, bytes);
            let mut start = 0;
            let lane = |length: &usize| { start += length; start - length..start };
            let lanes: Vec<_> = lanes.iter().map(lane).collect();
            let lane_of = |at: usize| lanes.partition_point(|lane| lane.end <= at);
            let total = lanes.last().map_or(0, |lane| lane.end);
            let mut waiting = VecDeque::from(lanes.clone());
            let (mut running, mut order): (Vec<Vec<Segment>>, Vec<usize>) = (Vec::new(), Vec::new());
            let mut rng = fastrand::Rng::with_seed(seed);
            loop {
                let chunk = if running.len() < at_a_time { cut(&mut waiting, limits, |at| sizes[at]) } else { Vec::new() };
                if chunk.is_empty() {
                    if running.is_empty() { break }
                    let ended = running.swap_remove(rng.usize(..running.len()));
                    waiting.extend(ended.into_iter().map(|it| it.rest).filter(|rest| !rest.is_empty()));
                    continue;
                }
                let items: Vec<_> = chunk.iter().flat_map(|it| it.items.clone()).collect();
                let together: usize = items.iter().map(|&at| sizes[at]).sum();
                prop_assert!(items.len() <= messages && (items.len() == 1 || together <= bytes));
                for segment in &chunk {
                    prop_assert!(!segment.items.is_empty() && segment.items.end == segment.rest.start);
                    prop_assert_eq!(segment.rest.end, lanes[lane_of(segment.items.start)].end);
                }
                let busy = running.iter().flatten().map(|it| lane_of(it.items.start));
                let mut busy: Vec<_> = busy.chain(chunk.iter().map(|it| lane_of(it.items.start))).collect();
                busy.sort_unstable();
                prop_assert!(busy.windows(2).all(|pair| pair[0] != pair[1]), "a lane is in two chunks");
                order.extend(items);
                running.push(chunk);
            }
            for lane in &lanes {
                prop_assert!(order.iter().filter(|at| lane.contains(at)).is_sorted(), "in order");
            }
            order.sort_unstable();
            prop_assert_eq!(order, (0..total).collect::<Vec<_>>());
        }
    }
}
