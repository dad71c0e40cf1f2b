//! Chunks are cut within their limits, and lanes have the right outcomes.

use proptest::prelude::*;

use super::*;
use crate::failure::Failure;

fn limits(messages: usize, bytes: usize) -> Chunks {
    Chunks::of(messages).bytes(bytes)
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
    fn chunks_hold_each_message_once_and_keep_lanes_and_limits(
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

fn failed(text: &str) -> Outcome {
    Outcome::Failed(Failure::from(text.to_owned()).reduce(None))
}

fn named(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "done",
        Outcome::Failed(summary) if summary.error == "own" => "own",
        Outcome::Failed(_) => "whole",
        Outcome::Stuck => "stuck",
        Outcome::NotStarted | Outcome::BreakerOpen => "not started",
        Outcome::Panicked { .. }
        | Outcome::TimedOut
        | Outcome::Interrupted
        | Outcome::LeaseLost
        | Outcome::Replayed
        | Outcome::Unrecorded => "other",
    }
}

fn ended(lane: Vec<ItemResult>) -> Vec<&'static str> {
    outcomes(lane).map(|outcome| named(&outcome)).collect()
}

#[test]
fn a_failed_message_stops_the_open_ones_behind_it_and_no_other() {
    use ItemResult::{Ended, Open, Unread};
    let open = || Open(Outcome::NotStarted);
    let rows = [
        (vec![Ended(failed("own")), open(), Ended(Outcome::Done)], ["own", "not started", "done"]),
        (vec![Ended(Outcome::Done), Unread(failed("own")), open()], ["done", "own", "not started"]),
        (vec![Ended(failed("whole")), Ended(failed("whole")), open()], ["whole", "whole", "not started"]),
        (vec![Ended(failed("own")), Unread(failed("own")), open()], ["own", "not started", "not started"]),
        // A message that waited for another try keeps the failure of its call, unless one before it failed since.
        (
            vec![Ended(Outcome::Done), Open(failed("whole")), Open(failed("whole"))],
            ["done", "whole", "whole"],
        ),
        (
            vec![Ended(failed("own")), Open(failed("whole")), Open(failed("whole"))],
            ["own", "not started", "not started"],
        ),
        // A blocked handler may still be working on it.
        (vec![Ended(failed("own")), Ended(Outcome::Stuck), open()], ["own", "stuck", "not started"]),
    ];
    for (lane, expected) in rows {
        let described = format!("{lane:?}");
        assert_eq!(ended(lane), expected, "{described}");
    }
}

fn any_standing() -> impl Strategy<Value = (u8, bool)> {
    (0_u8..4, any::<bool>())
}

proptest! {
    #[test]
    fn set_results_stay_and_open_messages_are_never_done(lane in prop::collection::vec(any_standing(), 0..8)) {
        let make = |&(kind, fails): &(u8, bool)| {
            let outcome = if fails { failed("own") } else { Outcome::Done };
            match kind {
                0 => ItemResult::Open(if fails { failed("whole") } else { Outcome::NotStarted }),
                2 => ItemResult::Unread(failed("own")),
                _ => ItemResult::Ended(outcome),
            }
        };
        let standings: Vec<_> = lane.iter().map(make).collect();
        let item = |&standing: &(u8, bool)| Item { lane: 0, standing: make(&standing), is_taken: false, ran: None };
        let items = lane.iter().map(item).collect();
        let chunk = Chunk { batch: BatchKey::default(), segments: Vec::new(), items, call: 0, ended: None };
        let may = chunk.open_behind(|item| item.standing.stops_its_lane());
        let ended = ended(standings);
        for (at, &(kind, fails)) in lane.iter().enumerate() {
            let stopped = lane[..at].iter().any(|&(kind, fails)| kind == 2 || (kind != 0 && fails));
            prop_assert_eq!(may.contains(&at), kind == 0 && !stopped);
            match kind {
                0 => prop_assert_eq!(ended[at], if fails && !stopped { "whole" } else { "not started" }),
                1 | 3 => prop_assert_eq!(ended[at], if fails { "own" } else { "done" }),
                _ => prop_assert!(["own", "not started"].contains(&ended[at])),
            }
        }
    }
}
